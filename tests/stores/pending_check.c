/* SPDX-License-Identifier: MIT */
#include "tests/stores/pending_check.h"
#include "cache/queue/pending_parts.h"

static int compare_records(const struct record *a, const struct record *b)
{
    return address_compare(a->address, b->address);
}

static int compare_partitions(const struct partition *a, const struct partition *b)
{
    return address_compare(a->address, b->address);
}

RB_GENERATE_INTERNAL(record_tree, record, by_key, compare_records, static __attribute__((unused)));
RB_GENERATE_INTERNAL(partition_tree, partition, by_key, compare_partitions,
                     static __attribute__((unused)));

/* Is a partition's change in front of another one? What is hurried goes first. */
static bool goes_before(const struct queued *a, const struct queued *b)
{
    return a->is_hurried != b->is_hurried ? a->is_hurried : a->number < b->number;
}

static const struct hold *find_hold(const struct queue *queue, const char *table)
{
    const struct hold *hold;
    TAILQ_FOREACH(hold, &queue->holds, entry)
    if (strcmp(hold->table, table) == 0)
        return hold;
    return NULL;
}

static bool hold_is_consistent(const struct queue *queue, const struct partition *partition)
{
    const struct hold *hold = find_hold(queue, partition->address.table);
    return !partition->is_held || (partition->was_held && hold);
}

/* A table has one, while something of it is queued. */
static bool holds_are_consistent(struct pending *pending)
{
    size_t count = 0;
    const struct hold *hold;
    TAILQ_FOREACH(hold, &pending->queue.holds, entry)
    {
        count++;
        if (find_hold(&pending->queue, hold->table) != hold ||
            !queue_first_partition_locked(pending, hold->table))
            return false;
    }
    return count == pending->queue.hold_count && count <= PENDING_HOLDS_MAX;
}

static bool partition_is_consistent(const struct pending *pending,
                                    const struct partition *partition)
{
    size_t count = 0, request_bytes = 0;
    const struct queued *queued, *before = NULL;
    TAILQ_FOREACH(queued, &partition->waiting, in_partition)
    {
        if ((before && !goes_before(before, queued)) || queued->partition != partition ||
            queued->record->state != WAITING)
            return false;
        before = queued;
        count++;
        request_bytes += queued->request_bytes;
    }
    return count == partition->count && request_bytes == partition->request_bytes &&
           (count > 0 || partition->out > 0) && partition->out >= 0 &&
           partition->out <= PENDING_BATCHES_OUT &&
           partition->ready_ms == partition_ready_ms(pending, partition) &&
           hold_is_consistent(&pending->queue, partition);
}

/* bytes: of all queued changes, added up. */
static bool queue_is_consistent(struct pending *pending, size_t bytes)
{
    struct queue *queue = &pending->queue;
    size_t partitions = 0, once_held = 0, failures = 0;
    int out = 0;
    struct partition *partition;
    struct kept_failure *kept;
    RB_FOREACH(partition, partition_tree, &queue->partitions)
    {
        if (!partition_is_consistent(pending, partition))
            return false;
        partitions++;
        once_held += partition->was_held;
        bytes += partition_bytes(partition->address);
        out += partition->out;
    }
    TAILQ_FOREACH(kept, &queue->failures, entry)
    failures++;
    return partitions == queue->partition_count && bytes == queue->bytes && out == queue->out &&
           once_held == queue->once_held && failures == queue->failure_count &&
           holds_are_consistent(pending);
}

static bool is_consistent(struct pending *pending)
{
    size_t claims = 0, queued = 0, bytes = 0, masks = 0, tables = 0, waiting = 0;
    struct record *record, *before = NULL;
    RB_FOREACH(record, record_tree, &pending->records)
    {
        struct waiter *waiter;
        bool is_used = record->state != FREE || record->mask;
        bool is_queued = record->state == WAITING || record->state == SENDING;
        bool has_waiters = !TAILQ_EMPTY(&record->waiters);
        if (!is_used || (has_waiters && record->state == FREE) ||
            is_queued != (record->queued != NULL) ||
            (before && compare_records(before, record) >= 0))
            return false;
        TAILQ_FOREACH(waiter, &record->waiters, entry)
        waiting += !waiter->has_claim;
        claims += record->state == CLAIMED;
        queued += is_queued;
        bytes += record->queued ? record->queued->bytes : 0;
        masks += record->mask != NULL;
        tables += record->mask && record->address.table[0] == '\0';
        before = record;
    }
    /* a caller that was handed a position counts as waiting until its thread runs */
    return claims == pending->claims && queued == pending->queued && masks == pending->masks &&
           tables == pending->table_count && waiting <= pending->waiting &&
           queue_is_consistent(pending, bytes);
}

bool pending_is_consistent(struct pending *pending)
{
    monitor_enter(&pending->monitor);
    bool answer = is_consistent(pending);
    monitor_leave(&pending->monitor);
    return answer;
}

bool pending_is_changing_in(struct pending *pending, const char *table)
{
    monitor_enter(&pending->monitor);
    struct record *record = pending_seek_locked(pending, table, (struct bytes){0});
    while (record && record->state == FREE)
        record = pending_after_locked(record);
    monitor_leave(&pending->monitor);
    return record != NULL;
}
