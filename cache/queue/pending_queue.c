/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

#include <assert.h>

static size_t bytes_of_change(const char *table, const struct queued_change *change)
{
    return sizeof(struct record) + sizeof(struct queued) + change->write.if_match.size +
           address_size((struct address){table, change->write.position}) +
           (change->text.page ? page_bytes(change->text.page) : 0);
}

/* A queue that is empty has room for every change. */
static bool has_room_for_bytes_locked(struct pending *pending, struct address partition,
                                      const struct queued_change *change)
{
    size_t bytes = pending->queue.bytes + bytes_of_change(partition.table, change);
    if (!queue_find_partition_locked(pending, partition))
        bytes += partition_bytes(partition);
    return pending->queued == 0 || bytes <= room_for_queue_locked(pending);
}

/* partition NULL: the change makes a new one. */
static bool is_below_limits(const struct queue *queue, const struct partition *partition)
{
    if (!partition)
        return queue->partition_count - queue->once_held < PENDING_PARTITIONS_MAX;
    return partition->was_held || partition->count < PENDING_PARTITION_MAX;
}

static bool has_room_locked(struct pending *pending, struct address partition_key,
                            const struct queued_change *change)
{
    struct partition *partition = queue_find_partition_locked(pending, partition_key);
    return (change->is_held || is_below_limits(&pending->queue, partition)) &&
           has_room_for_bytes_locked(pending, partition_key, change);
}

/* Makes changes due, because each partition may have less than a batch. Not while a batch is ready:
 * there may be as many partitions as changes. */
static void hurry_for_room_locked(struct pending *pending, struct address partition,
                                  const struct queued_change *change)
{
    if (!has_room_for_bytes_locked(pending, partition, change)) {
        queue_hurry_for_bytes_locked(pending);
    } else if (!queue_find_partition_locked(pending, partition) &&
               !partition_is_ready(pending, queue_first_unheld_locked(pending))) {
        queue_make_unheld_due_locked(pending); /* held partitions do not count */
    }
}

static int wait_for_room_locked(struct pending *pending, struct address partition,
                                const struct queued_change *change, struct call *call)
{
    int r = queue_check_answers_locked(pending, call);
    pending->waiting++;
    while (r == 0 && !has_room_locked(pending, partition, change)) {
        hurry_for_room_locked(pending, partition, change);
        monitor_wait(&pending->monitor);
        r = queue_check_answers_locked(pending, call);
        if (r == 0)
            r = pending_check_locked(pending, call, "the queue of changes was full for too long");
    }
    pending->waiting--;
    return r;
}

static struct queued *make_queued(const struct queued_change *change)
{
    struct bytes if_match = change->write.if_match;
    struct queued *queued = calloc(1, sizeof(*queued) + if_match.size);
    if (!queued)
        return NULL;
    queued->request_bytes = (uint32_t)MIN(change->request_bytes, UINT32_MAX);
    queued->kind = (uint8_t)change->write.kind;
    queued->process = change->process;
    queued->etag_size = (uint32_t)if_match.size;
    if (if_match.size > 0)
        memcpy(queued->if_match, if_match.data, if_match.size);
    if (change->text.page)
        queued->text = (struct entity){page_ref(change->text.page), change->text.row};
    return queued;
}

int pending_queue(struct pending *pending, const char *table, const struct queued_change *change,
                  struct call *call)
{
    INSIDE(&pending->monitor);
    struct queue *queue = &pending->queue;
    struct bytes position = change->write.position;
    struct address key = partition_address(table, position);
    size_t bytes = bytes_of_change(table, change);
    int r = wait_for_room_locked(pending, key, change, call);
    if (r < 0)
        return r;
    struct queued *queued = make_queued(change);
    struct partition *partition = queue_find_partition_locked(pending, key);
    if (queued && !partition)
        partition = queue_add_partition_locked(pending, key);
    if (!queued || !partition) {
        if (queued)
            entity_finish(&queued->text);
        free(queued);
        return call_fail(call, -ENOMEM, "out of memory");
    }
    struct record *record = pending_find_locked(pending, table, position);
    assert(record && record->state == CLAIMED);
    record->queued = queued;
    queued->record = record;
    queued->partition = partition;
    queued->number = ++queue->last_number;
    queued->queued_ms = clock_now_ms(pending->clock);
    queued->bytes = (uint32_t)bytes;
    queue->bytes += bytes;
    pending->queued++;
    pending->claims--;
    hold_change_locked(pending, partition, change);
    queued->is_hurried = !TAILQ_EMPTY(&record->waiters); /* they arrived while it was CLAIMED */
    queue_insert_waiting_locked(queued);
    queue_update_locked(pending, partition);
    return 0;
}

static int compare_positions(const void *a, const void *b)
{
    struct queued *const *first = a, *const *second = b;
    return bytes_compare((*first)->record->address.position, (*second)->record->address.position);
}

static void put_into_batch(struct write_batch *batch, struct queued *queued)
{
    size_t i = batch->n++;
    struct bytes text =
        queued->text.page ? page_text(queued->text.page, queued->text.row) : (struct bytes){0};
    queued->record->state = SENDING;
    batch->writes[i] = (struct write){.kind = (enum write_kind)queued->kind,
                                      .position = queued->record->address.position,
                                      .if_match = {queued->if_match, queued->etag_size},
                                      .text = text};
    batch->changes[i] = (struct batched){.record = queued->record,
                                         .text = queued->text,
                                         .process = queued->process,
                                         .is_doubtful = queued->is_doubtful};
}

/* May the change be sent with those before it? A held one may only if it is due. */
static bool may_be_sent(const struct partition *partition, const struct queued *queued)
{
    return !partition->is_held || queued->is_hurried || queued->number <= partition->due_number;
}

/* The first changes, as many as fit; at least one. */
static void take_locked(struct pending *pending, struct partition *partition,
                        struct write_batch *ret)
{
    struct queued *taken[PENDING_BATCH_MAX], *next = TAILQ_FIRST(&partition->waiting);
    size_t n = 0, bytes = 0;
    do {
        bytes += next->request_bytes;
        queue_remove_waiting_locked(next);
        TAILQ_INSERT_TAIL(&partition->sending, next, in_partition);
        taken[n++] = next;
        next = TAILQ_FIRST(&partition->waiting);
    } while (next && may_be_sent(partition, next) && n < pending->limits.batch_writes &&
             bytes + next->request_bytes <= pending->limits.batch_bytes);
    qsort(taken, n, sizeof(struct queued *), compare_positions);
    ret->n = 0;
    ret->again = (struct failure){0};
    ret->failed_before = partition->failed_in_a_row;
    ret->answered_before = pending->queue.answered;
    ret->table = taken[0]->record->address.table;
    for (size_t i = 0; i < n; i++)
        put_into_batch(ret, taken[i]);
    partition->out++;
    partition->taken_ms = clock_now_ms(pending->clock);
    pending->queue.out++;
    pending->queue.took_held = partition->was_held;
    queue_update_locked(pending, partition);
    if (pending->waiting > 0) /* there is room */
        monitor_notify(&pending->monitor);
}

bool pending_take(struct pending *pending, struct write_batch *ret)
{
    struct queue *queue = &pending->queue;
    bool has_batch = false;
    INSIDE(&pending->monitor);
    while (!queue->is_stopped) {
        int64_t now_ms = clock_now_ms(pending->clock), wake_ms = hold_end_due_locked(pending);
        struct partition *first = queue_first_ready_locked(pending);
        if (first)
            wake_ms = MIN(wake_ms, first->ready_ms);
        has_batch = first && first->ready_ms <= now_ms;
        if (has_batch)
            take_locked(pending, first, ret);
        if (has_batch || (queue->is_closed && pending->queued == 0))
            break;
        monitor_wait_for(&pending->monitor, wake_ms == INT64_MAX ? -1 : MAX(wake_ms - now_ms, 0));
    }
    return has_batch;
}

/* The position is free, or the next caller's. */
static void end_change_locked(struct pending *pending, struct record *record)
{
    drains_note_end_locked(pending, record->queued);
    struct queued *queued = TAKE_PTR(record->queued);
    pending->queue.bytes -= queued->bytes;
    entity_finish(&queued->text);
    free(queued);
    watches_note_end_locked(pending, record->address.table);
    pending_pass_on_locked(pending, record); /* first: pending_is_changing reads both counts */
    pending->ended++;                        /* before `queued`: pending_ended */
    pending->queued--;
}

static void end_one_locked(struct pending *pending, const struct batched *change, bool is_ambiguous)
{
    struct record *record = change->record;
    TAILQ_REMOVE(&record->queued->partition->sending, record->queued, in_partition);
    if (change->end == BATCH_AGAIN) {
        record->queued->is_doubtful |= is_ambiguous;
        queue_insert_waiting_locked(record->queued);
        return;
    }
    if (change->end == BATCH_FAILED)
        queue_keep_failure_locked(pending, record->address, change);
    end_change_locked(pending, record);
}

/* How long the partition waits: 1 s, 2 s, ... 30 s. Batches that were in flight together are one
 * attempt: the first that fails counts. */
static void put_off_locked(struct pending *pending, struct partition *partition,
                           const struct write_batch *batch)
{
    if (batch->again.error == 0) {
        partition->failed_in_a_row = 0;
        partition->not_before_ms = 0;
        return;
    }
    if (partition->failed_in_a_row <= batch->failed_before)
        partition->failed_in_a_row++;
    int64_t wait_ms = (int64_t)PENDING_AGAIN_MIN_MS << MIN(partition->failed_in_a_row - 1, 5);
    partition->not_before_ms = clock_now_ms(pending->clock) + MIN(wait_ms, PENDING_AGAIN_MAX_MS);
}

/* -ENOMEM, or a token that is missing, may end a batch before anything is sent. */
static bool is_answered(const struct failure *again)
{
    return again->error == 0 || again->http_status > 0 || again->has_begun_answer;
}

/* A batch without an answer shows that the service is down, unless another batch was answered while
 * this one was in flight. Else a batch that gives up just after an outage would fail an fsync of
 * another table. If the service was down before, it stays so. */
static void note_answer_locked(struct queue *queue, const struct write_batch *batch)
{
    bool was_unanswered = queue->again.is_unanswered;
    if (batch->again.error == -EINTR) /* given up: shows nothing about the service */
        return;
    queue->answered += is_answered(&batch->again);
    queue->again = batch->again;
    queue->again.is_unanswered &= was_unanswered || queue->answered == batch->answered_before;
}

void pending_end(struct pending *pending, struct write_batch *batch)
{
    struct queue *queue = &pending->queue;
    INSIDE(&pending->monitor);
    struct partition *partition = batch->changes[0].record->queued->partition;
    put_off_locked(pending, partition, batch);
    note_answer_locked(queue, batch);
    for (size_t i = 0; i < batch->n; i++)
        end_one_locked(pending, &batch->changes[i], batch->again.is_ambiguous);
    partition->out--;
    queue->out--;
    queue_update_locked(pending, partition);
    monitor_notify(&pending->monitor);
}

void pending_close(struct pending *pending)
{
    struct queue *queue = &pending->queue;
    INSIDE(&pending->monitor);
    queue->is_closed = true;
    queue_try_again_locked(pending);
    queue_make_due_locked(pending, NULL, RANGE_ALL);
    monitor_notify(&pending->monitor);
}

size_t pending_partitions(struct pending *pending)
{
    return pending->queue.partition_count;
}

void pending_wait_empty(struct pending *pending, int64_t deadline_ms)
{
    INSIDE(&pending->monitor);
    pending->waiting++;
    while (pending->queued > 0 && clock_now_ms(pending->clock) < deadline_ms)
        monitor_wait(&pending->monitor);
    pending->waiting--;
}

void pending_stop(struct pending *pending)
{
    INSIDE(&pending->monitor);
    pending->queue.is_stopped = true;
    monitor_notify(&pending->monitor);
}

/* Why what is left was not sent. */
static struct failure reason_of_abandoning(const struct queue *queue)
{
    struct call call = {.failure = queue->again};
    if (call.failure.error == 0)
        (void)call_fail(&call, -ETIMEDOUT, "it was not sent before the end of the mount");
    return call.failure;
}

void queue_end_unsent_locked(struct pending *pending, struct queued *queued)
{
    struct partition *partition = queued->partition;
    queue_remove_waiting_locked(queued);
    end_change_locked(pending, queued->record);
    queue_update_locked(pending, partition);
}

void pending_abandon(struct pending *pending, pending_visitor *visit, void *context)
{
    for (struct queued *queued;;) {
        monitor_enter(&pending->monitor);
        queued = queue_first_waiting_locked(&pending->queue);
        monitor_leave(&pending->monitor);
        if (!queued)
            return;
        struct batched change = {.record = queued->record,
                                 .text = queued->text,
                                 .process = queued->process,
                                 .is_doubtful = queued->is_doubtful,
                                 .end = BATCH_FAILED,
                                 .failure = reason_of_abandoning(&pending->queue)};
        visit(context, queued->record->address, &change);
        monitor_enter(&pending->monitor);
        queue_end_unsent_locked(pending, queued);
        monitor_leave(&pending->monitor);
    }
}
