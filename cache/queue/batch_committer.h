/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_BATCH_COMMITTER_H
#define CACHE_QUEUE_BATCH_COMMITTER_H
/* Sends a batch of queued changes, and repairs it if it is refused. The service makes all changes
 * of a batch or none, so one that cannot be made blocks the others. What is done after a refusal:
 *
 *   404, 409, 412: a row is not     the rows are read once, from the refused one to the last. Each
 *   as the change expects it        change ends by what was found (reconcile.h), or is sent again.
 *                                   If the page has less than half of these rows (others lie
 *                                   between them), later refusals read single rows: 1, then 2,
 *                                   4, ..., and then the rest is sent again
 *   the table does not exist, or    the deletes count as done; the texts have failed
 *   is being deleted
 *   another error that names a row  that change has failed; the others are sent again
 *   400, 413 without a row          the two halves of the batch are sent one after the other
 *   another error without a row     all have failed. Example: 403
 *   the service is not available    the changes stay queued, and are sent again later
 *
 * `failed` is called at once for each change that failed, `stored` for each text that was stored,
 * in the thread that sends the batch and without a lock. Only afterwards the change leaves the
 * queue (pending_end).
 *
 * Thread-safety: any thread; no lock of its own. */
#include "cache/queue/committer.h"

struct batch_committer { /* what it points to outlives each batch_commit */
    struct committer *committer;
    const struct clock *clock;
    int64_t patience_ms; /* how long a request may take, with its retries */
    /* The next two may be NULL. A text was stored. now: the row as it is now; without a page if
     * there was no memory for it. */
    void (*stored)(void *context, struct address address, const struct batched *change,
                   const struct entity *now);
    /* The change has failed, for the reason in change->failure. */
    void (*failed)(void *context, struct address address, const struct batched *change);
    void *context;
};

/* Sends the batch and sets the `end` of each change; if one is BATCH_AGAIN, batch->again says why.
 * All requests use `call`, each with its own deadline. If the call is cancelled, the remaining
 * changes are BATCH_AGAIN. */
void batch_commit(const struct batch_committer *committer, struct write_batch *batch,
                  struct call *call);

#endif
