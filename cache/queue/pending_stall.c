/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

void queue_probe_locked(struct pending *pending)
{
    struct queue *queue = &pending->queue;
    int64_t now_ms = clock_now_ms(pending->clock);
    if (now_ms - queue->tried_ms < PENDING_AGAIN_MIN_MS)
        return;
    queue->tried_ms = now_ms;
    queue_try_again_locked(pending);
}

int queue_check_answers_locked(struct pending *pending, struct call *call)
{
    if (!pending->queue.again.is_unanswered)
        return 0;
    queue_probe_locked(pending);
    call->failure = pending->queue.again;
    call->failure.is_ambiguous = false; /* nothing was sent for this caller */
    call->failure.operation = -1;
    return call->failure.error;
}

bool pending_is_stalled(struct pending *pending)
{
    if (pending->queued == 0)
        return false;
    INSIDE(&pending->monitor);
    bool is_stalled = pending->queue.again.is_unanswered;
    if (is_stalled)
        queue_probe_locked(pending);
    return is_stalled;
}
