/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_TEXT_SINK_H
#define FS_TEXT_TEXT_SINK_H
/* Where the texts of writers go: into the account; and what it did not take when the last handle
 * was closed, or of what was queued, into lost+found. Such a loss is a line of .tablefuse/errors
 * and of the log, which names the file that keeps the text. Example:
 *
 *   2026-11-22T10:00:00.000Z release /T/p/r.json: EINVAL: line 1, column 9: the text ends before
 * its JSON object does [python3] -- the text is in /home/u/.local/state/tablefuse/lost+found/...
 *
 * Any thread; no lock of its own. */
#include "fs/text/lost_and_found.h"
#include "fs/text/queued_texts.h"
#include "fs/text/settler.h"
#include "fs/text/writer.h"

struct text_sink { /* a value; what it points to outlives the writers */
    struct account *account;
    const struct settler *settler;
    struct lost_and_found *lost;
    const struct clock *clock;
    bool (*is_ending)(void *context); /* the mount; by any thread */
    void *ending_context;
    /* Files that `tablefuse unmount` reports as not stored: those that were given up at any time
     * though every call of their processes had succeeded, and all that were given up while the
     * mount ended, as their processes may have ended before. Also new ones without a text, and
     * those whose text lost+found could not keep. The report of the first kind does not depend on
     * when the RELEASE ran: the kernel may unmount while it is under way. */
    _Atomic uint64_t reported_losses;
    /* Changes that were still queued at the end: how many, and of each delete a line as in
     * .tablefuse/errors. For the thread that ends the mount. */
    struct queued_texts queued; /* where these texts are */
    uint64_t abandoned_texts, abandoned_deletes;
    struct buffer abandoned;
};
#define TEXT_SINK_ABANDONED_MAX_BYTES ((size_t)64 << 20)

void text_sink_finish(struct text_sink *sink); /* of zeros, too */
/* For writers_create. The store points to the sink. */
struct writer_store text_sink_store(struct text_sink *sink);
/* For account_options.lost; the context is the sink. */
void text_sink_lose_change(void *context, const struct lost_change *lost);

#endif
