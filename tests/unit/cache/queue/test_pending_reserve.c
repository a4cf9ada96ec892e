/* SPDX-License-Identifier: MIT */
/* Room for texts that are being written, beside the queue: pending_room.h. */
#include "tests/unit/cache/queue/holding.h"

#define MAX_BYTES ((size_t)80000)

static void set_up(struct queueing *queueing)
{
    struct pending_limits limits = no_limits;
    limits.max_bytes = MAX_BYTES;
    queueing_set_up(queueing, limits);
}

static int reserve(struct queueing *queueing, size_t own, size_t more)
{
    return pending_reserve(queueing->pending, own, more, call_of(queueing));
}

static void give_back(struct queueing *queueing, size_t bytes)
{
    pending_set_reserved(queueing->pending, bytes, 0);
}

/* Queues deletes until at least `bytes` bytes are queued. */
static void fill_queue(struct queueing *queueing, size_t bytes, bool is_held)
{
    char position[64];
    for (int i = (int)stats_of(queueing).queued; stats_of(queueing).queued_bytes < bytes; i++)
        queue_one(queueing, "T", MINE, position_of("p", i, position), is_held);
}

static void end_all(struct queueing *queueing)
{
    pending_close(queueing->pending);
    send_due(queueing, batches);
    queueing_tear_down(queueing);
}

static void texts_alone_are_refused_beyond_it(void **state)
{
    (void)state;
    struct queueing queueing;
    set_up(&queueing);
    assert_int_equal(reserve(&queueing, 0, MAX_BYTES - 10), 0);
    assert_int_equal(reserve(&queueing, 0, 11), -ENOSPC);
    assert_int_equal(queueing.call.failure.error, -ENOSPC);
    assert_string_equal(queueing.call.failure.message,
                        "the texts of files that are open for writing fill their room");
    assert_non_null(queueing.call.failure.advice);
    assert_int_equal(reserve(&queueing, 0, 10), 0);
    assert_int_equal(reserve(&queueing, 10, 1), -ENOSPC);
    assert_int_equal(reserve(&queueing, MAX_BYTES - 10, 1), -ENOSPC);
    give_back(&queueing, 10);
    assert_int_equal(reserve(&queueing, MAX_BYTES - 10, 10 * MAX_BYTES), 0); /* the only one */
    assert_int_equal(stats_of(&queueing).reserved, 11 * MAX_BYTES - 10);
    pending_set_reserved(queueing.pending, 11 * MAX_BYTES - 10, 5);
    pending_set_reserved(queueing.pending, 5, 2 * MAX_BYTES); /* it cannot do without */
    give_back(&queueing, 2 * MAX_BYTES);
    queueing_tear_down(&queueing);
}

DEFINE_FIXTURE(reserving, struct queueing, set_up(test), end_all(test))

static void a_text_waits_for_what_is_queued(void **state)
{
    struct queueing *queueing = *state;
    struct other writer = {.what = OTHER_RESERVES, .more = MAX_BYTES / 2};
    fill_queue(queueing, MAX_BYTES / 2 + 1, false);
    assert_int_equal(due_ms(queueing), AT_ONCE); /* full batches */
    while (stats_of(queueing).queued_bytes + MAX_BYTES / 2 > MAX_BYTES + 20000) {
        take(queueing, batches);
        end_made(queueing, batches);
    }
    start_waiting(queueing, &writer, 1);
    while (!writer.is_done) {
        if (due_ms(queueing) <= queueing->now_ms)
            send_due(queueing, batches);
        (void)sched_yield();
    }
    assert_int_equal(result_of(&writer), 0);
    assert_true(stats_of(queueing).queued_bytes + stats_of(queueing).reserved <= MAX_BYTES);
    give_back(queueing, MAX_BYTES / 2);
}

static bool has_room_to_hold(struct queueing *queueing)
{
    bool has_ended;
    return pending_may_hold(queueing->pending, "U", &has_ended);
}

/* 1/8 is left by `rm -r`. A longer text waits for the deletes, which are sent then. */
static void held_deletes_make_room(void **state)
{
    struct queueing *queueing = *state;
    struct other writer = {.what = OTHER_RESERVES, .more = MAX_BYTES / 4};
    char position[64];
    for (int i = 0; has_room_to_hold(queueing); i++)
        queue_one(queueing, "T", MINE, position_of("p", i, position), true);
    assert_int_equal(due_ms(queueing), NEVER);
    assert_int_equal(reserve(queueing, 0, MAX_BYTES / 16), 0);
    assert_int_equal(due_ms(queueing), NEVER);
    start_waiting(queueing, &writer, 1);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    while (!writer.is_done) {
        if (due_ms(queueing) <= queueing->now_ms)
            send_due(queueing, batches);
        (void)sched_yield();
    }
    assert_int_equal(result_of(&writer), 0);
    assert_true(has_room_to_hold(queueing));
    give_back(queueing, MAX_BYTES / 16);
    give_back(queueing, MAX_BYTES / 4);
}

static void texts_leave_less_room_to_hold(void **state)
{
    struct queueing *queueing = *state;
    assert_int_equal(reserve(queueing, 0, MAX_BYTES / 2), 0);
    fill_queue(queueing, MAX_BYTES / 4, true);
    assert_true(has_room_to_hold(queueing));
    fill_queue(queueing, MAX_BYTES / 4 + MAX_BYTES / 8, true);
    assert_false(has_room_to_hold(queueing));
    give_back(queueing, MAX_BYTES / 2);
    assert_true(has_room_to_hold(queueing));
}

/* Texts that take all the room stop no delete: an eighth is the queue's. */
static void an_eighth_is_for_changes(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    assert_int_equal(reserve(queueing, 0, MAX_BYTES), 0);
    queue_deletes(queueing, "p", 0, 1);
    size_t first = stats_of(queueing).queued_bytes;
    queue_deletes(queueing, "p", 1, 1);
    size_t one = stats_of(queueing).queued_bytes - first;
    int n = 2;
    for (; stats_of(queueing).queued_bytes + one <= MAX_BYTES / 8; n++)
        queue_deletes(queueing, "p", n, 1);
    struct bytes last = position_of("p", n, position);
    claim(queueing, last);
    struct other queuer = {.what = OTHER_QUEUES, .change = delete_of(last)};
    start_waiting(queueing, &queuer, 1);
    give_back(queueing, MAX_BYTES / 2); /* it is reported */
    assert_int_equal(result_of(&queuer), 0);
    give_back(queueing, MAX_BYTES / 2);
}

/* `rm -r` fills it again after each batch. */
static void a_text_does_not_wait_for_the_eighth(void **state)
{
    struct queueing *queueing = *state;
    struct other writer = {.what = OTHER_RESERVES, .more = MAX_BYTES / 8};
    assert_int_equal(reserve(queueing, 0, MAX_BYTES * 13 / 16), 0);
    fill_queue(queueing, MAX_BYTES / 8 - 1000, false);
    size_t queued = stats_of(queueing).queued_bytes;
    assert_in_range(queued, MAX_BYTES / 16, MAX_BYTES / 8);
    start(queueing, &writer);
    assert_int_equal(result_of(&writer), 0);
    assert_int_equal(stats_of(queueing).queued_bytes, queued);
    give_back(queueing, MAX_BYTES * 13 / 16);
    give_back(queueing, MAX_BYTES / 8);
}

/* Else changes that come later could take its room again and again. */
static void a_text_that_waits_counts_already(void **state)
{
    struct queueing *queueing = *state;
    struct other writer = {.what = OTHER_RESERVES, .more = MAX_BYTES / 2};
    char position[64];
    fill_queue(queueing, MAX_BYTES * 3 / 4, false);
    start_waiting(queueing, &writer, 1);
    assert_int_equal(stats_of(queueing).reserved, MAX_BYTES / 2);
    struct bytes row = position_of("q", 0, position);
    claim(queueing, row);
    struct other queuer = {.what = OTHER_QUEUES, .change = delete_of(row)};
    start_waiting(queueing, &queuer, 2);
    while (!writer.is_done || !queuer.is_done) {
        if (due_ms(queueing) <= queueing->now_ms)
            send_due(queueing, batches);
        (void)sched_yield();
    }
    assert_int_equal(result_of(&writer), 0);
    assert_int_equal(result_of(&queuer), 0);
    give_back(queueing, MAX_BYTES / 2);
}

/* Its room is given back, and the queue stays as it is. */
static void a_text_that_waits_may_fail(void **state)
{
    struct queueing *queueing = *state;
    struct other cancelled = {.what = OTHER_RESERVES, .more = MAX_BYTES / 2};
    struct other late = cancelled;
    fill_queue(queueing, MAX_BYTES * 3 / 4, false);
    start_waiting(queueing, &cancelled, 1);
    cancelled.is_cancelled = true;
    assert_int_equal(result_of(&cancelled), -EINTR);
    assert_int_equal(stats_of(queueing).reserved, 0);
    queueing->now_ms = 1;
    late.call.deadline_ms = 1;
    start(queueing, &late);
    assert_int_equal(result_of(&late), -ETIMEDOUT);
    assert_string_equal(late.call.failure.message, "the queue of changes was full for too long");
    take(queueing, batches);
    struct failure down = failure_of(-ECONNREFUSED, "down");
    down.is_unanswered = true;
    end_with(queueing, batches, BATCH_AGAIN, down);
    assert_int_equal(reserve(queueing, 0, MAX_BYTES / 2), -ECONNREFUSED);
    assert_string_equal(queueing->call.failure.message, "down");
    assert_int_equal(reserve(queueing, 0, 100), 0); /* there is room */
    give_back(queueing, 100);
    assert_int_equal(stats_of(queueing).reserved, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_alone_are_refused_beyond_it),
        TEST_WITH(reserving, a_text_waits_for_what_is_queued),
        TEST_WITH(reserving, held_deletes_make_room),
        TEST_WITH(reserving, texts_leave_less_room_to_hold),
        TEST_WITH(reserving, an_eighth_is_for_changes),
        TEST_WITH(reserving, a_text_does_not_wait_for_the_eighth),
        TEST_WITH(reserving, a_text_that_waits_counts_already),
        TEST_WITH(reserving, a_text_that_waits_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
