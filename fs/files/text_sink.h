#ifndef FS_FILES_TEXT_SINK_H
#define FS_FILES_TEXT_SINK_H
/* Where the texts of writers go: into the account; and what it did not take when the last handle
 * was closed, into lost+found. Such a loss is a line of .tablefuse/errors and of the log, which
 * names the file that keeps the text. Example:
 *
 *   2026-11-22T10:00:00.000Z release /T/p/r.json: EINVAL: line 1, column 9: the text ends before
 * its JSON object does [python3] -- the text is in /home/u/.local/state/tablefuse/lost+found/...
 *
 * Any thread; no lock of its own. */
#include "fs/files/lost_and_found.h"
#include "fs/files/writer.h"

struct text_sink { /* a value; what it points to outlives the writers */
    struct account *account;
    struct lost_and_found *lost;
    const struct clock *clock;
    bool (*is_ending)(void *context); /* the mount; by any thread */
    void *ending_context;
    /* Files that were given up while it ended, also new ones without a text, and those whose text
     * lost+found could not keep. */
    _Atomic uint64_t lost_at_end;
};

/* For writers_create. The store points to the sink. */
struct writer_store text_sink_store(struct text_sink *sink);

#endif
