/* SPDX-License-Identifier: MIT */
/* Held changes: what makes a partition held, what is sent of it, and when its hold ends. */
#include "tests/unit/cache/queue/holding.h"
#include "tests/unit/failing_memory.h"

static void a_held_delete_is_seen_and_not_sent(void **state)
{
    struct queueing *queueing = *state;
    struct position position;
    struct entity row;
    assert_int_equal(holds_of(queueing), 0);
    hold_deletes(queueing, MINE, "p", 1, 1);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(stats_of(queueing).queued, 1);
    assert_int_equal(pending_next(queueing->pending, "T", RANGE_ALL, &row, &position),
                     OVERLAID_GONE);
    assert_bytes(position_bytes(&position), ROW_AT("p", "00001"));
    assert_true(pending_is_changing_in(queueing->pending, "T"));
    assert_int_equal(due_ms(queueing), NEVER);
    hold_deletes(queueing, MINE, "p", 2, PENDING_BATCH_MAX); /* more than a batch */
    assert_int_equal(due_ms(queueing), NEVER);
}

static void a_hold_ends_5_s_after_its_last_delete(void **state)
{
    struct queueing *queueing = *state;
    hold_deletes(queueing, MINE, "p", 1, 2);
    queueing->now_ms = 4000;
    hold_deletes(queueing, MINE, "q", 1, 1);
    queueing->now_ms = 8999;
    hold_deletes(queueing, OTHERS, "p", 3, 1); /* whichever process */
    queueing->now_ms = 8999 + DELETE_POLICY_REST_MS - 1;
    look_at_holds(queueing);
    assert_int_equal(due_ms(queueing), NEVER);
    queueing->now_ms++;
    assert_true(pending_take(queueing->pending, batches));
    assert_int_equal(holds_of(queueing), 0);
    assert_batch(batches, "p", "1 2 3");
    end_made(queueing, batches);
    send_one(queueing, "q", "1");
}

static void *take_one(void *context)
{
    assert_true(pending_take(((struct queueing *)context)->pending, batches));
    return NULL;
}

/* It waits without a limit when the hold begins, and no change wakes it at the end. */
static void a_thread_that_takes_sees_the_end_of_a_hold(void **state)
{
    struct queueing *queueing = *state;
    pthread_t taker;
    assert_int_equal(pthread_create(&taker, NULL, take_one, queueing), 0);
    hold_deletes(queueing, MINE, "p", 1, 1);
    queueing->now_ms = DELETE_POLICY_REST_MS - 10;
    hold_deletes(queueing, MINE, "q", 1, 1);
    queueing->now_ms = 2 * DELETE_POLICY_REST_MS - 20;
    queue_one(queueing, "U", MINE, B("p\0r"), true); /* a new hold: it sees when T's ends */
    queueing->now_ms += 10;
    assert_int_equal(pthread_join(taker, NULL), 0);
    assert_batch(batches, "p", "1");
    end_made(queueing, batches);
}

/* Deletes without a rest, 60 s long. */
static void a_hold_ends_a_minute_after_its_begin(void **state)
{
    struct queueing *queueing = *state;
    int row = 0;
    for (; queueing->now_ms < PENDING_HOLD_MAX_MS; queueing->now_ms += 3000) {
        look_at_holds(queueing);
        hold_deletes(queueing, MINE, "p", row++, 1);
        assert_int_equal(due_ms(queueing), NEVER);
    }
    queueing->now_ms = PENDING_HOLD_MAX_MS - 1;
    look_at_holds(queueing);
    assert_int_equal(due_ms(queueing), NEVER);
    queueing->now_ms++;
    look_at_holds(queueing);
    hold_deletes(queueing, MINE, "q", 0, 1); /* the next hold */
    send_one(queueing, "p", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19");
    assert_int_equal(due_ms(queueing), NEVER);
}

static void a_hold_is_kept(void **state)
{
    struct queueing *queueing = *state;
    pending_hold_again(queueing->pending, "T", 30000); /* there is none */
    assert_int_equal(holds_of(queueing), 0);
    hold_deletes(queueing, MINE, "p", 1, 1);
    pending_hold_again(queueing->pending, "T", 30000);
    pending_hold_again(queueing->pending, "U", 90000);
    hold_deletes(queueing, MINE, "p", 2, 1);
    queueing->now_ms = 29999;
    look_at_holds(queueing);
    assert_int_equal(due_ms(queueing), NEVER);
    queueing->now_ms++;
    look_at_holds(queueing);
    send_one(queueing, "p", "1 2");
}

/* As the rmdir of the table does it. */
static void what_is_left_of_a_hold_is_held_again(void **state)
{
    struct queueing *queueing = *state;
    hold_deletes(queueing, MINE, "p", 0, PENDING_BATCH_MAX + 1);
    hold_deletes(queueing, MINE, "q", 1, 1);
    queue_deletes(queueing, "r", 1, 1); /* was never held */
    end_hold(queueing, "T");
    assert_false(pending_has_hold(queueing->pending, "T"));
    assert_int_equal(due_ms(queueing), AT_ONCE);
    take(queueing, batches);
    pending_hold_again(queueing->pending, "T", 30000);
    assert_true(pending_has_hold(queueing->pending, "T"));
    assert_true(pending_is_consistent(queueing->pending));
    end_made(queueing, batches); /* it went on */
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "r", "1");
    assert_int_equal(due_ms(queueing), NEVER);
    end_hold(queueing, "T");
    send_one(queueing, "p", "100");
    send_one(queueing, "q", "1");
    assert_int_equal(holds_of(queueing), 0);
}

/* More than end at once, while other threads wait. */
static void a_hold_of_many_partitions_ends_little_by_little(void **state)
{
    struct queueing *queueing = *state;
    enum { MANY = 9000 };
    char partition[16];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(partition, sizeof(partition), "p%05d", i);
        hold_deletes(queueing, MINE, partition, 1, 1);
    }
    queueing->now_ms = PENDING_REST_MS;
    pending_end_hold(queueing->pending, "T");
    int looks = 0;
    for (; pending_has_hold(queueing->pending, "T"); looks++)
        look_at_holds(queueing);
    assert_int_equal(looks, 3);
    pending_hold_again(queueing->pending, "T", 30000);
    assert_int_equal(due_ms(queueing), NEVER);
    end_hold(queueing, "T");
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
}

/* A second after its queueing, as every other change. */
static void the_end_of_a_hold(void **state)
{
    struct queueing *queueing = *state;
    end_hold(queueing, "T"); /* there is none */
    hold_deletes(queueing, MINE, "p", 1, 2);
    queueing->now_ms = 400;
    hold_deletes(queueing, OTHERS, "q", 1, 1);
    assert_int_equal(holds_of(queueing), 1);
    end_hold(queueing, "U");
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), NEVER);
    end_hold(queueing, "T");
    assert_int_equal(holds_of(queueing), 0);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    hold_deletes(queueing, MINE, "r", 1, 1); /* a new one begins */
    assert_int_equal(holds_of(queueing), 1);
    queueing->now_ms = PENDING_REST_MS + 400;
    send_one(queueing, "p", "1 2");
    send_one(queueing, "q", "1");
    assert_int_equal(due_ms(queueing), NEVER);
    assert_int_equal(pending_partitions(queueing->pending), 1);
}

/* A hold that ends may leave more batches than can be sent in the time that a caller has. */
static void what_a_caller_waits_for_goes_first(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 1);
    hold_deletes(queueing, MINE, "q", 1, 1);
    queueing->now_ms = 500;
    hold_deletes(queueing, MINE, "p", 2, 1);
    queue_deletes(queueing, "r", 1, 1);
    queueing->now_ms = 5500;
    look_at_holds(queueing);
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("r", 1, position)};
    start_waiting(queueing, &claimer, 1);
    send_one(queueing, "r", "1");
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, claimer.position);
    send_one(queueing, "p", "1 2");
    send_one(queueing, "q", "1");
}

static void a_claim_sends_its_change_alone(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 5);
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 3, position)};
    start_waiting(queueing, &claimer, 1);
    send_one(queueing, "p", "3");
    assert_int_equal(result_of(&claimer), 0);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), NEVER);
    hold_deletes(queueing, MINE, "p", 6, 1);
    assert_int_equal(due_ms(queueing), NEVER);
    release(queueing, claimer.position);
    end_hold(queueing, "T");
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "p", "1 2 4 5 6");
}

/* The caller waits already when the change is queued. */
static void what_another_caller_waits_for_is_not_kept(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 1);
    claim(queueing, position_of("p", 2, position));
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 2, position)};
    start_waiting(queueing, &claimer, 1);
    struct queued_change change = delete_of(claimer.position);
    change.is_held = true;
    assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)), 0);
    hold_deletes(queueing, MINE, "p", 3, 1);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    send_one(queueing, "p", "2");
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, claimer.position);
    assert_int_equal(due_ms(queueing), NEVER);
}

/* More than go first: the drain has them due, with what was queued before. */
static void a_large_drain_sends_what_was_queued_before_it(void **state)
{
    struct queueing *queueing = *state;
    struct range range = {B("p\0"), ROW_AT("p", "00101")};
    hold_deletes(queueing, MINE, "p", 200, 1);
    hold_deletes(queueing, MINE, "p", 0, PENDING_BATCH_MAX + 1);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = range};
    start_waiting(queueing, &drainer, 1);
    hold_deletes(queueing, MINE, "p", 300, 1);
    take(queueing, batches);
    assert_int_equal(batches->n, PENDING_BATCH_MAX);
    assert_bytes(position_row_key(batches->writes[PENDING_BATCH_MAX - 1].position), B("00200"));
    end_made(queueing, batches);
    send_one(queueing, "p", "99 100");
    assert_int_equal(result_of(&drainer), 0);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), NEVER);
}

/* The range is a part of the partition. */
static void a_small_drain_sends_its_changes_alone(void **state)
{
    struct queueing *queueing = *state;
    struct range range = {ROW_AT("p", "00003"), ROW_AT("p", "00005")};
    hold_deletes(queueing, MINE, "p", 1, 6);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = range};
    start_waiting(queueing, &drainer, 1);
    send_one(queueing, "p", "3 4");
    assert_int_equal(result_of(&drainer), 0);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), NEVER);
}

static void a_drain_sends_what_it_covers(void **state)
{
    struct queueing *queueing = *state;
    struct range range = {B("p\0"), B("p\x01")};
    hold_deletes(queueing, MINE, "p", 1, 3);
    hold_deletes(queueing, MINE, "q", 1, 1);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = range};
    start_waiting(queueing, &drainer, 1);
    hold_deletes(queueing, MINE, "p", 4, 1);
    send_one(queueing, "p", "1 2 3");
    assert_int_equal(result_of(&drainer), 0);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), NEVER);
    struct other all = {.what = OTHER_DRAINS, .range = RANGE_ALL};
    start_waiting(queueing, &all, 1);
    send_one(queueing, "p", "4");
    send_one(queueing, "q", "1");
    assert_int_equal(result_of(&all), 0);
}

static void what_is_put_back_is_sent_again_without_the_rest(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 3);
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 2, position)};
    start_waiting(queueing, &claimer, 1);
    take(queueing, batches);
    assert_batch(batches, "p", "2");
    end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "busy"));
    assert_int_equal(due_ms(queueing), PENDING_AGAIN_MIN_MS);
    queueing->now_ms = PENDING_AGAIN_MIN_MS;
    send_one(queueing, "p", "2");
    assert_int_equal(result_of(&claimer), 0);
    assert_int_equal(due_ms(queueing), NEVER);
    release(queueing, claimer.position);
}

static void a_change_that_is_not_held_ends_the_hold_of_its_partition(void **state)
{
    struct queueing *queueing = *state;
    hold_deletes(queueing, MINE, "p", 1, 1);
    hold_deletes(queueing, MINE, "q", 1, 1);
    queueing->now_ms = 400;
    queue_deletes(queueing, "p", 2, 1);
    assert_int_equal(holds_of(queueing), 1);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS); /* of the first one */
    hold_deletes(queueing, MINE, "p", 3, 1);             /* that does not make it held again */
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "p", "1 2 3");
    assert_int_equal(due_ms(queueing), NEVER);
}

/* The first delete in the range decides, however many of others follow. */
static void whose_deletes_are_held(void **state)
{
    struct queueing *queueing = *state;
    const struct range p = {B("p\0"), B("p\x01")}, q = {B("q\0"), B("q\x01")},
                       prefix = {B("p"), B("r")}, none = {B("a"), B("p")};
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", RANGE_ALL, 10), 0);
    hold_deletes(queueing, MINE, "p", 1, 2);
    hold_deletes(queueing, OTHERS, "q", 1, 1);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", p, 10), 2);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", prefix, 10), 3);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", prefix, 2), 2);
    assert_int_equal(pending_holds(queueing->pending, OTHERS, "T", p, 10), 0);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", q, 10), 0);
    assert_int_equal(pending_holds(queueing->pending, OTHERS, "T", q, 10), 1);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", none, 10), 0);
    assert_int_equal(pending_holds(queueing->pending, MINE, "U", p, 10), 0);
    queue_deletes(queueing, "p", 3, 1);
    assert_int_equal(pending_holds(queueing->pending, MINE, "T", p, 10), 0);
}

static void a_partition_with_queued_changes_is_not_held(void **state)
{
    struct queueing *queueing = *state;
    queue_deletes(queueing, "p", 1, 1);
    hold_deletes(queueing, MINE, "p", 2, 1);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    assert_batch(batches, "p", "1 2");
    hold_deletes(queueing, MINE, "p", 3, 1); /* while a batch is out */
    assert_int_equal(due_ms(queueing), 2 * PENDING_REST_MS);
    end_made(queueing, batches);
    assert_int_equal(due_ms(queueing), 2 * PENDING_REST_MS);
    queueing->now_ms = 2 * PENDING_REST_MS;
    send_due(queueing, batches);
    hold_deletes(queueing, MINE, "p", 4, 1);
    assert_int_equal(due_ms(queueing), NEVER);
}

static void a_held_partition_stays_held_while_a_batch_is_out(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 1);
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 1, position)};
    start_waiting(queueing, &claimer, 1);
    take(queueing, batches);
    hold_deletes(queueing, MINE, "p", 2, 1);
    assert_int_equal(due_ms(queueing), NEVER);
    end_made(queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, claimer.position);
    assert_int_equal(due_ms(queueing), NEVER);
}

static void each_table_has_a_hold(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 1);
    hold_deletes(queueing, OTHERS, "q", 1, 1);
    queueing->now_ms = 100;
    queue_one(queueing, "U", MINE, position_of("p", 1, position), true);
    assert_int_equal(holds_of(queueing), 2);
    queueing->now_ms = DELETE_POLICY_REST_MS;
    look_at_holds(queueing);
    assert_int_equal(holds_of(queueing), 1);
    for (int i = 0; i < 2; i++) {
        take(queueing, batches);
        assert_string_equal(batches->table, "T");
        end_made(queueing, batches);
    }
    assert_int_equal(due_ms(queueing), NEVER);
}

/* Names of tables that begin alike. */
static void a_hold_ends_in_its_table_alone(void **state)
{
    struct queueing *queueing = *state;
    static const char *const tables[] = {"S", "T", "TT"};
    char position[64];
    for (uint64_t i = 0; i < ARRAY_SIZE(tables); i++) {
        queue_one(queueing, tables[i], i, position_of("p", 1, position), true);
        queue_one(queueing, tables[i], i, position_of("q", 1, position), true);
    }
    end_hold(queueing, "T");
    queueing->now_ms = PENDING_REST_MS;
    for (int i = 0; i < 2; i++) {
        take(queueing, batches);
        assert_string_equal(batches->table, "T");
        end_made(queueing, batches);
    }
    assert_int_equal(due_ms(queueing), NEVER);
    assert_int_equal(pending_partitions(queueing->pending), 4);
}

static void there_are_so_many_holds(void **state)
{
    struct queueing *queueing = *state;
    char table[16];
    bool has_ended;
    for (int i = 0; i < PENDING_HOLDS_MAX; i++) {
        (void)snprintf(table, sizeof(table), "T%d", i);
        queue_one(queueing, table, MINE, B("p\0r"), true);
    }
    assert_int_equal(holds_of(queueing), PENDING_HOLDS_MAX);
    assert_int_equal(due_ms(queueing), NEVER);
    assert_true(pending_may_hold(queueing->pending, "T0", &has_ended));
    assert_false(pending_may_hold(queueing->pending, "T", &has_ended) || has_ended);
    hold_deletes(queueing, MINE, "q", 1, 1); /* a thread that had asked before */
    assert_int_equal(holds_of(queueing), PENDING_HOLDS_MAX);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    pending_forget_deletes(queueing->pending, "T0");
    hold_deletes(queueing, MINE, "r", 1, 1); /* there is room for it now */
    assert_int_equal(holds_of(queueing), PENDING_HOLDS_MAX);
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "q", "1");
    assert_int_equal(due_ms(queueing), NEVER);
}

/* It ends with the last change of its table that is queued, held or not. */
static void a_hold_without_changes_is_none(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    hold_deletes(queueing, MINE, "p", 1, 1);
    queue_deletes(queueing, "q", 1, 1);
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 1, position)};
    start_waiting(queueing, &claimer, 1);
    send_one(queueing, "p", "1");
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, claimer.position);
    assert_int_equal(holds_of(queueing), 1);
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "q", "1");
    assert_int_equal(holds_of(queueing), 0);
}

static void without_memory_for_a_hold_a_change_is_not_held(void **state)
{
    struct queueing *queueing = *state;
    struct queued_change change = delete_of(ROW_AT("p", "00001"));
    change.is_held = true;
    for (long i = 1; i <= 3; i++) { /* the change, the partition, the hold */
        claim(queueing, change.write.position);
        allocations_until_failure = i;
        int r = pending_queue(queueing->pending, "T", &change, call_of(queueing));
        assert_int_equal(allocations_until_failure, 0);
        assert_int_equal(r, i < 3 ? -ENOMEM : 0);
        assert_int_equal(holds_of(queueing), 0);
        if (r < 0)
            release(queueing, change.write.position);
    }
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    queueing->now_ms = PENDING_REST_MS;
    send_one(queueing, "p", "1");
}

static void at_the_end_of_the_queue_all_is_sent(void **state)
{
    struct queueing *queueing = *state;
    hold_deletes(queueing, MINE, "p", 1, 2);
    hold_deletes(queueing, OTHERS, "q", 1, 1);
    pending_close(queueing->pending);
    hold_deletes(queueing, MINE, "r", 1, 1); /* is not held any more */
    send_one(queueing, "p", "1 2");
    send_one(queueing, "r", "1");
    send_one(queueing, "q", "1");
    assert_false(pending_take(queueing->pending, batches));
}

static void count_abandoned(void *context, struct address address, const struct batched *change)
{
    assert_string_equal(address.table, "T");
    assert_int_equal(change->end, BATCH_FAILED);
    assert_int_equal(change->failure.error, -ETIMEDOUT);
    ++*(int *)context;
}

static void what_was_held_can_be_abandoned(void **state)
{
    struct queueing *queueing = *state;
    int count = 0;
    hold_deletes(queueing, MINE, "p", 1, 2);
    hold_deletes(queueing, OTHERS, "q", 1, 1);
    pending_close(queueing->pending);
    pending_stop(queueing->pending);
    assert_false(pending_take(queueing->pending, batches));
    pending_abandon(queueing->pending, count_abandoned, &count);
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(held_queue, a_held_delete_is_seen_and_not_sent),
        TEST_WITH(queue, a_hold_ends_5_s_after_its_last_delete),
        TEST_WITH(held_queue, a_thread_that_takes_sees_the_end_of_a_hold),
        TEST_WITH(held_queue, a_hold_ends_a_minute_after_its_begin),
        TEST_WITH(queue, a_hold_is_kept),
        TEST_WITH(queue, what_is_left_of_a_hold_is_held_again),
        TEST_WITH(held_queue, a_hold_of_many_partitions_ends_little_by_little),
        TEST_WITH(held_queue, the_end_of_a_hold),
        TEST_WITH(queue, what_a_caller_waits_for_goes_first),
        TEST_WITH(queue, a_claim_sends_its_change_alone),
        TEST_WITH(held_queue, what_another_caller_waits_for_is_not_kept),
        TEST_WITH(held_queue, a_large_drain_sends_what_was_queued_before_it),
        TEST_WITH(held_queue, a_small_drain_sends_its_changes_alone),
        TEST_WITH(queue, a_drain_sends_what_it_covers),
        TEST_WITH(held_queue, what_is_put_back_is_sent_again_without_the_rest),
        TEST_WITH(held_queue, a_change_that_is_not_held_ends_the_hold_of_its_partition),
        TEST_WITH(held_queue, whose_deletes_are_held),
        TEST_WITH(held_queue, a_partition_with_queued_changes_is_not_held),
        TEST_WITH(held_queue, a_held_partition_stays_held_while_a_batch_is_out),
        TEST_WITH(held_queue, each_table_has_a_hold),
        TEST_WITH(held_queue, a_hold_ends_in_its_table_alone),
        TEST_WITH(held_queue, there_are_so_many_holds),
        TEST_WITH(queue, a_hold_without_changes_is_none),
        TEST_WITH(queue, without_memory_for_a_hold_a_change_is_not_held),
        TEST_WITH(queue, at_the_end_of_the_queue_all_is_sent),
        TEST_WITH(queue, what_was_held_can_be_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
