/* SPDX-License-Identifier: MIT */
/* Held changes, and the limits of the queue. */
#include "tests/unit/cache/queue/holding.h"

#define MANY 200000

/* A thread that queues a row, which is claimed; position: of 64 bytes. */
static struct other queuer_of(struct queueing *queueing, const char *partition, int row,
                              char *position)
{
    struct bytes bytes = position_of(partition, row, position);
    claim(queueing, bytes);
    return (struct other){.what = OTHER_QUEUES, .change = delete_of(bytes)};
}

static void take_of(struct queueing *queueing, const char *partition)
{
    take(queueing, batches);
    assert_bytes(position_partition_key(batches->writes[0].position), bytes_of(partition));
    end_made(queueing, batches);
}

static void finish_drain(struct queueing *queueing, struct other *drainer)
{
    pending_close(queueing->pending);
    send_due(queueing, batches);
    assert_int_equal(result_of(drainer), 0);
    queueing_tear_down(queueing);
}

static bool may_hold(struct queueing *queueing, const char *table, bool has_ended)
{
    bool answer;
    bool may = pending_may_hold(queueing->pending, table, &answer);
    assert_int_equal(answer, has_ended);
    assert_true(pending_is_consistent(queueing->pending));
    return may;
}

static void held_changes_have_no_limit_of_a_partition(void **state)
{
    (void)state;
    struct queueing queueing;
    char position[64];
    queueing_set_up(&queueing, no_limits);
    queue_deletes(&queueing, "p", 0, PENDING_PARTITION_MAX);
    hold_deletes(&queueing, MINE, "p", PENDING_PARTITION_MAX, 1); /* though it is not held */
    hold_deletes(&queueing, MINE, "q", 0, 2 * PENDING_PARTITION_MAX);
    end_hold(&queueing, "T");
    queue_deletes(&queueing, "q", 2 * PENDING_PARTITION_MAX, 1); /* it has been held */
    finish(&queueing);
    queueing_set_up(&queueing, no_limits);
    hold_deletes(&queueing, MINE, "p", 0, 1);
    end_hold(&queueing, "T");
    queueing.now_ms = PENDING_REST_MS;
    send_due(&queueing, batches);
    queue_deletes(&queueing, "p", 0, PENDING_PARTITION_MAX); /* it has been empty since */
    struct other queuer = queuer_of(&queueing, "p", PENDING_PARTITION_MAX, position);
    start_waiting(&queueing, &queuer, 1);
    take_of(&queueing, "p");
    assert_int_equal(result_of(&queuer), 0);
    finish(&queueing);
}

/* A drain has what was held due, before what no caller waits for. */
static void a_place_in_a_partition_does_not_wait_for_what_was_held(void **state)
{
    (void)state;
    struct queueing queueing;
    char position[64];
    queueing_set_up(&queueing, no_limits);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    hold_deletes(&queueing, MINE, "a", 0, 2 * PENDING_PARTITION_MAX);
    start_waiting(&queueing, &drainer, 1);
    queue_deletes(&queueing, "p", 0, PENDING_PARTITION_MAX);
    struct other queuer = queuer_of(&queueing, "p", PENDING_PARTITION_MAX, position);
    start_waiting(&queueing, &queuer, 2);
    take_of(&queueing, "a");
    take_of(&queueing, "p");
    assert_int_equal(result_of(&queuer), 0);
    take_of(&queueing, "a");
    finish_drain(&queueing, &drainer);
}

static void held_changes_have_no_limit_of_partitions(void **state)
{
    (void)state;
    struct queueing queueing;
    char partition[16], position[64];
    queueing_set_up(&queueing, no_limits);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    for (int i = 0; i < PENDING_PARTITIONS_MAX + 10; i++) {
        (void)snprintf(partition, sizeof(partition), "p%d", i);
        hold_deletes(&queueing, MINE, partition, 0, 1);
    }
    start_waiting(&queueing, &drainer, 1);
    for (int i = 0; i < PENDING_PARTITIONS_MAX; i++) { /* they count by themselves */
        (void)snprintf(partition, sizeof(partition), "q%d", i);
        queue_deletes(&queueing, partition, 0, 1);
    }
    assert_int_equal(pending_partitions(queueing.pending), 2 * PENDING_PARTITIONS_MAX + 10);
    hold_deletes(&queueing, MINE, "r", 0, 1); /* is held, and does not count */
    struct other queuer = queuer_of(&queueing, "s", 0, position);
    start_waiting(&queueing, &queuer, 2);
    take_of(&queueing, "p0");
    assert_int_equal(stats_of(&queueing).waiting, 2);
    take_of(&queueing, "q0"); /* due at once, because a caller waits for a place */
    assert_int_equal(result_of(&queuer), 0);
    take_of(&queueing, "p1");
    take_of(&queueing, "q1");
    finish_drain(&queueing, &drainer);
}

/* What n deletes of one partition take of max_bytes. */
static size_t bytes_of_deletes(int n)
{
    struct queueing queueing;
    queueing_set_up(&queueing, no_limits);
    hold_deletes(&queueing, MINE, "p", 0, n);
    size_t bytes = stats_of(&queueing).queued_bytes;
    finish(&queueing);
    return bytes;
}

static void who_needs_room_sends_what_is_held(void **state)
{
    (void)state;
    struct queueing queueing;
    char position[64];
    struct pending_limits limits = no_limits;
    limits.max_bytes = 2 * bytes_of_deletes(2);
    queueing_set_up(&queueing, limits);
    hold_deletes(&queueing, MINE, "p", 1, 2);
    hold_deletes(&queueing, MINE, "q", 1, 2);
    struct bytes row = position_of("q", 3, position);
    struct other queuer = {.what = OTHER_QUEUES, .change = delete_of(row)};
    queuer.change.is_held = true;
    claim(&queueing, row);
    start_waiting(&queueing, &queuer, 1);
    send_one(&queueing, "p", "1 2");
    assert_int_equal(result_of(&queuer), 0);
    assert_int_equal(holds_of(&queueing), 1);
    send_one(&queueing, "q", "1 2");
    assert_int_equal(due_ms(&queueing), NEVER); /* the third one is held */
    finish(&queueing);
}

static void an_eighth_of_the_room_is_kept_for_others(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    limits.max_bytes = bytes_of_deletes(2) / 7 * 8 + 8;
    queueing_set_up(&queueing, limits);
    hold_deletes(&queueing, MINE, "p", 1, 2);
    assert_true(may_hold(&queueing, "T", false));
    finish(&queueing);
    limits.max_bytes = bytes_of_deletes(2) / 7 * 8;
    queueing_set_up(&queueing, limits);
    assert_true(may_hold(&queueing, "T", false));
    hold_deletes(&queueing, MINE, "p", 1, 2);
    assert_false(may_hold(&queueing, "U", false)); /* nothing is held there that could end */
    assert_int_equal(due_ms(&queueing), NEVER);
    assert_false(may_hold(&queueing, "T", true));
    assert_false(may_hold(&queueing, "T", false)); /* it is reported once */
    assert_int_equal(due_ms(&queueing), PENDING_REST_MS);
    finish(&queueing);
}

/* Until nothing of the table is queued. */
static void a_table_whose_deletes_have_filled_the_room_holds_none(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    limits.max_bytes = bytes_of_deletes(20) / 7 * 8;
    queueing_set_up(&queueing, limits);
    hold_deletes(&queueing, MINE, "p", 1, 20);
    assert_false(may_hold(&queueing, "T", true));
    end_hold(&queueing, "T"); /* it has ended */
    queueing.now_ms = PENDING_REST_MS - 1;
    queue_deletes(&queueing, "q", 1, 1);
    queueing.now_ms++;
    take_of(&queueing, "p");
    assert_true(may_hold(&queueing, "U", false));
    assert_false(may_hold(&queueing, "T", false)); /* there is room, and q is queued */
    hold_deletes(&queueing, MINE, "r", 1, 1);      /* a thread that had asked before */
    assert_int_equal(due_ms(&queueing), 2 * PENDING_REST_MS - 1);
    queueing.now_ms += PENDING_REST_MS;
    send_due(&queueing, batches);
    assert_int_equal(holds_of(&queueing), 0);
    assert_true(may_hold(&queueing, "T", false));
    hold_deletes(&queueing, MINE, "p", 5, 1);
    assert_int_equal(due_ms(&queueing), NEVER);
    finish(&queueing);
}

/* With an ETag as long as those of the service. `rows`: in each partition. */
static size_t hold_many(int rows)
{
    struct queueing queueing;
    char partition[16], position[64];
    struct pending_stats stats;
    queueing_set_up(&queueing, no_limits);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(partition, sizeof(partition), "p%06d", i / rows);
        struct queued_change change = delete_of(position_of(partition, i % rows, position));
        change.write.if_match = B("W/\"datetime'2026-01-01T00%3A00%3A00.0000000Z'\"");
        change.is_held = true;
        queue_change(&queueing, &change);
    }
    pending_stats(queueing.pending, &stats);
    assert_int_equal(stats.queued, MANY);
    assert_int_equal(due_ms(&queueing), NEVER);
    end_hold(&queueing, "T");
    assert_int_equal(due_ms(&queueing), rows < PENDING_BATCH_MAX ? PENDING_REST_MS : AT_ONCE);
    assert_int_equal(stats_of(&queueing).queued, MANY);
    pending_close(queueing.pending);
    while (pending_take(queueing.pending, batches)) {
        for (size_t i = 0; i < batches->n; i++)
            batches->changes[i].end = BATCH_MADE;
        pending_end(queueing.pending, batches);
    }
    queueing_tear_down(&queueing);
    return stats.queued_bytes;
}

/* The keys have 13 bytes, and with the table's name 15; the ETag 46. */
static void a_held_delete_takes_so_many_bytes(void **state)
{
    (void)state;
    size_t change = sizeof(struct record) + sizeof(struct queued) + 15 + 46;
    size_t partition = sizeof(struct partition) + 9;
    assert_int_equal(hold_many(1000), MANY * change + MANY / 1000 * partition);
    assert_int_equal(hold_many(1), MANY * (change + partition));
    assert_true(sizeof(struct record) <= 96);
    assert_true(sizeof(struct queued) <= 88);
    assert_true(sizeof(struct partition) <= 192);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_changes_have_no_limit_of_a_partition),
        cmocka_unit_test(a_place_in_a_partition_does_not_wait_for_what_was_held),
        cmocka_unit_test(held_changes_have_no_limit_of_partitions),
        cmocka_unit_test(who_needs_room_sends_what_is_held),
        cmocka_unit_test(an_eighth_of_the_room_is_kept_for_others),
        cmocka_unit_test(a_table_whose_deletes_have_filled_the_room_holds_none),
        cmocka_unit_test(a_held_delete_takes_so_many_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
