/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

/* Subtracted from the time at which a partition is ready. So a change that a drain waits for goes
 * before those that no caller waits for, and a hurried change before both. */
#define WAITED_FOR_MS INT64_C(1000000000000000)

static int compare_addresses(const struct partition *a, const struct partition *b)
{
    return address_compare(a->address, b->address);
}

static int compare_ready(const struct partition *a, const struct partition *b)
{
    if (a->ready_ms != b->ready_ms)
        return a->ready_ms < b->ready_ms ? -1 : 1;
    return compare_addresses(a, b);
}

RB_GENERATE_INTERNAL(partition_tree, partition, by_key, compare_addresses,
                     static __attribute__((unused)));
RB_GENERATE_INTERNAL(ready_tree, partition, by_ready, compare_ready,
                     static __attribute__((unused)));

static bool is_full(const struct pending *pending, const struct partition *partition)
{
    return partition->count >= pending->limits.batch_writes ||
           partition->request_bytes >= pending->limits.batch_bytes;
}

/* Partitions that are ready take turns: each goes after those that were ready before its last
 * batch was taken. */
int64_t partition_ready_ms(const struct pending *pending, const struct partition *partition)
{
    const struct queued *first = TAILQ_FIRST(&partition->waiting);
    int64_t ready_ms = partition->taken_ms;
    if (!first || partition->out >= PENDING_BATCHES_OUT)
        return INT64_MAX;
    if (first->is_hurried)
        ready_ms -= 2 * WAITED_FOR_MS;
    else if (pending->queue.is_closed || first->number <= partition->due_number)
        ready_ms -= WAITED_FOR_MS;
    else if (partition->is_held)
        return INT64_MAX;
    else if (!is_full(pending, partition))
        ready_ms = MAX(ready_ms, first->queued_ms + PENDING_REST_MS);
    return partition->not_before_ms > 0 ? MAX(ready_ms, partition->not_before_ms) : ready_ms;
}

size_t partition_bytes(struct address address)
{
    return sizeof(struct partition) + address_size(address);
}

static struct ready_tree *ready_tree_of(struct queue *queue, const struct partition *partition)
{
    return partition->was_held ? &queue->ready_held : &queue->ready;
}

struct hold *hold_find_locked(const struct queue *queue, const char *table)
{
    struct hold *hold;
    TAILQ_FOREACH(hold, &queue->holds, entry)
    if (strcmp(hold->table, table) == 0)
        return hold;
    return NULL;
}

void hold_free_locked(struct queue *queue, struct hold *hold)
{
    TAILQ_REMOVE(&queue->holds, hold, entry);
    queue->hold_count--;
    free(hold);
}

/* A partition of the table is not used any more. */
static void note_end_locked(struct pending *pending, const char *table)
{
    struct hold *hold = hold_find_locked(&pending->queue, table);
    if (hold && !queue_first_partition_locked(pending, table))
        hold_free_locked(&pending->queue, hold);
}

/* A thread in pending_take sleeps until the first partition is ready. Wakes it if that is earlier
 * now. */
void queue_update_locked(struct pending *pending, struct partition *partition)
{
    struct queue *queue = &pending->queue;
    int64_t ready_ms = partition_ready_ms(pending, partition);
    if (ready_ms < partition->ready_ms)
        monitor_notify(&pending->monitor);
    if (partition->ready_ms != INT64_MAX)
        (void)RB_REMOVE(ready_tree, ready_tree_of(queue, partition), partition);
    partition->ready_ms = ready_ms;
    if (ready_ms != INT64_MAX)
        (void)RB_INSERT(ready_tree, ready_tree_of(queue, partition), partition);
    if (TAILQ_EMPTY(&partition->waiting) && partition->out == 0) {
        (void)RB_REMOVE(partition_tree, &queue->partitions, partition);
        queue->partition_count--;
        queue->once_held -= partition->was_held;
        queue->bytes -= partition_bytes(partition->address);
        note_end_locked(pending, partition->address.table);
        free(partition);
    }
}

struct address partition_address(const char *table, struct bytes position)
{
    return (struct address){table, position_partition_key(position)};
}

struct partition *queue_find_partition_locked(struct pending *pending, struct address address)
{
    struct partition key = {.address = address};
    return RB_FIND(partition_tree, &pending->queue.partitions, &key);
}

struct partition *queue_add_partition_locked(struct pending *pending, struct address address)
{
    struct partition *partition = calloc(1, partition_bytes(address));
    if (!partition)
        return NULL;
    partition->address = address_copy(address, partition->text);
    TAILQ_INIT(&partition->waiting);
    TAILQ_INIT(&partition->sending);
    partition->ready_ms = INT64_MAX;
    (void)RB_INSERT(partition_tree, &pending->queue.partitions, partition);
    pending->queue.partition_count++;
    pending->queue.bytes += partition_bytes(address);
    return partition;
}

struct partition *queue_first_partition_locked(struct pending *pending, const char *table)
{
    struct partition key = {.address = {table, {0}}};
    struct partition *partition = RB_NFIND(partition_tree, &pending->queue.partitions, &key);
    return partition && strcmp(partition->address.table, table) == 0 ? partition : NULL;
}

struct partition *queue_next_partition_locked(struct partition *partition)
{
    struct partition *next = RB_NEXT(partition_tree, NULL, partition);
    return next && strcmp(next->address.table, partition->address.table) == 0 ? next : NULL;
}

static bool goes_before(const struct queued *a, const struct queued *b)
{
    return a->is_hurried != b->is_hurried ? a->is_hurried : a->number < b->number;
}

/* The place is usually the last. It is one of the first for a hurried change, or one sent again. */
void queue_insert_waiting_locked(struct queued *queued)
{
    struct partition *partition = queued->partition;
    struct queued *last = TAILQ_LAST(&partition->waiting, queued_list);
    struct queued *next = TAILQ_FIRST(&partition->waiting);
    queued->record->state = WAITING;
    partition->count++;
    partition->request_bytes += queued->request_bytes;
    if (!last || goes_before(last, queued)) {
        TAILQ_INSERT_TAIL(&partition->waiting, queued, in_partition);
        return;
    }
    while (goes_before(next, queued))
        next = TAILQ_NEXT(next, in_partition);
    TAILQ_INSERT_BEFORE(next, queued, in_partition);
}

void queue_remove_waiting_locked(struct queued *queued)
{
    struct partition *partition = queued->partition;
    TAILQ_REMOVE(&partition->waiting, queued, in_partition);
    partition->count--;
    partition->request_bytes -= queued->request_bytes;
}

void queue_hurry_locked(struct pending *pending, struct queued *queued)
{
    bool is_waiting = queued->record->state == WAITING;
    if (queued->is_hurried)
        return;
    if (is_waiting)
        queue_remove_waiting_locked(queued);
    queued->is_hurried = true; /* also if it must be sent again */
    if (!is_waiting)
        return;
    queue_insert_waiting_locked(queued);
    queue_update_locked(pending, queued->partition);
}

static void set_due_locked(struct pending *pending, struct partition *partition, uint64_t number)
{
    if (partition->due_number >= number)
        return;
    partition->due_number = number;
    queue_update_locked(pending, partition);
}

void queue_make_due_locked(struct pending *pending, const char *table, struct range range)
{
    struct queue *queue = &pending->queue;
    struct partition key = {.address = partition_address(table ? table : "", range.lo)};
    struct partition *partition = RB_NFIND(partition_tree, &queue->partitions, &key), *next;
    for (; partition; partition = next) {
        next = RB_NEXT(partition_tree, &queue->partitions, partition);
        if (table && (strcmp(partition->address.table, table) != 0 ||
                      bytes_compare(partition->address.position, range.hi) >= 0))
            return;
        set_due_locked(pending, partition, queue->last_number);
    }
}

void queue_make_unheld_due_locked(struct pending *pending)
{
    struct partition *partition;
    RB_FOREACH(partition, partition_tree, &pending->queue.partitions)
    if (!partition->was_held)
        set_due_locked(pending, partition, pending->queue.last_number);
}

void queue_try_again_locked(struct pending *pending)
{
    struct partition *partition;
    RB_FOREACH(partition, partition_tree, &pending->queue.partitions)
    if (partition->not_before_ms > 0) {
        partition->not_before_ms = 0;
        queue_update_locked(pending, partition);
    }
}

static bool has_older(const struct partition *partition, uint64_t number)
{
    const struct queued *queued;
    TAILQ_FOREACH(queued, &partition->waiting, in_partition)
    {
        if (queued->number <= number)
            return true;
        if (!queued->is_hurried) /* the others are younger */
            break;
    }
    TAILQ_FOREACH(queued, &partition->sending, in_partition)
    if (queued->number <= number)
        return true;
    return false;
}

bool queue_has_older_locked(struct pending *pending, uint64_t number)
{
    struct partition *partition;
    RB_FOREACH(partition, partition_tree, &pending->queue.partitions)
    if (has_older(partition, number))
        return true;
    return false;
}

struct queued *queue_first_waiting_locked(struct queue *queue)
{
    struct partition *partition;
    RB_FOREACH(partition, partition_tree, &queue->partitions)
    if (!TAILQ_EMPTY(&partition->waiting))
        return TAILQ_FIRST(&partition->waiting);
    return NULL;
}

static bool is_hurried(const struct partition *partition)
{
    return TAILQ_FIRST(&partition->waiting)->is_hurried;
}

/* Of two that are ready: `unheld` was never held, and `held` was. They take turns, unless a drain
 * covers a change in `unheld` and none in `held`, or either has a hurried change. */
static struct partition *choose(const struct queue *queue, struct partition *unheld,
                                struct partition *held)
{
    bool is_waited_for = unheld->ready_ms < 0 && held->ready_ms >= 0;
    if (is_waited_for || is_hurried(unheld) || is_hurried(held))
        return compare_ready(unheld, held) < 0 ? unheld : held;
    return queue->took_held ? unheld : held;
}

struct partition *queue_first_unheld_locked(struct pending *pending)
{
    return RB_MIN(ready_tree, &pending->queue.ready);
}

struct partition *queue_first_ready_locked(struct pending *pending)
{
    struct queue *queue = &pending->queue;
    struct partition *unheld = RB_MIN(ready_tree, &queue->ready);
    struct partition *held = RB_MIN(ready_tree, &queue->ready_held);
    if (!unheld || !held)
        return unheld ? unheld : held;
    struct partition *last = unheld->ready_ms > held->ready_ms ? unheld : held;
    if (last->ready_ms <= clock_now_ms(pending->clock))
        return choose(queue, unheld, held);
    return last == held ? unheld : held;
}

bool partition_is_ready(const struct pending *pending, const struct partition *partition)
{
    return partition && partition->ready_ms <= clock_now_ms(pending->clock);
}

void queue_hurry_for_bytes_locked(struct pending *pending)
{
    if (!partition_is_ready(pending, queue_first_ready_locked(pending)))
        queue_make_due_locked(pending, NULL, RANGE_ALL);
}
