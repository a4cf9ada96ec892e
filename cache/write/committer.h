#ifndef CACHE_WRITE_COMMITTER_H
#define CACHE_WRITE_COMMITTER_H
/* Sends changes to the service, each in the thread of the caller that waits for it, and puts what
 * came of it into the range cache:
 *
 *   the service answers          then the range cache has, when the function returns
 *   the change is made           the new text, or that the row or table is gone; of a created table
 *                                that it has no row
 *   -ESTALE, -EEXIST, -ENOENT    what is there now: the row or the table's name is read again
 *   nothing: an answer was lost  the same. The change may yet be made: call->failure.is_ambiguous
 *   another refusal              what it had: nothing has changed
 *
 * If it cannot be read again, everything that is cached of the table is dropped, so that the next
 * lookup asks. A change that was made, or may have been made, is younger than each query that was
 * sent before its answer (range_cache_put_change): such a query does not bring the old row back.
 *
 * The caller has claimed the position (pending.h) until the function has returned; of a table, the
 * position of its name with table NULL. A change is never cancelled once it is sent: an interrupt
 * counts before, and while a row is read again.
 *
 * Any thread; no lock of its own. Blocks up to the call's deadline. Errors: 0 or -errno, the reason
 * in caller->call. */
#include "cache/read/fetcher.h"

struct committer_source { /* outlives the committer */
    struct table_store *store;
    struct range_cache *cache;
    struct fetcher *fetcher;
    const struct clock *clock;
    _Atomic uint64_t *orders; /* of stamps */
};

struct committer;
int committer_create(const struct committer_source *source, struct committer **ret);
void committer_destroy(struct committer *committer); /* takes NULL; no call is under way */

#define COMMITTER_MAX_WRITES 2 /* a rename: both of its names */

/* Sends n writes, no merges: one alone, or several of one partition, which are made all or none. On
 * success the range cache gets them in their order. ret: n rows as they are now; the caller
 * finishes them, after a failure, too. One without a page: there is none, or, after a failure, it
 * is not known, or another write was the one that was refused. -ENOMEM with is_ambiguous: the
 * change is made, but there was no memory for its result. */
int committer_write(struct committer *committer, struct caller *caller, const char *table,
                    const struct write *writes, size_t n, struct entity *ret);
/* -EEXIST, and -EBUSY while the service still deletes a table of this name. */
int committer_create_table(struct committer *committer, struct caller *caller, const char *table);
/* -ENOENT. */
int committer_delete_table(struct committer *committer, struct caller *caller, const char *table);

DEFINE_CLEANUP(struct committer *, committer_destroy);

#endif
