/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

#define PARTITIONS_AT_ONCE 4000 /* before the monitor is left: some milliseconds */

/* Holds or releases partitions of the table that were held before. They are in use, so they stay.
 * True: more are left. */
static bool set_some_held_locked(struct pending *pending, const char *table, bool is_held)
{
    size_t n = 0;
    struct partition *partition = queue_first_partition_locked(pending, table);
    for (; partition; partition = queue_next_partition_locked(partition)) {
        if (!partition->was_held || partition->is_held == is_held)
            continue;
        if (n++ == PARTITIONS_AT_ONCE)
            return true;
        partition->is_held = is_held;
        queue_update_locked(pending, partition);
    }
    return false;
}

static bool has_place_locked(const struct queue *queue)
{
    return queue->hold_count < PENDING_HOLDS_MAX;
}

/* NULL: it cannot be held. */
static struct hold *begin_locked(struct pending *pending, const char *table)
{
    struct queue *queue = &pending->queue;
    size_t table_size = strlen(table) + 1;
    if (!has_place_locked(queue))
        return NULL;
    struct hold *hold = calloc(1, sizeof(*hold) + table_size);
    if (!hold)
        return NULL;
    hold->began_ms = clock_now_ms(pending->clock);
    memcpy(hold->table, table, table_size);
    TAILQ_INSERT_TAIL(&queue->holds, hold, entry);
    queue->hold_count++;
    monitor_notify(&pending->monitor); /* threads in pending_take wait for its end from now on */
    return hold;
}

/* The hold of the table, for a delete that is queued now. NULL: it cannot be held. */
static struct hold *use_locked(struct pending *pending, const char *table)
{
    struct hold *hold = hold_find_locked(&pending->queue, table);
    if (!hold)
        hold = begin_locked(pending, table);
    if (!hold || hold->is_full)
        return NULL;
    int64_t end_ms = clock_now_ms(pending->clock) + DELETE_POLICY_REST_MS;
    hold->end_ms = MAX(hold->end_ms, MIN(end_ms, hold->began_ms + PENDING_HOLD_MAX_MS));
    return hold;
}

void hold_change_locked(struct pending *pending, struct partition *partition,
                        const struct queued_change *change)
{
    bool is_held = change->is_held && !pending->queue.is_closed &&
                   use_locked(pending, partition->address.table);
    if (is_held && TAILQ_EMPTY(&partition->waiting) && partition->out == 0) {
        partition->is_held = partition->was_held = true;
        pending->queue.once_held++;
    } else if (!is_held) {
        partition->is_held = false;
    }
}

int64_t hold_end_due_locked(struct pending *pending)
{
    struct hold *hold, *next;
    int64_t now_ms = clock_now_ms(pending->clock), next_ms = INT64_MAX;
    for (hold = TAILQ_FIRST(&pending->queue.holds); hold; hold = next) {
        next = TAILQ_NEXT(hold, entry);
        if (hold->is_full)
            continue;
        if (hold->end_ms > now_ms) {
            next_ms = MIN(next_ms, hold->end_ms);
            continue;
        }
        if (set_some_held_locked(pending, hold->table, false))
            next_ms = now_ms;
        else
            hold_free_locked(&pending->queue, hold);
    }
    return next_ms;
}

bool pending_has_hold(struct pending *pending, const char *table)
{
    if (pending->queue.hold_count == 0)
        return false;
    monitor_enter(&pending->monitor);
    bool has_hold = hold_find_locked(&pending->queue, table);
    monitor_leave(&pending->monitor);
    return has_hold;
}

size_t pending_holds(struct pending *pending, uint64_t process, const char *table,
                     struct range range, size_t max)
{
    size_t count = 0;
    if (pending->queue.hold_count == 0)
        return 0;
    monitor_enter(&pending->monitor);
    struct record *record = pending_seek_locked(pending, table, range.lo);
    const struct queued *first = record ? record->queued : NULL;
    bool holds = first && first->partition->is_held && first->process == process;
    for (; holds && count < max && record && range_holds(range, record->address.position);
         record = pending_after_locked(record))
        count += record->queued != NULL;
    monitor_leave(&pending->monitor);
    return count;
}

/* True: there are more partitions. The rmdir of the table may have begun between two portions: then
 * it holds the rest again, and no more of it is released here. */
static bool release_some_locked(struct pending *pending, const char *table)
{
    const struct hold *hold = hold_find_locked(&pending->queue, table);
    return hold && hold->is_full && set_some_held_locked(pending, table, false);
}

static void release_all(struct pending *pending, const char *table)
{
    for (bool is_more = true; is_more;) {
        monitor_enter(&pending->monitor);
        is_more = release_some_locked(pending, table);
        monitor_leave(&pending->monitor);
    }
}

bool pending_may_hold(struct pending *pending, const char *table, bool *ret_has_ended)
{
    struct queue *queue = &pending->queue;
    size_t max_bytes = pending->limits.max_bytes;
    monitor_enter(&pending->monitor);
    struct hold *hold = hold_find_locked(queue, table);
    bool has_room = queue->bytes + pending->reserved < max_bytes - max_bytes / 8;
    bool may_hold = has_room && (hold ? !hold->is_full : has_place_locked(queue));
    *ret_has_ended = hold && !hold->is_full && !has_room;
    if (*ret_has_ended)
        hold->is_full = true;
    monitor_leave(&pending->monitor);
    if (*ret_has_ended)
        release_all(pending, table);
    return may_hold;
}

/* True: there are more partitions. */
static bool hold_some_again_locked(struct pending *pending, const char *table, int64_t end_ms)
{
    struct hold *hold = hold_find_locked(&pending->queue, table);
    if (!hold && queue_first_partition_locked(pending, table))
        hold = begin_locked(pending, table);
    if (!hold)
        return false;
    hold->is_full = false;
    hold->end_ms = end_ms;
    monitor_notify(&pending->monitor); /* it may be earlier */
    return set_some_held_locked(pending, table, true);
}

void pending_hold_again(struct pending *pending, const char *table, int64_t end_ms)
{
    for (bool is_more = true; is_more;) {
        monitor_enter(&pending->monitor);
        is_more = hold_some_again_locked(pending, table, end_ms);
        monitor_leave(&pending->monitor);
    }
}

void pending_end_hold(struct pending *pending, const char *table)
{
    monitor_enter(&pending->monitor);
    struct hold *hold = hold_find_locked(&pending->queue, table);
    if (hold) {
        hold->end_ms = clock_now_ms(pending->clock);
        monitor_notify(&pending->monitor);
    }
    monitor_leave(&pending->monitor);
}
