/* SPDX-License-Identifier: MIT */
/* Changes on their way through the queue: their states, when a batch is due, and what is in it. */
#include "tests/unit/cache/queue/queueing.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/pending_limits.h"

static struct write_batch batches[3];

#define ROW(number) B("p\0" number)

/* What readers see of the table. */
static enum overlaid look(struct queueing *queueing, struct entity *ret,
                          struct position *ret_position)
{
    return pending_next(queueing->pending, "T", RANGE_ALL, ret, ret_position);
}

static void a_delete_is_seen_from_its_queueing_to_its_end(void **state)
{
    struct queueing *queueing = *state;
    struct position position;
    struct entity row;
    struct queued_change change = delete_of(ROW("00001"));
    claim(queueing, ROW("00001"));
    assert_int_equal(look(queueing, &row, &position), OVERLAID_NOT);
    assert_int_equal(stats_of(queueing).claims, 1);
    assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)), 0);
    assert_int_equal(stats_of(queueing).claims, 0);
    assert_int_equal(stats_of(queueing).queued, 1);
    assert_true(stats_of(queueing).queued_bytes > 0);
    assert_int_equal(pending_partitions(queueing->pending), 1);
    for (int i = 0; i < 2; i++) { /* while it waits, and while it is sent */
        assert_true(pending_has_overlay(queueing->pending));
        assert_true(pending_is_changing(queueing->pending, "T", ROW("00001")));
        assert_true(pending_is_changing_in(queueing->pending, "T"));
        assert_int_equal(look(queueing, &row, &position), OVERLAID_GONE);
        assert_bytes(position_bytes(&position), ROW("00001"));
        queueing->now_ms = PENDING_REST_MS;
        if (i == 0)
            take(queueing, batches);
    }
    assert_string_equal(batches->table, "T");
    assert_batch(batches, "p", "1");
    assert_int_equal(batches->writes[0].kind, WRITE_DELETE);
    assert_bytes(batches->writes[0].if_match, B("etag"));
    assert_int_equal(batches->writes[0].text.size, 0);
    assert_null(batches->changes[0].text.page);
    assert_int_equal(batches->changes[0].process, 7);
    assert_false(batches->changes[0].is_doubtful);
    end_made(queueing, batches);
    assert_int_equal(look(queueing, &row, &position), OVERLAID_NOT);
    assert_false(pending_has_overlay(queueing->pending));
    assert_false(pending_is_changing(queueing->pending, "T", ROW("00001")));
}

static void a_text_is_seen_as_it_was_queued(void **state)
{
    struct queueing *queueing = *state;
    struct position position;
    struct entity row;
    struct page *page = row_of(ROW("00001"), B("text"));
    struct queued_change change = text_of(ROW("00001"), page);
    queue_change(queueing, &change);
    page_unref(page); /* the queue holds it */
    assert_int_equal(look(queueing, &row, &position), OVERLAID_ROW);
    assert_bytes(position_bytes(&position), ROW("00001"));
    assert_bytes(page_text(row.page, row.row), B("text"));
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    assert_int_equal(batches->writes[0].kind, WRITE_INSERT);
    assert_bytes(batches->writes[0].text, B("text"));
    assert_int_equal(batches->writes[0].if_match.size, 0);
    assert_ptr_equal(batches->changes[0].text.page, row.page);
    end_made(queueing, batches);
    assert_bytes(page_text(row.page, row.row), B("text")); /* the reader's */
    entity_finish(&row);
    assert_int_equal(look(queueing, &row, &position), OVERLAID_NOT);
}

static void a_masked_row_stays_masked_while_it_is_queued(void **state)
{
    struct queueing *queueing = *state;
    struct position position;
    struct entity row;
    _cleanup_(page_unrefp) struct page *page = row_of(ROW("00001"), B("text"));
    struct queued_change change = text_of(ROW("00001"), page);
    queue_change(queueing, &change);
    assert_int_equal(pending_mask(queueing->pending, "T", ROW("00001"), B("etag")), 0);
    assert_int_equal(look(queueing, &row, &position), OVERLAID_GONE);
    pending_unmask(queueing->pending, "T", ROW("00001"));
    assert_int_equal(look(queueing, &row, &position), OVERLAID_ROW);
    entity_finish(&row);
    assert_int_equal(pending_mask(queueing->pending, "T", ROW("00001"), B("etag")), 0);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    end_made(queueing, batches);
    assert_int_equal(look(queueing, &row, &position), OVERLAID_GONE);
}

static void what_is_put_back_is_sent_again_in_its_place(void **state)
{
    struct queueing *queueing = *state;
    struct failure lost = {.error = -ETIMEDOUT, .is_ambiguous = true};
    queue_deletes(queueing, "p", 1, 3);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    queue_deletes(queueing, "p", 4, 1);
    batches->changes[1].end = BATCH_MADE;
    batches->again = lost; /* of the first and the third */
    pending_end(queueing->pending, batches);
    assert_int_equal(stats_of(queueing).queued, 3);
    assert_false(pending_is_changing(queueing->pending, "T", ROW("00002")));
    queueing->now_ms = due_ms(queueing);
    take(queueing, batches);
    assert_batch(batches, "p", "1 3 4");
    assert_true(batches->changes[0].is_doubtful);
    assert_true(batches->changes[1].is_doubtful);
    assert_false(batches->changes[2].is_doubtful);
    end_made(queueing, batches);
}

static void a_full_batch_is_due_at_once_and_the_rest_later(void **state)
{
    struct queueing *queueing = *state;
    assert_int_equal(due_ms(queueing), NEVER);
    queueing->now_ms = 100;
    queue_deletes(queueing, "p", 0, PENDING_BATCH_MAX - 1);
    assert_int_equal(due_ms(queueing), 100 + PENDING_REST_MS);
    queueing->now_ms = 300;
    queue_deletes(queueing, "p", 500, 1);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    queueing->now_ms = 400;
    queue_deletes(queueing, "p", 600, 2);
    take(queueing, batches);
    assert_int_equal(batches->n, PENDING_BATCH_MAX);
    assert_int_equal(due_ms(queueing), 400 + PENDING_REST_MS);
    queueing->now_ms = 400 + PENDING_REST_MS;
    take(queueing, batches + 1);
    assert_batch(batches + 1, "p", "600 601");
    end_made(queueing, batches);
    end_made(queueing, batches + 1);
}

static void a_batch_has_the_oldest_changes_in_key_order(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    limits.batch_writes = 2;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 3, 1);
    queue_deletes(&queueing, "p", 1, 1);
    queue_deletes(&queueing, "p", 2, 1);
    take(&queueing, batches);
    assert_batch(batches, "p", "1 3");
    queueing.now_ms = PENDING_REST_MS;
    take(&queueing, batches + 1);
    assert_batch(batches + 1, "p", "2");
    end_made(&queueing, batches + 1);
    end_made(&queueing, batches);
    queueing_tear_down(&queueing);
}

static void the_oldest_partition_comes_first(void **state)
{
    struct queueing *queueing = *state;
    const char *const partitions[] = {"c", "a", "b"};
    for (int i = 0; i < 3; i++) {
        queue_deletes(queueing, partitions[i], i, 1);
        queueing->now_ms++;
    }
    assert_int_equal(pending_partitions(queueing->pending), 3);
    queueing->now_ms = 2 * PENDING_REST_MS;
    for (int i = 0; i < 3; i++) {
        take(queueing, batches + i);
        assert_bytes(position_partition_key(batches[i].writes[0].position),
                     bytes_of(partitions[i]));
    }
    for (int i = 0; i < 3; i++)
        end_made(queueing, batches + i);
}

static void a_batch_is_cut_by_its_bytes(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    static const size_t sizes[] = {400, 500, 101, 5000, 1, 1000};
    static const char *const rows[] = {"0 1", "2", "3", "4", "5"};
    char position[64];
    limits.batch_bytes = 1000;
    queueing_set_up(&queueing, limits);
    for (int i = 0; i < (int)ARRAY_SIZE(sizes); i++) {
        struct queued_change change = delete_of(position_of("p", i, position));
        change.request_bytes = sizes[i];
        queue_change(&queueing, &change);
        assert_int_equal(due_ms(&queueing), i < 2 ? PENDING_REST_MS : AT_ONCE);
    }
    queueing.now_ms = PENDING_REST_MS;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        take(&queueing, batches);
        assert_batch(batches, "p", rows[i]);
        end_made(&queueing, batches);
    }
    queueing_tear_down(&queueing);
}

static void two_batches_of_a_partition_are_out_at_most(void **state)
{
    struct queueing *queueing = *state;
    queue_deletes(queueing, "p", 0, 3 * PENDING_BATCH_MAX);
    take(queueing, batches);
    take(queueing, batches + 1);
    assert_int_equal(due_ms(queueing), NEVER);
    queue_deletes(queueing, "q", 0, 1);
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    end_made(queueing, batches + 1);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    take(queueing, batches + 1);
    assert_bytes(position_partition_key(batches[1].writes[0].position), B("p"));
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches + 2);
    assert_batch(batches + 2, "q", "0");
    for (int i = 0; i < 3; i++)
        end_made(queueing, batches + i);
}

static void an_absent_service_is_tried_again_more_and_more_rarely(void **state)
{
    struct queueing *queueing = *state;
    static const int64_t waits_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000};
    queue_deletes(queueing, "p", 0, PENDING_BATCH_MAX);
    for (int turn = 0; turn < 2; turn++) { /* the second after a batch that was made */
        for (size_t i = 0; i < ARRAY_SIZE(waits_ms); i++) {
            take(queueing, batches);
            end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
            assert_int_equal(due_ms(queueing), queueing->now_ms + waits_ms[i]);
            queueing->now_ms = due_ms(queueing);
        }
        queue_deletes(queueing, "p", 500 * (turn + 1), PENDING_BATCH_MAX);
        take(queueing, batches);
        end_made(queueing, batches);
        assert_true(due_ms(queueing) <= queueing->now_ms);
    }
    send_due(queueing, batches);
}

static void two_batches_that_were_out_together_are_one_attempt(void **state)
{
    struct queueing *queueing = *state;
    static const int64_t waits_ms[] = {1000, 2000, 4000};
    queue_deletes(queueing, "p", 0, 2 * PENDING_BATCH_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(waits_ms); i++) {
        take(queueing, batches);
        take(queueing, batches + 1);
        end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
        assert_int_equal(due_ms(queueing), queueing->now_ms + waits_ms[i]);
        queueing->now_ms += 100; /* the second fails later: the wait begins then */
        end_with(queueing, batches + 1, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
        assert_int_equal(due_ms(queueing), queueing->now_ms + waits_ms[i]);
        queueing->now_ms = due_ms(queueing);
    }
    take(queueing, batches); /* one is made: the failure of the other is the first one */
    take(queueing, batches + 1);
    end_made(queueing, batches);
    end_with(queueing, batches + 1, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    assert_int_equal(due_ms(queueing), queueing->now_ms + waits_ms[0]);
    queueing->now_ms = due_ms(queueing);
    send_due(queueing, batches);
}

/* Neither a full batch, nor a claim, nor a drain within a second comes before that time; the end of
 * all does. */
static void nothing_is_sent_before_the_next_attempt(void **state)
{
    struct queueing *queueing = *state;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW("00000")};
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    queue_deletes(queueing, "p", 0, PENDING_BATCH_MAX);
    take(queueing, batches);
    end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    queue_deletes(queueing, "p", 500, PENDING_BATCH_MAX);
    assert_int_equal(due_ms(queueing), PENDING_AGAIN_MIN_MS);
    start_waiting(queueing, &claimer, 1);
    assert_int_equal(due_ms(queueing), PENDING_AGAIN_MIN_MS);
    start_waiting(queueing, &drainer, 2);
    assert_int_equal(due_ms(queueing), PENDING_AGAIN_MIN_MS);
    pending_close(queueing->pending);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    send_due(queueing, batches);
    assert_int_equal(result_of(&drainer), 0);
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, ROW("00000"));
}

/* A claim waits for the end of a change. That is no sign that the service takes it by now. */
static void a_claim_does_not_shorten_the_wait_and_a_drain_does(void **state)
{
    struct queueing *queueing = *state;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW("00000")};
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    queue_deletes(queueing, "p", 0, 1);
    for (int i = 0; i < 2; i++) {
        queueing->now_ms = due_ms(queueing);
        take(queueing, batches);
        end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    }
    int64_t next_ms = due_ms(queueing);
    assert_int_equal(next_ms, queueing->now_ms + INT64_C(2) * PENDING_AGAIN_MIN_MS);
    queueing->now_ms += PENDING_AGAIN_MIN_MS + 1;
    start_waiting(queueing, &claimer, 1);
    assert_int_equal(due_ms(queueing), next_ms);
    start_waiting(queueing, &drainer, 2);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    send_due(queueing, batches);
    assert_int_equal(result_of(&drainer), 0);
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, ROW("00000"));
}

static void a_claim_makes_due_what_is_queued_there(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    limits.batch_bytes = 2 * REQUEST_BYTES + 1;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW("00001")};
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 0, 2);
    queueing.now_ms = 10;
    assert_int_equal(due_ms(&queueing), PENDING_REST_MS);
    start_waiting(&queueing, &claimer, 1);
    assert_int_equal(due_ms(&queueing), AT_ONCE);
    queue_deletes(&queueing, "p", 2, 1);
    take(&queueing, batches);
    assert_batch(batches, "p", "0 1");
    assert_int_equal(due_ms(&queueing), 10 + PENDING_REST_MS); /* what is younger is not due */
    end_made(&queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    assert_int_equal(stats_of(&queueing).claims, 1);
    release(&queueing, ROW("00001"));
    queueing.now_ms = 10 + PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

static void a_claim_goes_before_what_was_queued_earlier(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    queue_deletes(queueing, "p", 1, PENDING_PARTITION_MAX);
    struct other claimer = {.what = OTHER_CLAIMS,
                            .position = position_of("p", PENDING_PARTITION_MAX, position)};
    start_waiting(queueing, &claimer, 1);
    take(queueing, batches);
    assert_int_equal(batches->n, PENDING_BATCH_MAX); /* the oldest are with it */
    assert_bytes(batches->writes[PENDING_BATCH_MAX - 2].position, ROW("00099"));
    assert_bytes(batches->writes[PENDING_BATCH_MAX - 1].position, claimer.position);
    end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    queueing->now_ms = due_ms(queueing);
    take(queueing, batches); /* it goes first again */
    assert_bytes(batches->writes[PENDING_BATCH_MAX - 1].position, claimer.position);
    assert_false(claimer.is_done);
    end_made(queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    release(queueing, claimer.position);
    pending_close(queueing->pending);
    send_due(queueing, batches);
}

/* It was sent already, and is put back. */
static void a_claim_of_what_is_sent_goes_before_the_others_if_it_is_sent_again(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW("00002")};
    limits.batch_writes = 2;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 1, 2);
    take(&queueing, batches);
    start_waiting(&queueing, &claimer, 1);
    queue_deletes(&queueing, "p", 3, 2);
    end_with(&queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    queueing.pending->limits.batch_writes = 1;
    queueing.now_ms = due_ms(&queueing);
    take(&queueing, batches);
    assert_batch(batches, "p", "2");
    end_made(&queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    release(&queueing, claimer.position);
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

static void what_a_caller_waits_for_comes_first(void **state)
{
    struct queueing *queueing = *state;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW_AT("c", "00001")};
    struct other drainer = {
        .what = OTHER_DRAINS, .table = "T", .range = {B("b\0"), B("b" POSITION_AFTER)}};
    queueing->now_ms = 5000;
    queue_deletes(queueing, "a", 1, 2 * PENDING_BATCH_MAX);
    queue_deletes(queueing, "b", 1, PENDING_BATCH_MAX + 1);
    queue_deletes(queueing, "c", 1, 1);
    start_waiting(queueing, &drainer, 1);
    start_waiting(queueing, &claimer, 2);
    static const char *const expected[] = {"c", "b", "b", "a", "a"};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        take(queueing, batches);
        assert_bytes(position_partition_key(batches->writes[0].position), bytes_of(expected[i]));
        end_made(queueing, batches);
    }
    assert_int_equal(result_of(&claimer), 0);
    assert_int_equal(result_of(&drainer), 0);
    release(queueing, claimer.position);
}

static void partitions_take_turns(void **state)
{
    struct queueing *queueing = *state;
    static const char *const expected[] = {"a", "b", "c", "a", "b", "a"};
    queue_deletes(queueing, "a", 1, 3 * PENDING_BATCH_MAX);
    queue_deletes(queueing, "b", 1, 2 * PENDING_BATCH_MAX);
    queue_deletes(queueing, "c", 1, 1);
    queueing->now_ms = PENDING_REST_MS + 1;
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        take(queueing, batches);
        assert_bytes(position_partition_key(batches->writes[0].position), bytes_of(expected[i]));
        queueing->now_ms++;
        end_made(queueing, batches);
    }
}

/* It waits for the claim of another, which is queued then. */
static void a_claim_that_waited_before_makes_it_due_too(void **state)
{
    struct queueing *queueing = *state;
    struct other claimer = {.what = OTHER_CLAIMS, .position = ROW("00000")};
    struct queued_change change = delete_of(ROW("00000"));
    claim(queueing, ROW("00000"));
    start_waiting(queueing, &claimer, 1);
    assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)), 0);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    take(queueing, batches);
    assert_false(claimer.is_done);
    end_with(queueing, batches, BATCH_AGAIN, failure_of(-EAGAIN, "throttled"));
    queueing->now_ms = due_ms(queueing); /* it is still due, although it was put back */
    assert_int_equal(queueing->now_ms, PENDING_AGAIN_MIN_MS);
    take(queueing, batches);
    end_made(queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    /* what the next owner queues is not due because the one before was */
    assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)), 0);
    assert_int_equal(due_ms(queueing), PENDING_AGAIN_MIN_MS + PENDING_REST_MS);
    queueing->now_ms = due_ms(queueing);
    send_due(queueing, batches);
}

static void without_memory_the_claim_stays(void **state)
{
    struct queueing *queueing = *state;
    struct queued_change change = delete_of(ROW("00000"));
    claim(queueing, ROW("00000"));
    for (int failing = 1; failing <= 2; failing++) {
        allocations_until_failure = failing;
        assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)),
                         -ENOMEM);
        assert_int_equal(allocations_until_failure, 0);
        assert_string_equal(queueing->call.failure.message, "out of memory");
        assert_int_equal(stats_of(queueing).claims, 1);
        assert_int_equal(stats_of(queueing).queued, 0);
        assert_int_equal(stats_of(queueing).queued_bytes, 0);
        assert_int_equal(pending_partitions(queueing->pending), 0);
    }
    allocations_until_failure = 3;
    assert_int_equal(pending_queue(queueing->pending, "T", &change, call_of(queueing)), 0);
    assert_int_equal(allocations_until_failure, 1); /* there is no third one */
    allocations_until_failure = 0;
    queueing->now_ms = PENDING_REST_MS;
    take(queueing, batches);
    allocations_until_failure = 1; /* the failure is in the log alone */
    end_with(queueing, batches, BATCH_FAILED, failure_of(-EACCES, "refused"));
    assert_int_equal(allocations_until_failure, 0);
    assert_int_equal(pending_drain(queueing->pending, "T", RANGE_ALL, 0, call_of(queueing)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(queue, a_delete_is_seen_from_its_queueing_to_its_end),
        TEST_WITH(queue, a_text_is_seen_as_it_was_queued),
        TEST_WITH(queue, a_masked_row_stays_masked_while_it_is_queued),
        TEST_WITH(queue, what_is_put_back_is_sent_again_in_its_place),
        TEST_WITH(queue, a_full_batch_is_due_at_once_and_the_rest_later),
        cmocka_unit_test(a_batch_has_the_oldest_changes_in_key_order),
        TEST_WITH(queue, the_oldest_partition_comes_first),
        cmocka_unit_test(a_batch_is_cut_by_its_bytes),
        TEST_WITH(queue, two_batches_of_a_partition_are_out_at_most),
        TEST_WITH(queue, an_absent_service_is_tried_again_more_and_more_rarely),
        TEST_WITH(queue, two_batches_that_were_out_together_are_one_attempt),
        TEST_WITH(queue, nothing_is_sent_before_the_next_attempt),
        TEST_WITH(queue, a_claim_does_not_shorten_the_wait_and_a_drain_does),
        cmocka_unit_test(a_claim_makes_due_what_is_queued_there),
        TEST_WITH(queue, a_claim_goes_before_what_was_queued_earlier),
        cmocka_unit_test(a_claim_of_what_is_sent_goes_before_the_others_if_it_is_sent_again),
        TEST_WITH(queue, what_a_caller_waits_for_comes_first),
        TEST_WITH(queue, partitions_take_turns),
        TEST_WITH(queue, a_claim_that_waited_before_makes_it_due_too),
        TEST_WITH(queue, without_memory_the_claim_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
