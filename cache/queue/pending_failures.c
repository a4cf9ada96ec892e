/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

#include <assert.h>

static void drop_failure(struct queue *queue, struct kept_failure *failure)
{
    TAILQ_REMOVE(&queue->failures, failure, entry);
    queue->failure_count--;
    free(failure);
}

void queue_finish(struct queue *queue)
{
    assert(queue->partition_count == 0 && queue->once_held == 0 && queue->hold_count == 0);
    while (!TAILQ_EMPTY(&queue->failures))
        drop_failure(queue, TAILQ_FIRST(&queue->failures));
}

void queue_keep_failure_locked(struct pending *pending, struct address address,
                               const struct batched *change)
{
    struct queue *queue = &pending->queue;
    struct kept_failure *kept = calloc(1, sizeof(*kept) + address_size(address));
    if (!kept)
        return; /* it is in the failure log */
    kept->address = address_copy(address, kept->text);
    kept->failure = change->failure;
    kept->is_delete = !change->text.page;
    TAILQ_INSERT_TAIL(&queue->failures, kept, entry);
    if (++queue->failure_count > PENDING_FAILURES_MAX)
        drop_failure(queue, TAILQ_FIRST(&queue->failures));
}

size_t pending_unreported(struct pending *pending)
{
    INSIDE(&pending->monitor);
    return pending->queue.failure_count;
}

int pending_report(struct pending *pending, enum reported_changes which, const char *table,
                   struct range range, struct call *call)
{
    struct queue *queue = &pending->queue;
    int r = 0;
    INSIDE(&pending->monitor);
    struct kept_failure *kept, *next;
    for (kept = TAILQ_FIRST(&queue->failures); kept; kept = next) {
        next = TAILQ_NEXT(kept, entry);
        if (!is_in_range(table, range, kept->address) ||
            (which == REPORT_DELETES && !kept->is_delete))
            continue;
        if (r == 0) {
            call->failure = kept->failure;
            r = 1;
        }
        drop_failure(queue, kept);
    }
    return r;
}
