/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_QUEUE_QUEUEING_H
#define TESTS_UNIT_CACHE_QUEUE_QUEUEING_H
/* What the tests of pending's queue share: a clock that the test turns, changes that are queued,
 * and batches that the test takes and ends as a service might. Partitions and rows of table T. */
#include "cache/queue/pending_parts.h"
#include "cache/queue/pending_room.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/pending_limits.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>

#define DEADLINE_MS   INT64_C(1000000000)
#define REQUEST_BYTES 100 /* of each change, unless the test says otherwise */
#define AT_ONCE       0
#define NEVER         INT64_MAX

struct queueing {
    _Atomic int64_t now_ms;
    struct clock clock;
    struct pending *pending;
    struct call call; /* of the test's last call */
};

static inline int64_t queueing_now_ms(void *context)
{
    return ((struct queueing *)context)->now_ms;
}

static inline void queueing_set_up(struct queueing *queueing, struct pending_limits limits)
{
    *queueing = (struct queueing){.now_ms = 0};
    queueing->clock = (struct clock){.monotonic_ms = queueing_now_ms, .context = queueing};
    assert_int_equal(pending_create(&limits, &queueing->clock, &queueing->pending), 0);
}

static inline struct pending_stats stats_of(struct queueing *queueing)
{
    struct pending_stats stats;
    assert_true(pending_is_consistent(queueing->pending));
    pending_stats(queueing->pending, &stats);
    return stats;
}

/* Everything has ended. */
static inline void queueing_tear_down(struct queueing *queueing)
{
    struct pending_stats stats = stats_of(queueing);
    assert_int_equal(stats.claims, 0);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.queued, 0);
    assert_int_equal(stats.queued_bytes, 0);
    assert_int_equal(stats.reserved, 0);
    assert_int_equal(pending_partitions(queueing->pending), 0);
    pending_destroy(queueing->pending);
}

static inline struct call *call_of(struct queueing *queueing)
{
    queueing->call = (struct call){.deadline_ms = DEADLINE_MS};
    return &queueing->call;
}

/* The position of a row of the partition; ret: of 64 bytes. */
static inline struct bytes position_of(const char *partition, int row, char *ret)
{
    int size = snprintf(ret, 64, "%s%c%05d", partition, '\0', row);
    return (struct bytes){ret, (size_t)size};
}

static inline struct queued_change delete_of(struct bytes position)
{
    return (struct queued_change){
        .write = {.kind = WRITE_DELETE, .position = position, .if_match = B("etag")},
        .request_bytes = REQUEST_BYTES,
        .process = 7};
}

static inline struct page *row_of(struct bytes position, struct bytes text)
{
    struct page *page;
    assert_int_equal(page_create_row(position, text, B(""), 1, &page), 0);
    return page;
}

static inline struct queued_change text_of(struct bytes position, struct page *page)
{
    return (struct queued_change){
        .write = {.kind = WRITE_INSERT, .position = position, .text = page_text(page, 0)},
        .text = {page, 0},
        .request_bytes = REQUEST_BYTES,
        .process = 7};
}

static inline void claim(struct queueing *queueing, struct bytes position)
{
    assert_int_equal(pending_claim(queueing->pending, "T", &position, 1, call_of(queueing)), 0);
}

static inline void release(struct queueing *queueing, struct bytes position)
{
    pending_release(queueing->pending, "T", &position, 1);
}

static inline void queue_change(struct queueing *queueing, const struct queued_change *change)
{
    claim(queueing, change->write.position);
    assert_int_equal(pending_queue(queueing->pending, "T", change, call_of(queueing)), 0);
}

/* Rows `first` to first + n - 1 of the partition. */
static inline void queue_deletes(struct queueing *queueing, const char *partition, int first, int n)
{
    char position[64];
    for (int i = first; i < first + n; i++) {
        struct queued_change change = delete_of(position_of(partition, i, position));
        queue_change(queueing, &change);
    }
}

/* When the next batch is due; NEVER: nothing waits that may be sent. What a caller waits for is due
 * AT_ONCE. */
static inline int64_t due_ms(struct queueing *queueing)
{
    monitor_enter(&queueing->pending->monitor);
    const struct partition *first = queue_first_ready_locked(queueing->pending);
    int64_t ready_ms = first ? first->ready_ms : NEVER;
    monitor_leave(&queueing->pending->monitor);
    return MAX(ready_ms, AT_ONCE);
}

/* One is due. */
static inline void take(struct queueing *queueing, struct write_batch *ret)
{
    assert_true(due_ms(queueing) <= queueing->now_ms);
    assert_true(pending_take(queueing->pending, ret));
    assert_true(pending_is_consistent(queueing->pending));
}

/* The rows of the batch are these of the partition: their numbers, with a blank between. */
static inline void assert_batch(const struct write_batch *batch, const char *partition,
                                const char *rows)
{
    _cleanup_(buffer_finish) struct buffer line = {.max = 1 << 16};
    for (size_t i = 0; i < batch->n; i++) {
        struct bytes position = batch->writes[i].position;
        struct bytes row = position_row_key(position);
        assert_bytes(position_partition_key(position), bytes_of(partition));
        (void)buffer_append_format(&line, "%s%d", i > 0 ? " " : "",
                                   (int)strtoull(row.data, NULL, 10));
    }
    assert_string_equal(buffer_string(&line), rows);
}

static inline void end_with(struct queueing *queueing, struct write_batch *batch, int end,
                            struct failure failure)
{
    for (size_t i = 0; i < batch->n; i++) {
        batch->changes[i].end = end;
        batch->changes[i].failure = failure;
    }
    if (end == BATCH_AGAIN)
        batch->again = failure;
    pending_end(queueing->pending, batch);
    assert_true(pending_is_consistent(queueing->pending));
}

static inline void end_made(struct queueing *queueing, struct write_batch *batch)
{
    end_with(queueing, batch, BATCH_MADE, (struct failure){0});
}

static inline struct failure failure_of(int error, const char *message)
{
    struct failure failure = {.error = error};
    (void)snprintf(failure.message, sizeof(failure.message), "%s", message);
    return failure;
}

/* Sends everything that is due, and what is due after that. */
static inline void send_due(struct queueing *queueing, struct write_batch *batch)
{
    while (due_ms(queueing) <= queueing->now_ms) {
        take(queueing, batch);
        end_made(queueing, batch);
    }
}

struct other { /* a thread that claims, queues, drains, or reserves room */
    pthread_t thread;
    struct queueing *queueing;
    enum { OTHER_CLAIMS, OTHER_QUEUES, OTHER_DRAINS, OTHER_RESERVES } what;
    struct bytes position;       /* of a claim */
    struct queued_change change; /* that is queued; its position is claimed */
    const char *table;           /* of a drain */
    struct range range;
    int64_t patience_ms;
    size_t more; /* bytes to reserve */
    struct call call;
    int r;
    _Atomic int checks; /* of its call, since it waits */
    _Atomic bool is_cancelled, is_done;
};

static inline bool other_is_cancelled(void *context)
{
    struct other *other = context;
    other->checks++;
    return other->is_cancelled;
}

/* As an fsync: 1 where a failure is reported. */
static inline int drain_and_tell(struct pending *pending, const char *table, struct range range,
                                 int64_t patience_ms, struct call *call)
{
    int r = pending_drain(pending, table, range, patience_ms, call);
    return r == 0 ? pending_report(pending, REPORT_ALL, table, range, call) : r;
}

static inline void *run_other(void *context)
{
    struct other *self = context;
    struct pending *pending = self->queueing->pending;
    switch (self->what) {
    case OTHER_CLAIMS:
        self->r = pending_claim(pending, "T", &self->position, 1, &self->call);
        break;
    case OTHER_QUEUES:
        self->r = pending_queue(pending, "T", &self->change, &self->call);
        break;
    case OTHER_DRAINS:
        self->r = drain_and_tell(pending, self->table, self->range, self->patience_ms, &self->call);
        break;
    case OTHER_RESERVES:
        self->r = pending_reserve(pending, 0, self->more, &self->call);
        break;
    }
    self->is_done = true;
    return NULL;
}

static inline void start(struct queueing *queueing, struct other *other)
{
    other->queueing = queueing;
    if (other->call.deadline_ms == 0)
        other->call.deadline_ms = DEADLINE_MS;
    other->call.is_cancelled = other_is_cancelled;
    other->call.context = other;
    assert_int_equal(pthread_create(&other->thread, NULL, run_other, other), 0);
}

static inline void wait_for_waiting(struct queueing *queueing, size_t waiting)
{
    while (stats_of(queueing).waiting != waiting)
        (void)sched_yield();
}

/* It waits. `waiting`: with those that waited before. */
static inline void start_waiting(struct queueing *queueing, struct other *other, size_t waiting)
{
    start(queueing, other);
    wait_for_waiting(queueing, waiting);
    assert_false(other->is_done);
}

/* Its result; the reason is in other->call. */
static inline int result_of(struct other *other)
{
    assert_int_equal(pthread_join(other->thread, NULL), 0);
    assert_int_equal(other->call.failure.error,
                     other->r > 0 ? other->call.failure.error : other->r);
    return other->r;
}

DEFINE_FIXTURE(queue, struct queueing, queueing_set_up(test, no_limits), queueing_tear_down(test))

#endif
