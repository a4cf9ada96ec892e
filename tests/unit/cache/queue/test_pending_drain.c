/* SPDX-License-Identifier: MIT */
/* Drains: what they make due, what they wait for, which failure they report; and the end of all. */
#include "tests/unit/cache/queue/queueing.h"
#include "tests/unit/pending_limits.h"

static struct write_batch batches[4], younger;

#define ROWS_OF(partition) ((struct range){B(partition "\0"), B(partition POSITION_AFTER)})

static int drain(struct queueing *queueing, const char *table, struct range range)
{
    return drain_and_tell(queueing->pending, table, range, 0, call_of(queueing));
}

static struct other drainer_of(const char *table, struct range range)
{
    return (struct other){.what = OTHER_DRAINS, .table = table, .range = range};
}

/* In table U. */
static void queue_elsewhere(struct queueing *queueing)
{
    struct queued_change change = delete_of(B("p\0elsewhere"));
    assert_int_equal(
        pending_claim(queueing->pending, "U", &change.write.position, 1, call_of(queueing)), 0);
    assert_int_equal(pending_queue(queueing->pending, "U", &change, call_of(queueing)), 0);
}

/* The batches that are due at once, without the end of the time of the others: their partitions.
 */
static void assert_due(struct queueing *queueing, const char *partitions)
{
    for (size_t i = 0; i < strlen(partitions); i++) {
        take(queueing, &batches[i]);
        assert_bytes(position_partition_key(batches[i].writes[0].position),
                     (struct bytes){partitions + i, 1});
    }
    assert_true(due_ms(queueing) > queueing->now_ms);
}

static void end_all(struct queueing *queueing, size_t n)
{
    for (size_t i = 0; i < n; i++)
        end_made(queueing, &batches[i]);
}

static void send_rest(struct queueing *queueing)
{
    queueing->now_ms += PENDING_REST_MS;
    send_due(queueing, batches);
}

static void a_drain_of_nothing_is_done(void **state)
{
    struct queueing *queueing = *state;
    assert_int_equal(drain(queueing, "T", RANGE_ALL), 0);
    assert_int_equal(drain(queueing, NULL, RANGE_ALL), 0);
    queue_deletes(queueing, "p", 0, 1);
    queue_elsewhere(queueing);
    assert_int_equal(drain(queueing, "T", ROWS_OF("q")), 0);
    assert_int_equal(drain(queueing, "S", RANGE_ALL), 0);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    claim(queueing, B("q\0x")); /* a claim is not queued */
    assert_int_equal(drain(queueing, "T", ROWS_OF("q")), 0);
    release(queueing, B("q\0x"));
    send_rest(queueing);
}

static void a_drain_waits_for_its_range(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        struct range range;
        const char *due;
    } cases[] = {
        {"T", {B("a\0"), B("a" POSITION_AFTER)}, "a"},
        {"T", {B("b\0"), B("d")}, "bc"},
        {"T", {B("c"), B("d")}, "c"},
        {"T", {B("c"), B(POSITION_END)}, "cd"},
        {"T", {B(""), B(POSITION_END)}, "abcd"},
        {NULL, {B(""), B(POSITION_END)}, "abcdp"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct queueing queueing;
        struct other drainer = drainer_of(cases[i].table, cases[i].range);
        size_t n = strlen(cases[i].due);
        queueing_set_up(&queueing, no_limits);
        queue_deletes(&queueing, "d", 0, 2);
        queue_deletes(&queueing, "b", 0, 2);
        queue_deletes(&queueing, "c", 0, 2);
        queue_deletes(&queueing, "a", 0, 2);
        queue_elsewhere(&queueing);
        queueing.now_ms = 1;
        start_waiting(&queueing, &drainer, 1);
        if (n <= ARRAY_SIZE(batches)) {
            assert_due(&queueing, cases[i].due);
            assert_false(drainer.is_done);
            end_all(&queueing, n);
        } else {
            send_due(&queueing, batches);
            assert_int_equal(stats_of(&queueing).queued, 0);
        }
        assert_int_equal(result_of(&drainer), 0);
        send_rest(&queueing);
        queueing_tear_down(&queueing);
    }
}

/* A file's fsync: the row goes first, and the oldest with it. */
static void a_drain_of_one_row_waits_for_that_one(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    struct other drainer =
        drainer_of("T", (struct range){ROW_AT("p", "00001"), ROW_AT("p", "00001\x01")});
    limits.batch_writes = 2;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 5, 1);
    queue_deletes(&queueing, "p", 0, 3);
    start_waiting(&queueing, &drainer, 1);
    take(&queueing, &batches[0]);
    take(&queueing, &batches[1]);
    assert_batch(&batches[0], "p", "1 5");
    end_made(&queueing, &batches[1]);
    assert_false(drainer.is_done);
    end_made(&queueing, &batches[0]);
    assert_int_equal(result_of(&drainer), 0);
    queueing_tear_down(&queueing);
}

static void what_is_queued_later_is_not_waited_for(void **state)
{
    (void)state;
    const char *const tables[] = {"T", NULL};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct queueing queueing;
        struct other drainer = drainer_of(tables[i], RANGE_ALL);
        queueing_set_up(&queueing, no_limits);
        queue_deletes(&queueing, "p", 0, 1);
        start_waiting(&queueing, &drainer, 1);
        take(&queueing, &batches[0]);
        queue_deletes(&queueing, "p", 1, PENDING_BATCH_MAX);
        queue_deletes(&queueing, "a", 0, 1);
        take(&queueing, &batches[1]);
        assert_int_equal(batches[1].n, PENDING_BATCH_MAX);
        queueing.now_ms = PENDING_REST_MS;
        take(&queueing, &batches[2]);
        assert_batch(&batches[2], "a", "0");
        assert_false(drainer.is_done);
        end_made(&queueing, &batches[0]);
        assert_int_equal(result_of(&drainer), 0);
        end_made(&queueing, &batches[1]);
        end_made(&queueing, &batches[2]);
        queueing_tear_down(&queueing);
    }
}

static void a_drain_ends_with_its_call(void **state)
{
    struct queueing *queueing = *state;
    struct other late = drainer_of("T", RANGE_ALL), cancelled = drainer_of(NULL, RANGE_ALL);
    queue_deletes(queueing, "p", 0, 1);
    late.call.deadline_ms = 500;
    start_waiting(queueing, &late, 1);
    start_waiting(queueing, &cancelled, 2);
    queueing->now_ms = 500;
    assert_int_equal(result_of(&late), -ETIMEDOUT);
    assert_string_equal(late.call.failure.message, "queued changes are still being sent: 1");
    cancelled.is_cancelled = true;
    assert_int_equal(result_of(&cancelled), -EINTR);
    send_rest(queueing);
}

/* The drain has seen the time. */
static void wait_for_checks(const struct other *drainer)
{
    int before = drainer->checks;
    while (drainer->checks < before + 2 && !drainer->is_done)
        (void)sched_yield();
}

/* What it waits for puts the deadline off when it ends, and nothing else does. */
static void a_drain_goes_on_while_its_batches_end(void **state)
{
    struct queueing *queueing = *state;
    struct other patient = drainer_of("T", (struct range){B("p"), B("r")}), other = patient;
    queue_deletes(queueing, "p", 0, 1);
    queue_deletes(queueing, "q", 0, 1);
    queue_deletes(queueing, "r", 0, 1);
    queue_elsewhere(queueing);
    patient.call.deadline_ms = other.call.deadline_ms = patient.patience_ms = 5000;
    start_waiting(queueing, &patient, 1);
    start_waiting(queueing, &other, 2); /* without patience */
    queueing->now_ms = 1;
    queue_deletes(queueing, "qq", 0, 1);
    queueing->now_ms = 4000;
    for (int i = 0; i < 4; i++)
        take(queueing, &batches[i]);
    take(queueing, &younger);
    assert_batch(&batches[0], "p", "0");
    assert_batch(&batches[1], "q", "0");
    end_made(queueing, &batches[0]);
    wait_for_checks(&patient);
    queueing->now_ms = 5000;
    assert_int_equal(result_of(&other), -ETIMEDOUT);
    queueing->now_ms = 8999;
    end_made(queueing, &batches[2]);
    end_made(queueing, &batches[3]);
    end_made(queueing, &younger);
    wait_for_checks(&patient);
    assert_false(patient.is_done);
    queueing->now_ms = 9000;
    assert_int_equal(result_of(&patient), -ETIMEDOUT);
    assert_string_equal(patient.call.failure.message, "queued changes are still being sent: 1");
    end_made(queueing, &batches[1]);
}

/* Queues the row, which fails for this reason. */
static void fail_row(struct queueing *queueing, const char *partition, int row, const char *reason)
{
    queue_deletes(queueing, partition, row, 1);
    queueing->now_ms += PENDING_REST_MS;
    take(queueing, batches);
    end_with(queueing, batches, BATCH_FAILED, failure_of(-EACCES, reason));
}

static void texts_stay_kept_when_a_failed_delete_is_told(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    struct bytes key = position_of("p", 1, position);
    struct page *page = row_of(key, B("{}"));
    const struct queued_change text = text_of(key, page);
    queue_change(queueing, &text);
    page_unref(page);
    queueing->now_ms += PENDING_REST_MS;
    take(queueing, batches);
    end_with(queueing, batches, BATCH_FAILED, failure_of(-ESTALE, "text"));
    fail_row(queueing, "p", 0, "delete");
    fail_row(queueing, "q", 0, "elsewhere");
    assert_int_equal(
        pending_report(queueing->pending, REPORT_DELETES, "T", ROWS_OF("p"), call_of(queueing)), 1);
    assert_string_equal(queueing->call.failure.message, "delete");
    assert_int_equal(
        pending_report(queueing->pending, REPORT_DELETES, "T", ROWS_OF("p"), call_of(queueing)), 0);
    assert_int_equal(queueing->call.failure.error, 0);
    assert_int_equal(pending_unreported(queueing->pending), 2);
    assert_int_equal(drain(queueing, "T", ROWS_OF("p")), 1);
    assert_string_equal(queueing->call.failure.message, "text");
    assert_int_equal(pending_unreported(queueing->pending), 1);
}

static void a_failure_is_told_once(void **state)
{
    struct queueing *queueing = *state;
    fail_row(queueing, "p", 0, "first");
    fail_row(queueing, "p", 1, "second");
    fail_row(queueing, "q", 0, "third");
    assert_int_equal(drain(queueing, "U", RANGE_ALL), 0);
    assert_int_equal(drain(queueing, "T", ROWS_OF("o")), 0);
    assert_int_equal(drain(queueing, "T", ROWS_OF("p")), 1);
    assert_int_equal(queueing->call.failure.error, -EACCES);
    assert_string_equal(queueing->call.failure.message, "first");
    assert_int_equal(drain(queueing, "T", ROWS_OF("p")), 0); /* the second is forgotten with it */
    assert_int_equal(queueing->call.failure.error, 0);
    assert_int_equal(drain(queueing, NULL, RANGE_ALL), 1);
    assert_string_equal(queueing->call.failure.message, "third");
    assert_int_equal(drain(queueing, NULL, RANGE_ALL), 0);
    fail_row(queueing, "p", 0, "left"); /* nothing is left behind */
}

static void a_failure_is_told_by_the_drain_that_waits_for_it(void **state)
{
    struct queueing *queueing = *state;
    struct other drainer = drainer_of("T", ROWS_OF("p"));
    queue_deletes(queueing, "p", 0, 3);
    start_waiting(queueing, &drainer, 1);
    take(queueing, batches);
    for (int i = 0; i < 3; i++)
        batches->changes[i].end = i == 1 ? BATCH_FAILED : BATCH_MADE;
    batches->changes[1].failure = failure_of(-ESTALE, "changed");
    pending_end(queueing->pending, batches);
    assert_int_equal(result_of(&drainer), 1);
    assert_int_equal(drainer.call.failure.error, -ESTALE);
    assert_string_equal(drainer.call.failure.message, "changed");
    assert_int_equal(drain(queueing, NULL, RANGE_ALL), 0);
}

static void of_many_failures_the_last_are_kept(void **state)
{
    struct queueing *queueing = *state;
    char reason[16];
    for (int i = 0; i <= PENDING_FAILURES_MAX; i++) {
        (void)snprintf(reason, sizeof(reason), "%d", i);
        fail_row(queueing, "p", i, reason);
    }
    assert_int_equal(
        drain(queueing, "T", (struct range){ROW_AT("p", "00000"), ROW_AT("p", "00000\x01")}), 0);
    assert_int_equal(drain(queueing, "T", ROWS_OF("p")), 1);
    assert_string_equal(queueing->call.failure.message, "1");
}

static void *take_until_the_end(void *context)
{
    struct queueing *queueing = context;
    struct write_batch *batch = calloc(1, sizeof(*batch));
    size_t *taken = calloc(1, sizeof(*taken));
    while (pending_take(queueing->pending, batch)) {
        *taken += batch->n;
        for (size_t i = 0; i < batch->n; i++)
            batch->changes[i].end = BATCH_MADE;
        pending_end(queueing->pending, batch);
    }
    free(batch);
    return taken;
}

static void after_the_close_all_is_sent(void **state)
{
    struct queueing *queueing = *state;
    pthread_t thread;
    void *taken;
    queue_deletes(queueing, "p", 0, 3);
    queue_deletes(queueing, "q", 0, 3);
    assert_int_equal(pthread_create(&thread, NULL, take_until_the_end, queueing), 0);
    pending_close(queueing->pending); /* without the end of any time */
    pending_wait_empty(queueing->pending, DEADLINE_MS);
    assert_int_equal(stats_of(queueing).queued, 0);
    assert_int_equal(pthread_join(thread, &taken), 0);
    assert_int_equal(*(size_t *)taken, 6);
    free(taken);
    assert_false(pending_take(queueing->pending, batches));
}

struct visited {
    struct buffer line;
};

static void visit(void *context, struct address address, const struct batched *change)
{
    struct visited *visited = context;
    struct bytes key = position_partition_key(address.position);
    assert_int_equal(change->end, BATCH_FAILED);
    assert_int_equal(change->process, 7);
    (void)buffer_append_format(&visited->line, "%s:%.*s%.5s %s %s;", address.table, (int)key.size,
                               key.data, position_row_key(address.position).data,
                               change->text.page ? "text" : "delete", change->failure.message);
}

static struct failure no_answer(void)
{
    struct failure failure = failure_of(-EIO, "connection refused");
    failure.is_unanswered = true;
    return failure;
}

/* The batches 0 and 1, of the partitions p and q, are being sent. */
static void take_two(struct queueing *queueing)
{
    queueing_set_up(queueing, no_limits);
    queue_deletes(queueing, "p", 0, 1);
    queue_deletes(queueing, "q", 0, 1);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, &batches[0]);
    take(queueing, &batches[1]);
}

static void send_rest_and_tear_down(struct queueing *queueing)
{
    queueing->now_ms += PENDING_AGAIN_MAX_MS;
    send_due(queueing, &batches[0]);
    queueing_tear_down(queueing);
}

/* As when a batch gives up just after the end of an outage. */
static void a_batch_without_an_answer_is_no_stall_if_another_one_had_one(void **state)
{
    (void)state;
    struct queueing queueing;
    const struct failure stall = no_answer();
    take_two(&queueing);
    end_made(&queueing, &batches[1]);
    end_with(&queueing, &batches[0], BATCH_AGAIN, stall);
    assert_false(pending_is_stalled(queueing.pending));
    queueing.now_ms += PENDING_AGAIN_MIN_MS;
    take(&queueing, &batches[0]);
    end_with(&queueing, &batches[0], BATCH_AGAIN, stall);
    assert_true(pending_is_stalled(queueing.pending));
    take(&queueing, &batches[0]); /* due at once, because a caller has asked */
    end_made(&queueing, &batches[0]);
    assert_false(pending_is_stalled(queueing.pending));
    queueing_tear_down(&queueing);
}

static void a_stall_ends_with_an_answer_alone(void **state)
{
    (void)state;
    struct queueing queueing;
    const struct failure stall = no_answer();
    take_two(&queueing);
    end_made(&queueing, &batches[1]);
    queue_deletes(&queueing, "r", 0, 1);
    queueing.now_ms += PENDING_REST_MS;
    take(&queueing, &batches[2]);
    end_with(&queueing, &batches[2], BATCH_AGAIN, stall);
    assert_true(pending_is_stalled(queueing.pending));
    end_with(&queueing, &batches[0], BATCH_AGAIN, stall); /* q was answered while it was out */
    assert_true(pending_is_stalled(queueing.pending));
    send_rest_and_tear_down(&queueing);
}

static void a_batch_that_was_not_sent_is_no_answer(void **state)
{
    (void)state;
    struct queueing queueing;
    const struct failure stall = no_answer();
    take_two(&queueing);
    end_with(&queueing, &batches[1], BATCH_AGAIN, failure_of(-ENOMEM, "out of memory"));
    end_with(&queueing, &batches[0], BATCH_AGAIN, stall);
    assert_true(pending_is_stalled(queueing.pending));
    send_rest_and_tear_down(&queueing);
}

static void what_is_left_at_the_end_is_abandoned(void **state)
{
    struct queueing *queueing = *state;
    struct visited visited = {.line = {.max = 1 << 16}};
    const struct failure stall = no_answer();
    struct page *page = row_of(ROW_AT("p", "00001"), B("text"));
    struct queued_change text = text_of(ROW_AT("p", "00001"), page);
    queue_deletes(queueing, "q", 0, 1);
    queue_change(queueing, &text);
    queue_deletes(queueing, "p", 0, 1);
    page_unref(page);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    end_with(queueing, batches, BATCH_AGAIN, stall);
    pending_close(queueing->pending);
    pending_wait_empty(queueing->pending, queueing->now_ms); /* the deadline has come */
    pending_stop(queueing->pending);
    queueing->now_ms = DEADLINE_MS;
    assert_false(pending_take(queueing->pending, batches));
    pending_abandon(queueing->pending, visit, &visited);
    assert_string_equal(buffer_string(&visited.line),
                        "T:p00001 text connection refused;T:p00000 delete connection refused;"
                        "T:q00000 delete connection refused;");
    buffer_finish(&visited.line);
}

static void count_reason(void *context, struct address address, const struct batched *change)
{
    (void)address;
    assert_int_equal(change->failure.error, -ETIMEDOUT);
    assert_string_equal(change->failure.message, "it was not sent before the end of the mount");
    ++*(int *)context;
}

/* The request of a batch is given up at the end: that is no reason. */
static void what_was_on_its_way_is_abandoned_with_a_reason(void **state)
{
    struct queueing *queueing = *state;
    int abandoned = 0;
    queue_deletes(queueing, "p", 0, 1);
    queue_deletes(queueing, "q", 0, 1);
    pending_close(queueing->pending);
    take(queueing, batches);
    pending_stop(queueing->pending);
    end_with(queueing, batches, BATCH_AGAIN, failure_of(-EINTR, "interrupted"));
    pending_abandon(queueing->pending, count_reason, &abandoned);
    assert_int_equal(abandoned, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(queue, a_drain_of_nothing_is_done),
        cmocka_unit_test(a_drain_waits_for_its_range),
        cmocka_unit_test(a_drain_of_one_row_waits_for_that_one),
        cmocka_unit_test(what_is_queued_later_is_not_waited_for),
        TEST_WITH(queue, a_drain_ends_with_its_call),
        TEST_WITH(queue, a_drain_goes_on_while_its_batches_end),
        TEST_WITH(queue, texts_stay_kept_when_a_failed_delete_is_told),
        TEST_WITH(queue, a_failure_is_told_once),
        TEST_WITH(queue, a_failure_is_told_by_the_drain_that_waits_for_it),
        TEST_WITH(queue, of_many_failures_the_last_are_kept),
        TEST_WITH(queue, after_the_close_all_is_sent),
        cmocka_unit_test(a_batch_without_an_answer_is_no_stall_if_another_one_had_one),
        cmocka_unit_test(a_stall_ends_with_an_answer_alone),
        cmocka_unit_test(a_batch_that_was_not_sent_is_no_answer),
        TEST_WITH(queue, what_is_left_at_the_end_is_abandoned),
        TEST_WITH(queue, what_was_on_its_way_is_abandoned_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
