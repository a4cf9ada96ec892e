/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_QUEUE_HOLDING_H
#define TESTS_UNIT_CACHE_QUEUE_HOLDING_H
/* What the tests of held changes share. */
#include "tests/stores/pending_check.h"
#include "tests/unit/cache/queue/queueing.h"
#include "tests/unit/pending_limits.h"

#define MINE   7 /* processes */
#define OTHERS 8

static struct write_batch batches[1];

/* A delete of the process in the table; the queue has room. */
static inline void queue_one(struct queueing *queueing, const char *table, uint64_t process,
                             struct bytes position, bool is_held)
{
    struct queued_change change = delete_of(position);
    change.process = process;
    change.is_held = is_held;
    assert_int_equal(pending_claim(queueing->pending, table, &position, 1, call_of(queueing)), 0);
    assert_int_equal(pending_queue(queueing->pending, table, &change, call_of(queueing)), 0);
}

/* Rows `first` to first + n - 1 of the partition of T. */
static inline void hold_deletes(struct queueing *queueing, uint64_t process, const char *partition,
                                int first, int n)
{
    char position[64];
    for (int i = first; i < first + n; i++)
        queue_one(queueing, "T", process, position_of(partition, i, position), true);
}

/* As a thread in pending_take does. */
static inline void look_at_holds(struct queueing *queueing)
{
    monitor_enter(&queueing->pending->monitor);
    (void)hold_end_due_locked(queueing->pending);
    monitor_leave(&queueing->pending->monitor);
    assert_true(pending_is_consistent(queueing->pending));
}

static inline void end_hold(struct queueing *queueing, const char *table)
{
    pending_end_hold(queueing->pending, table);
    look_at_holds(queueing);
}

static inline size_t holds_of(struct queueing *queueing)
{
    size_t count = queueing->pending->queue.hold_count;
    assert_true(pending_is_consistent(queueing->pending));
    return count;
}

static inline void send_one(struct queueing *queueing, const char *partition, const char *rows)
{
    take(queueing, batches);
    assert_batch(batches, partition, rows);
    end_made(queueing, batches);
}

/* Sends everything. */
static inline void finish(struct queueing *queueing)
{
    pending_close(queueing->pending);
    send_due(queueing, batches);
    assert_int_equal(holds_of(queueing), 0);
    queueing_tear_down(queueing);
}

DEFINE_FIXTURE(held_queue, struct queueing, queueing_set_up(test, no_limits), finish(test))

#endif
