/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_TEXT_SINK_H
#define FS_TEXT_TEXT_SINK_H
/* Stores the texts of writers in the account. A text that is not stored when the last handle is
 * closed, or a queued text that fails, goes to lost+found. Each such loss has a line in
 * .tablefuse/errors and in the log, which names the file that keeps the text. Example:
 *
 *   2026-11-22T10:00:00.000Z release /T/p/r.json: EINVAL: line 1, column 9: the text ends before
 *   its JSON object does [python3] -- the text is in /home/u/.local/state/tablefuse/lost+found/...
 *
 * Any thread; no lock of its own. */
#include "fs/text/lost_and_found.h"
#include "fs/text/queued_texts.h"
#include "fs/text/settler.h"
#include "fs/text/writer.h"

struct text_sink { /* a value; the objects outlive the writers */
    struct account *account;
    const struct settler *settler;
    struct lost_and_found *lost;
    const struct clock *clock;
    bool (*is_ending)(void *context); /* is the mount ending? Called by any thread */
    void *ending_context;
    /* How many files `tablefuse unmount` reports as not stored: those that were given up although
     * every call of their processes had succeeded, at any time, because the kernel may unmount
     * while their RELEASE is under way; and all that were given up while the mount ended, because
     * their processes may have ended before. It includes new files without a text, and files whose
     * text lost+found could not keep. */
    _Atomic uint64_t reported_losses;
    /* Changes that were still queued at the end. For the thread that ends the mount. */
    struct queued_texts queued; /* the files of these texts */
    uint64_t abandoned_texts, abandoned_deletes;
    struct buffer abandoned; /* a line for each delete, as in .tablefuse/errors */
};
#define TEXT_SINK_ABANDONED_MAX_BYTES ((size_t)64 << 20)

void text_sink_finish(struct text_sink *sink); /* takes zeros, too */
/* For writers_create. The result points to the sink. */
struct writer_store text_sink_store(struct text_sink *sink);
/* For account_options.lost; the context is the sink. */
void text_sink_lose_change(void *context, const struct lost_change *lost);

#endif
