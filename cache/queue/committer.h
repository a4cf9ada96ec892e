/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_COMMITTER_H
#define CACHE_QUEUE_COMMITTER_H
/* Sends changes to the service, and puts what came of it into the range cache. A change is sent in
 * the thread of the caller that waits for it; queued changes are sent in batches
 * (batch_committer.h). Of the former:
 *
 *   the service answers          then the range cache has, when the function returns
 *   the change is made           the new text, or that the row or table is gone; of a created table
 *                                that it has no row
 *   -ESTALE, -EEXIST, -ENOENT    what is there now: the row or the table's name is read again
 *   nothing: an answer was lost  the same. The change may yet be made: call->failure.is_ambiguous
 *   TableBeingDeleted            of a delete: that the row is gone, and -ENOENT
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
#include "cache/known/fetcher.h"
#include "cache/queue/pending_queue.h"
#include "cache/who/read_versions.h"

struct committer_source { /* outlives the committer */
    struct table_store *store;
    struct range_cache *cache; /* NULL: nothing is kept of what is sent; for batches alone */
    struct fetcher *fetcher;
    struct read_versions *versions; /* which gets each version that is stored; NULL: nothing does */
    const struct clock *clock;
    _Atomic uint64_t *orders; /* of stamps */
};

struct committer;
int committer_create(const struct committer_source *source, struct committer **ret);
void committer_destroy(struct committer *committer); /* takes NULL; no call is under way */

/* Was a change refused because its table does not exist, or is being deleted? Nothing stops that:
 * so none of its rows is there any more, and a delete is made. */
bool committer_is_table_gone(const struct failure *failure);

#define COMMITTER_MAX_WRITES 2 /* a rename: both of its names */

/* Sends n writes, no merges: one alone, or several of one partition, which are made all or none. On
 * success the range cache gets them in their order. ret: n rows as they are now; the caller
 * finishes them, after a failure, too. One without a page: there is none, or, after a failure, it
 * is not known, or another write was the one that was refused. -ENOMEM with is_ambiguous: the
 * change is made, but there was no memory for its result. */
int committer_write(struct committer *committer, struct caller *caller, const char *table,
                    const struct write *writes, size_t n, struct entity *ret);
/* Sends a batch of n <= PENDING_BATCH_MAX writes of one partition in ascending order, made all or
 * none. On success the range cache has them all, and ret the rows of the texts; the caller finishes
 * them. After a failure nothing was read again, and ret has none. Without memory for a result the
 * range cache drops the table: 0, and no row. The call may be cancelled also after it is sent. */
int committer_write_batch(struct committer *committer, struct call *call, const char *table,
                          const struct write *writes, size_t n, struct entity *ret);
/* Reads the rows of the range as they are now, from its begin on, as many as come in one page, at
 * most `top`: of one row by a get, with top 1. The range cache has them afterwards. */
int committer_read(struct committer *committer, struct caller *caller, const char *table,
                   struct range range, int top, struct page **ret);
/* A batch has stored the row, and its answer was lost: `found` is the row as it was read since,
 * asked for at requested_ms. The range cache gets it as a change, because a query that was sent
 * before the batch may still bring the old row. ret: as of committer_write_batch. */
void committer_note_stored(struct committer *committer, const char *table,
                           const struct entity *found, int64_t requested_ms, struct entity *ret);
/* The rows are gone: n positions in ascending order. known_ms: when a read that shows it was asked
 * for, or when the service acknowledged the deletes. */
void committer_note_gone(struct committer *committer, const char *table,
                         const struct bytes *positions, size_t n, int64_t known_ms);
/* -EEXIST, and -EBUSY while the service still deletes a table of this name. */
int committer_create_table(struct committer *committer, struct caller *caller, const char *table);
/* -ENOENT. */
int committer_delete_table(struct committer *committer, struct caller *caller, const char *table);

DEFINE_CLEANUP(struct committer *, committer_destroy);

#endif
