/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_COMMITTER_H
#define CACHE_QUEUE_COMMITTER_H
/* Sends changes to the service, and puts their results into the range cache. A change is sent in
 * the thread of the caller that waits for it. Queued changes are sent in batches
 * (batch_committer.h). For a change that a caller waits for:
 *
 *   the service answers          what the range cache has when the function returns
 *   success                      the new text, or that the row or table is gone; for a created
 *                                table that it has no row
 *   -ESTALE, -EEXIST, -ENOENT    the present row or table name, which is read again
 *   nothing: an answer was lost  the same. The change may still be made later, by the service:
 *                                call->failure.is_ambiguous
 *   TableBeingDeleted            for a delete: that the row is gone. The result is -ENOENT
 *   another refusal              what it had before: nothing has changed
 *
 * If reading again fails, everything that is cached of the table is dropped, so that the next
 * lookup sends a query. A change that was made, or may have been made, counts as newer than each
 * query that was sent before its answer (range_cache_put_change): the answer to such a query does
 * not bring the old row back.
 *
 * The caller has claimed the position (pending.h) until the function returns; for a table, the
 * position of its name with table NULL. A change is not cancelled once it is sent: an interrupt has
 * an effect only before that, and while a row is read again.
 *
 * Any thread; no lock of its own. Blocks up to the call's deadline. Errors: 0 or -errno, the reason
 * in caller->call. */
#include "cache/known/fetcher.h"
#include "cache/queue/pending_queue.h"
#include "cache/who/read_versions.h"

struct committer_source { /* outlives the committer */
    struct table_store *store;
    struct range_cache *cache; /* NULL: results are not cached; only batches may be sent then */
    struct fetcher *fetcher;
    struct read_versions *versions; /* gets each stored version; may be NULL */
    const struct clock *clock;
    _Atomic uint64_t *orders; /* of stamps */
};

struct committer;
int committer_create(const struct committer_source *source, struct committer **ret);
void committer_destroy(struct committer *committer); /* takes NULL; no call is under way */

/* Was a change refused because its table does not exist, or is being deleted? A table's deletion
 * always completes, so its rows are gone, and a delete of one has succeeded. */
bool committer_is_table_gone(const struct failure *failure);

#define COMMITTER_MAX_WRITES 2 /* a rename: both of its names */

/* Sends n writes, no merges: a single one, or several of one partition, of which the service makes
 * all or none. On success the range cache gets them in their order. ret: the n rows as they are
 * now; the caller finishes them, after a failure, too. A row without a page does not exist; after a
 * failure it may also be unknown, or another write was the refused one. -ENOMEM with is_ambiguous:
 * the change is made, but there was no memory for its result. */
int committer_write(struct committer *committer, struct caller *caller, const char *table,
                    const struct write *writes, size_t n, struct entity *ret);
/* Sends a batch of n <= PENDING_BATCH_MAX writes of one partition in ascending order; the service
 * makes all or none. On success the range cache has them all, and ret the rows of the texts; the
 * caller finishes them. After a failure nothing is read again, and ret has no rows. If there is no
 * memory for a result, the range cache drops the table: 0, and ret has no row. The call may be
 * cancelled even after the batch was sent. */
int committer_write_batch(struct committer *committer, struct call *call, const char *table,
                          const struct write *writes, size_t n, struct entity *ret);
/* Reads the present rows of the range from its start, one page of at most `top` rows; with top 1
 * one row, by a get. Afterwards the range cache has them. */
int committer_read(struct committer *committer, struct caller *caller, const char *table,
                   struct range range, int top, struct page **ret);
/* A batch has stored the row, and its answer was lost. `found` is the row as it was read
 * afterwards, requested at requested_ms. The range cache gets it as a change, because the answer to
 * a query that was sent before the batch may still have the old row. ret: as of
 * committer_write_batch. */
void committer_note_stored(struct committer *committer, const char *table,
                           const struct entity *found, int64_t requested_ms, struct entity *ret);
/* The n rows at these positions, in ascending order, are gone. known_ms: when the read that shows
 * it was requested, or when the service acknowledged the deletes. */
void committer_note_gone(struct committer *committer, const char *table,
                         const struct bytes *positions, size_t n, int64_t known_ms);
/* -EEXIST, and -EBUSY while the service still deletes a table of this name. */
int committer_create_table(struct committer *committer, struct caller *caller, const char *table);
/* -ENOENT. */
int committer_delete_table(struct committer *committer, struct caller *caller, const char *table);

DEFINE_CLEANUP(struct committer *, committer_destroy);

#endif
