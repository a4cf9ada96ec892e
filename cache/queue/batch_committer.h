/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_BATCH_COMMITTER_H
#define CACHE_QUEUE_BATCH_COMMITTER_H
/* Sends a batch of queued changes, and repairs it where it is refused. A batch is all or nothing,
 * so one change that cannot be made keeps the others from being made. After a refusal:
 *
 *   404, 409, 412: a row is not     the rows are read once, from the refused one to the last; each
 *   as the change expects it        change ends by what is there (reconcile.h), or is sent again.
 *                                   Where a page has less than half of the rows, because others
 *                                   stand between them, each later read is a get: of one row, then
 *                                   of the next 2, 4, ...
 *   the table does not exist, or    the deletes are made; the texts have failed
 *   is being deleted
 *   another one, names a row        that change has failed; the others are sent again
 *   400, 413, names no row          the two halves of the batch are sent one after the other
 *   403 and others                  all have failed
 *   the service is not available    the changes stay queued, and are sent again later
 *
 * Each change that ends is told at once, in the thread that sends the batch and outside every lock;
 * the queue does not have it any more when that returns (pending_end).
 *
 * Thread-safety: any thread; no lock of its own. */
#include "cache/queue/committer.h"

struct batch_committer { /* all of it outlives the users */
    struct committer *committer;
    const struct clock *clock;
    int64_t patience_ms; /* for a request with its repetitions */
    /* The next two may be NULL. A text is stored: the row as it is now; without a page there was no
     * memory for it. */
    void (*stored)(void *context, struct address address, const struct batched *change,
                   const struct entity *now);
    /* The change has failed, for the reason in change->failure. */
    void (*failed)(void *context, struct address address, const struct batched *change);
    void *context;
};

/* Afterwards each change of the batch has its end, and `again` is set where that is BATCH_AGAIN.
 * All requests are sent by the call, each with its own deadline; when it is cancelled, the rest is
 * AGAIN. */
void batch_commit(const struct batch_committer *committer, struct write_batch *batch,
                  struct call *call);

#endif
