/* SPDX-License-Identifier: MIT */
#include "cache/write/pending_parts.h"

static struct hold *find_locked(const struct queue *queue, uint64_t process)
{
    struct hold *hold;
    TAILQ_FOREACH(hold, &queue->holds, entry)
    if (hold->process == process)
        return hold;
    return NULL;
}

static void free_locked(struct queue *queue, struct hold *hold)
{
    TAILQ_REMOVE(&queue->holds, hold, entry);
    queue->hold_count--;
    free(hold);
}

/* Due by time, so that the batches which a caller waits for go first. */
static void release_locked(struct pending *pending, struct partition *partition, int64_t now_ms)
{
    struct queued *queued;
    TAILQ_FOREACH(queued, &partition->waiting, in_partition)
    {
        queued->due_ms = MIN(queued->due_ms, now_ms);
    }
    partition->hold = NULL;
    queue_update_locked(pending, partition); /* it has changes, so it stays */
}

static void end_locked(struct pending *pending, struct hold *hold)
{
    int64_t now_ms = clock_now_ms(pending->clock);
    struct partition *partition = queue_first_partition_locked(pending, hold->table);
    for (; partition; partition = queue_next_partition_locked(partition))
        if (partition->hold == hold)
            release_locked(pending, partition, now_ms);
    free_locked(&pending->queue, hold);
}

/* NULL: it cannot be held. */
static struct hold *begin_locked(struct pending *pending, uint64_t process, const char *table)
{
    struct queue *queue = &pending->queue;
    size_t table_size = strlen(table) + 1;
    if (queue->hold_count >= PENDING_HOLDS_MAX)
        return NULL;
    struct hold *hold = calloc(1, sizeof(*hold) + table_size);
    if (!hold)
        return NULL;
    hold->process = process;
    memcpy(hold->table, table, table_size);
    TAILQ_INSERT_TAIL(&queue->holds, hold, entry);
    queue->hold_count++;
    monitor_tell(&pending->monitor); /* threads in pending_take look from now on */
    return hold;
}

/* The process's hold in the table, for a change that is queued now. NULL: it cannot be held. */
static struct hold *use_locked(struct pending *pending, uint64_t process, const char *table)
{
    struct hold *hold = find_locked(&pending->queue, process);
    if (hold && strcmp(hold->table, table) != 0) {
        end_locked(pending, hold);
        hold = NULL;
    }
    if (!hold)
        hold = begin_locked(pending, process, table);
    if (!hold)
        return NULL;
    hold->last_queued_ms = clock_now_ms(pending->clock);
    return hold;
}

void hold_change_locked(struct pending *pending, struct partition *partition,
                        const struct queued_change *change)
{
    struct hold *hold = NULL;
    if (change->is_held && !pending->queue.is_closed)
        hold = use_locked(pending, change->process, partition->address.table);
    if (hold && TAILQ_EMPTY(&partition->waiting) && partition->out == 0) {
        partition->hold = hold;
        partition->was_held = true;
        pending->queue.once_held++;
    } else if (partition->hold != hold) {
        partition->hold = NULL;
    }
}

static bool is_due_locked(const struct pending *pending, const struct hold *hold, int64_t now_ms)
{
    const struct queue *queue = &pending->queue;
    int64_t rest_ms = now_ms - hold->last_queued_ms;
    return rest_ms >= PENDING_HOLD_MAX_MS ||
           (rest_ms >= PENDING_REST_MS &&
            !(queue->goes_on && queue->goes_on(queue->goes_on_context, hold->process, now_ms)));
}

void hold_end_due_locked(struct pending *pending)
{
    struct queue *queue = &pending->queue;
    struct hold *hold, *next;
    if (queue->hold_count == 0)
        return;
    int64_t now_ms = clock_now_ms(pending->clock);
    for (hold = TAILQ_FIRST(&queue->holds); hold; hold = next) {
        next = TAILQ_NEXT(hold, entry);
        if (is_due_locked(pending, hold, now_ms))
            end_locked(pending, hold);
    }
}

void hold_end_all_locked(struct pending *pending)
{
    while (!TAILQ_EMPTY(&pending->queue.holds))
        end_locked(pending, TAILQ_FIRST(&pending->queue.holds));
}

int64_t hold_wait_ms(const struct pending *pending, int64_t wait_ms)
{
    if (pending->queue.hold_count == 0)
        return wait_ms;
    return wait_ms < 0 ? PENDING_LOOK_MS : MIN(wait_ms, PENDING_LOOK_MS);
}

void hold_finish(struct queue *queue)
{
    while (!TAILQ_EMPTY(&queue->holds))
        free_locked(queue, TAILQ_FIRST(&queue->holds));
}

bool pending_has_holds(const struct pending *pending)
{
    return pending->queue.hold_count > 0;
}

bool pending_holds(struct pending *pending, uint64_t process, const char *table)
{
    if (!pending_has_holds(pending))
        return false;
    monitor_enter(&pending->monitor);
    const struct hold *hold = find_locked(&pending->queue, process);
    bool holds = hold && strcmp(hold->table, table) == 0;
    monitor_leave(&pending->monitor);
    return holds;
}

bool pending_has_room_to_hold(struct pending *pending)
{
    size_t max_bytes = pending->limits.max_bytes;
    monitor_enter(&pending->monitor);
    bool has_room = pending->queue.bytes + pending->reserved < max_bytes - max_bytes / 8;
    monitor_leave(&pending->monitor);
    return has_room;
}

void pending_ask_holder(struct pending *pending, pending_goes_on *goes_on, void *context)
{
    monitor_enter(&pending->monitor);
    pending->queue.goes_on = goes_on;
    pending->queue.goes_on_context = context;
    monitor_leave(&pending->monitor);
}

void pending_end_hold(struct pending *pending, uint64_t process, const char *table)
{
    if (!pending_has_holds(pending))
        return;
    monitor_enter(&pending->monitor);
    struct hold *hold = find_locked(&pending->queue, process);
    if (hold && (!table || strcmp(hold->table, table) == 0))
        end_locked(pending, hold);
    monitor_leave(&pending->monitor);
}
