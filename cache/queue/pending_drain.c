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

/* The call may come when the service is back: a batch shows it, which costs no request while it is
 * known to be away. */
static void try_again_locked(struct pending *pending)
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
    try_again_locked(pending);
    call->failure = pending->queue.again;
    call->failure.is_ambiguous = false; /* of this caller nothing was sent */
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
        try_again_locked(pending);
    return is_stalled;
}

size_t pending_untold(struct pending *pending)
{
    INSIDE(&pending->monitor);
    return pending->queue.failure_count;
}

static bool holds(const char *table, struct range range, struct address address)
{
    return !table || (strcmp(address.table, table) == 0 && range_holds(range, address.position));
}

void drains_note_end_locked(struct pending *pending, const struct queued *queued)
{
    struct drain *drain;
    LIST_FOREACH(drain, &pending->queue.drains, entry)
    if (queued->number <= drain->number &&
        holds(drain->table, drain->range, queued->record->address))
        drain->has_progress = true;
}

static struct queued *next_of_drain_locked(struct pending *pending, const struct drain *drain)
{
    struct range range = drain->range;
    if (drain->at.size > 0)
        range.lo = buffer_bytes(&drain->at);
    struct record *record = pending_seek_locked(pending, drain->table, range.lo);
    for (; record && range_holds(range, record->address.position);
         record = pending_after_locked(record))
        if (record->queued && record->queued->number <= drain->number)
            return record->queued;
    return NULL;
}

/* Is anything left that the drain waits for? 1, 0, -ENOMEM. */
static int is_left_locked(struct pending *pending, struct drain *drain)
{
    if (!drain->table)
        return queue_has_older_locked(pending, drain->number);
    struct queued *queued = next_of_drain_locked(pending, drain);
    if (!queued)
        return 0;
    int r = buffer_set(&drain->at, queued->record->address.position);
    return r < 0 ? r : 1;
}

/* How many changes the drain waits for; with table NULL those that are younger count, too. */
static size_t count_left_locked(struct pending *pending, const struct drain *drain)
{
    size_t count = 0;
    if (!drain->table)
        return pending->queued;
    struct record *record = pending_seek_locked(pending, drain->table, drain->range.lo);
    for (; record && range_holds(drain->range, record->address.position);
         record = pending_after_locked(record))
        count += record->queued && record->queued->number <= drain->number;
    return count;
}

/* The time is over; 0: so is what the drain waits for. */
static int fail_late_locked(struct pending *pending, struct drain *drain, struct call *call)
{
    call->failure = (struct failure){0};
    if (is_left_locked(pending, drain) == 0)
        return 0;
    (void)call_fail(call, -ETIMEDOUT, "queued changes are still being sent: %zu",
                    count_left_locked(pending, drain));
    call->failure.advice = "they go on being sent: try again later";
    return -ETIMEDOUT;
}

static void put_off_locked(struct pending *pending, struct drain *drain, int64_t patience_ms,
                           struct call *call)
{
    if (drain->has_progress && patience_ms > 0)
        call->deadline_ms = clock_now_ms(pending->clock) + patience_ms;
    drain->has_progress = false;
}

static int wait_for_end_locked(struct pending *pending, struct drain *drain, int64_t patience_ms,
                               struct call *call)
{
    int r = 0, left;
    pending->waiting++;
    LIST_INSERT_HEAD(&pending->queue.drains, drain, entry);
    while (r == 0 && (left = is_left_locked(pending, drain)) != 0) {
        r = left < 0 ? call_fail(call, left, "out of memory")
                     : queue_check_answers_locked(pending, call);
        if (r == 0) {
            monitor_wait(&pending->monitor);
            put_off_locked(pending, drain, patience_ms, call);
            r = pending_check_locked(pending, call, "");
            if (r == -ETIMEDOUT)
                r = fail_late_locked(pending, drain, call);
        }
    }
    LIST_REMOVE(drain, entry);
    pending->waiting--;
    return r;
}

int pending_tell(struct pending *pending, enum told_changes which, const char *table,
                 struct range range, struct call *call)
{
    struct queue *queue = &pending->queue;
    int r = 0;
    INSIDE(&pending->monitor);
    struct kept_failure *kept, *next;
    for (kept = TAILQ_FIRST(&queue->failures); kept; kept = next) {
        next = TAILQ_NEXT(kept, entry);
        if (!holds(table, range, kept->address) || (which == TELL_DELETES && !kept->is_delete))
            continue;
        if (r == 0) {
            call->failure = kept->failure;
            r = 1;
        }
        drop_failure(queue, kept);
    }
    return r;
}

/* If the range has few changes, these go first, and the rest of their partitions is not made due
 * for them. */
static bool hurry_few_locked(struct pending *pending, const struct drain *drain)
{
    struct record *few[PENDING_BATCH_MAX];
    size_t n = 0;
    struct record *record = pending_seek_locked(pending, drain->table, drain->range.lo);
    for (; record && range_holds(drain->range, record->address.position);
         record = pending_after_locked(record)) {
        if (n == ARRAY_SIZE(few))
            return false;
        few[n++] = record;
    }
    for (size_t i = 0; i < n; i++)
        if (few[i]->queued)
            queue_hurry_locked(pending, few[i]->queued);
    return true;
}

int pending_drain(struct pending *pending, const char *table, struct range range,
                  int64_t patience_ms, struct call *call)
{
    struct drain drain = {.table = table, .range = range};
    buffer_init(&drain.at, POSITION_MAX_BYTES);
    monitor_enter(&pending->monitor);
    drain.number = pending->queue.last_number;
    try_again_locked(pending);
    if (!table || !hurry_few_locked(pending, &drain))
        queue_make_due_locked(pending, table, range);
    int r = wait_for_end_locked(pending, &drain, patience_ms, call);
    monitor_leave(&pending->monitor);
    buffer_finish(&drain.at);
    return r;
}
