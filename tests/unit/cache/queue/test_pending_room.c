/* SPDX-License-Identifier: MIT */
/* Back-pressure: which change waits for room in the queue, and what it does not wait for. */
#include "tests/unit/cache/queue/queueing.h"
#include "tests/unit/pending_limits.h"

#define MANY 100000

static struct write_batch batches[2];

/* A thread that queues a row that is claimed; position: of 64 bytes. */
static struct other queuer_of(struct queueing *queueing, const char *partition, int row,
                              char *position)
{
    struct bytes bytes = position_of(partition, row, position);
    claim(queueing, bytes);
    return (struct other){.what = OTHER_QUEUES, .change = delete_of(bytes)};
}

/* What deletes in two partitions take of max_bytes. */
static size_t bytes_of_deletes(int in_p, int in_q)
{
    struct queueing queueing;
    queueing_set_up(&queueing, no_limits);
    queue_deletes(&queueing, "p", 0, in_p);
    queue_deletes(&queueing, "q", 0, in_q);
    size_t bytes = stats_of(&queueing).queued_bytes;
    queueing.now_ms = PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
    return bytes;
}

static void the_queue_has_room_for_its_bytes(void **state)
{
    (void)state;
    struct queueing queueing;
    char position[64];
    struct pending_limits limits = no_limits;
    limits.max_bytes = bytes_of_deletes(2, 1);
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 0, 2);
    queue_deletes(&queueing, "q", 0, 1);
    assert_int_equal(stats_of(&queueing).queued_bytes, limits.max_bytes);
    struct other queuer = queuer_of(&queueing, "r", 0, position);
    start_waiting(&queueing, &queuer, 1);
    queueing.now_ms = PENDING_REST_MS;
    take(&queueing, batches); /* what is sent still has its bytes */
    assert_int_equal(stats_of(&queueing).waiting, 1);
    assert_int_equal(stats_of(&queueing).claims, 1);
    end_made(&queueing, batches);
    assert_int_equal(result_of(&queuer), 0);
    assert_int_equal(stats_of(&queueing).claims, 0);
    assert_int_equal(stats_of(&queueing).queued, 2);
    queueing.now_ms = 2 * PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

static void an_empty_queue_has_room_for_every_change(void **state)
{
    (void)state;
    struct queueing queueing;
    char position[64];
    struct pending_limits limits = no_limits;
    limits.max_bytes = 1;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 0, 1);
    struct other queuer = queuer_of(&queueing, "p", 1, position);
    start_waiting(&queueing, &queuer, 1);
    queueing.now_ms = PENDING_REST_MS;
    send_due(&queueing, batches);
    assert_int_equal(result_of(&queuer), 0);
    queueing.now_ms = 2 * PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

static void a_partition_has_room_for_its_waiting_changes(void **state)
{
    struct queueing *queueing = *state;
    char position[64];
    queue_deletes(queueing, "p", 0, PENDING_PARTITION_MAX);
    struct other queuer = queuer_of(queueing, "p", PENDING_PARTITION_MAX, position);
    start_waiting(queueing, &queuer, 1);
    queue_deletes(queueing, "q", 0, 1); /* another partition has room */
    take(queueing, batches);            /* so has this one, as soon as a batch of it is sent */
    assert_int_equal(result_of(&queuer), 0);
    end_made(queueing, batches);
    queueing->now_ms = PENDING_REST_MS;
    send_due(queueing, batches);
}

static void there_is_room_for_so_many_partitions(void **state)
{
    struct queueing *queueing = *state;
    char partition[16], position[64];
    for (int i = 0; i < PENDING_PARTITIONS_MAX; i++) {
        (void)snprintf(partition, sizeof(partition), "p%d", i);
        queue_deletes(queueing, partition, 0, 1);
    }
    assert_int_equal(pending_partitions(queueing->pending), PENDING_PARTITIONS_MAX);
    struct other queuer = queuer_of(queueing, "q", 0, position);
    start_waiting(queueing, &queuer, 1);
    queue_deletes(queueing, "p1", 1, 1); /* one that is there has room */
    take(queueing, batches); /* what is queued is due at once, because a caller waits for a place */
    assert_int_equal(stats_of(queueing).waiting, 1);
    end_made(queueing, batches);
    assert_int_equal(result_of(&queuer), 0);
    assert_int_equal(pending_partitions(queueing->pending), PENDING_PARTITIONS_MAX);
    queueing->now_ms = 2 * PENDING_REST_MS;
    send_due(queueing, batches);
}

/* One partition has a full batch: while it is ready, changes that are less than a batch rest. */
static void a_place_is_made_by_what_is_ready(void **state)
{
    struct queueing *queueing = *state;
    char partition[16], position[64];
    for (int i = 0; i < PENDING_PARTITIONS_MAX - 1; i++) {
        (void)snprintf(partition, sizeof(partition), "p%d", i);
        queue_deletes(queueing, partition, 0, 1);
    }
    queue_deletes(queueing, "full", 0, PENDING_BATCH_MAX);
    struct other queuer = queuer_of(queueing, "q", 0, position);
    start_waiting(queueing, &queuer, 1);
    take(queueing, batches);
    assert_int_equal(batches[0].n, PENDING_BATCH_MAX); /* what is due goes before a full batch */
    end_made(queueing, batches);
    assert_int_equal(result_of(&queuer), 0);
    queueing->now_ms = PENDING_REST_MS;
    send_due(queueing, batches);
}

static void who_finds_no_room_in_time_keeps_its_claim(void **state)
{
    (void)state;
    struct queueing queueing;
    char first[64], second[64];
    struct pending_limits limits = no_limits;
    limits.max_bytes = 1;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 0, 1);
    struct other late = queuer_of(&queueing, "p", 1, first);
    struct other cancelled = queuer_of(&queueing, "p", 2, second);
    late.call.deadline_ms = 500;
    start_waiting(&queueing, &late, 1);
    start_waiting(&queueing, &cancelled, 2);
    queueing.now_ms = 500;
    assert_int_equal(result_of(&late), -ETIMEDOUT);
    assert_string_equal(late.call.failure.message, "the queue of changes was full for too long");
    cancelled.is_cancelled = true;
    assert_int_equal(result_of(&cancelled), -EINTR);
    assert_int_equal(stats_of(&queueing).claims, 2);
    assert_int_equal(stats_of(&queueing).queued, 1);
    release(&queueing, late.change.write.position);
    release(&queueing, cancelled.change.write.position);
    queueing.now_ms = PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

static struct failure stall(void)
{
    struct failure failure = failure_of(-EIO, "connection refused");
    failure.is_unanswered = true;
    failure.is_ambiguous = true;
    failure.operation = 3;
    return failure;
}

static void assert_stalled(struct other *other)
{
    assert_int_equal(result_of(other), -EIO);
    assert_string_equal(other->call.failure.message, "connection refused");
    assert_true(other->call.failure.is_unanswered);
    assert_false(other->call.failure.is_ambiguous); /* nothing was sent for it */
    assert_int_equal(other->call.failure.operation, -1);
}

static void while_the_service_does_not_answer_no_caller_waits(void **state)
{
    (void)state;
    struct queueing queueing;
    char queued[64], full[64], next[64];
    struct pending_limits limits = no_limits;
    limits.max_bytes = 1;
    queueing_set_up(&queueing, limits);
    queue_deletes(&queueing, "p", 0, 1);
    struct other queuer = queuer_of(&queueing, "p", 1, full);
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 0, queued)};
    start_waiting(&queueing, &queuer, 1);
    start_waiting(&queueing, &drainer, 2);
    start_waiting(&queueing, &claimer, 3);
    take(&queueing, batches);
    end_with(&queueing, batches, BATCH_AGAIN, stall());
    assert_stalled(&queuer);
    assert_stalled(&drainer);
    assert_stalled(&claimer);
    /* and those that come now */
    assert_int_equal(pending_queue(queueing.pending, "T", &queuer.change, call_of(&queueing)),
                     -EIO);
    assert_string_equal(queueing.call.failure.message, "connection refused");
    assert_int_equal(pending_drain(queueing.pending, "T", RANGE_ALL, 0, call_of(&queueing)), -EIO);
    assert_int_equal(pending_drain(queueing.pending, NULL, RANGE_ALL, 0, call_of(&queueing)), -EIO);
    struct bytes claimed = position_of("p", 0, queued);
    assert_int_equal(pending_claim(queueing.pending, "T", &claimed, 1, call_of(&queueing)), -EIO);
    assert_string_equal(queueing.call.failure.message, "connection refused");
    /* what has nothing queued is free */
    claim(&queueing, position_of("p", 2, next));
    release(&queueing, position_of("p", 2, next));
    assert_int_equal(pending_drain(queueing.pending, "U", RANGE_ALL, 0, call_of(&queueing)), 0);
    queueing.now_ms = due_ms(&queueing);
    take(&queueing, batches);
    assert_int_equal(batches->n, 1);
    end_made(&queueing, batches); /* the service answers */
    assert_int_equal(pending_queue(queueing.pending, "T", &queuer.change, call_of(&queueing)), 0);
    queueing.now_ms += PENDING_REST_MS;
    send_due(&queueing, batches);
    queueing_tear_down(&queueing);
}

/* The service may be back: at most once a second a call that fails makes the queue try. */
static void a_call_that_fails_makes_the_queue_try_again(void **state)
{
    struct queueing *queueing = *state;
    assert_false(pending_is_stalled(queueing->pending));
    queue_deletes(queueing, "p", 0, PENDING_BATCH_MAX);
    queueing->now_ms = 5000;
    for (int i = 0; i < 4; i++) { /* then the next attempt would be 8 s later */
        take(queueing, batches);
        end_with(queueing, batches, BATCH_AGAIN, stall());
        queueing->now_ms = due_ms(queueing);
    }
    take(queueing, batches);
    end_with(queueing, batches, BATCH_AGAIN, stall());
    int64_t again_ms = queueing->now_ms + 16000;
    assert_int_equal(due_ms(queueing), again_ms);
    assert_int_equal(pending_drain(queueing->pending, "T", RANGE_ALL, 0, call_of(queueing)), -EIO);
    assert_int_equal(due_ms(queueing), AT_ONCE);
    take(queueing, batches);
    end_with(queueing, batches, BATCH_AGAIN, stall());
    again_ms = queueing->now_ms + PENDING_AGAIN_MAX_MS;
    queueing->now_ms += PENDING_AGAIN_MIN_MS - 1;
    assert_true(pending_is_stalled(queueing->pending));
    assert_int_equal(pending_drain(queueing->pending, NULL, RANGE_ALL, 0, call_of(queueing)), -EIO);
    assert_int_equal(due_ms(queueing), again_ms); /* the second has not passed */
    queueing->now_ms++;
    assert_true(pending_is_stalled(queueing->pending));
    assert_int_equal(due_ms(queueing), AT_ONCE);
    send_due(queueing, batches);
    assert_false(pending_is_stalled(queueing->pending));
}

/* Its thread claims one row after the other, and queues a change of every third. */
struct changer {
    struct queueing *queueing;
    int id;
    _Atomic int *queued;
};

static void *change_rows(void *context)
{
    struct changer *self = context;
    char position[64];
    for (int i = 0; i < 500; i++) {
        int row = self->id % 2 ? i % 8 : 7 - i % 8;
        struct bytes bytes = position_of("p", row, position);
        struct call call = {.deadline_ms = DEADLINE_MS};
        struct queued_change change = delete_of(bytes);
        assert_int_equal(pending_claim(self->queueing->pending, "T", &bytes, 1, &call), 0);
        if (i % 3 > 0) {
            pending_release(self->queueing->pending, "T", &bytes, 1);
            continue;
        }
        assert_int_equal(pending_queue(self->queueing->pending, "T", &change, &call), 0);
        ++*self->queued;
    }
    return NULL;
}

static void *send_all(void *context)
{
    struct queueing *queueing = context;
    struct write_batch *batch = calloc(1, sizeof(*batch));
    size_t *sent = calloc(1, sizeof(*sent));
    while (pending_take(queueing->pending, batch)) {
        *sent += batch->n;
        for (size_t i = 0; i < batch->n; i++) {
            assert_true(i == 0 || bytes_compare(batch->writes[i - 1].position,
                                                batch->writes[i].position) < 0);
            batch->changes[i].end = BATCH_MADE;
        }
        pending_end(queueing->pending, batch);
    }
    free(batch);
    return sent;
}

static void threads_claim_queue_and_send(void **state)
{
    (void)state;
    struct queueing queueing;
    struct changer changers[8];
    pthread_t threads[8], senders[3];
    _Atomic int queued = 0;
    size_t all = 0;
    struct pending_limits limits = no_limits;
    limits.max_bytes = bytes_of_deletes(6, 0);
    limits.batch_writes = 3;
    queueing_set_up(&queueing, limits);
    for (size_t i = 0; i < ARRAY_SIZE(senders); i++)
        assert_int_equal(pthread_create(&senders[i], NULL, send_all, &queueing), 0);
    for (int i = 0; i < 8; i++) {
        changers[i] = (struct changer){&queueing, i, &queued};
        assert_int_equal(pthread_create(&threads[i], NULL, change_rows, &changers[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pending_close(queueing.pending);
    for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
        void *sent;
        assert_int_equal(pthread_join(senders[i], &sent), 0);
        all += *(size_t *)sent;
        free(sent);
    }
    assert_int_equal(all, queued);
    assert_int_equal(all, 8 * 167);
    queueing_tear_down(&queueing);
}

/* The next batch, without a look at the whole queue: how many changes it has. */
static size_t send_one(struct queueing *queueing)
{
    if (!pending_take(queueing->pending, batches))
        return 0;
    for (size_t i = 0; i < batches->n; i++)
        batches->changes[i].end = BATCH_MADE;
    pending_end(queueing->pending, batches);
    return batches->n;
}

static void many_changes_stay_below_the_limit(void **state)
{
    (void)state;
    struct queueing queueing;
    struct pending_limits limits = no_limits;
    char partition[32], position[64];
    size_t sent = 0, one = bytes_of_deletes(1, 0) + 80, most = 0;
    limits.max_bytes = (size_t)5 << 20; /* less than a batch for each partition */
    queueing_set_up(&queueing, limits);
    for (int i = 0; i < MANY; i++) {
        struct pending_stats stats;
        (void)snprintf(partition, sizeof(partition), "a-longer-partition-%03d", i % 300);
        struct queued_change change = delete_of(position_of(partition, i, position));
        queue_change(&queueing, &change);
        pending_stats(queueing.pending, &stats);
        most = MAX(most, stats.queued_bytes);
        while (stats.queued_bytes + one > limits.max_bytes) {
            queueing.now_ms += PENDING_REST_MS;
            sent += send_one(&queueing);
            pending_stats(queueing.pending, &stats);
        }
    }
    assert_in_range(most, limits.max_bytes / 2, limits.max_bytes);
    pending_close(queueing.pending);
    for (size_t n = 0; (n = send_one(&queueing)) > 0;)
        sent += n;
    assert_int_equal(sent, MANY);
    queueing_tear_down(&queueing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queue_has_room_for_its_bytes),
        cmocka_unit_test(an_empty_queue_has_room_for_every_change),
        TEST_WITH(queue, a_partition_has_room_for_its_waiting_changes),
        TEST_WITH(queue, there_is_room_for_so_many_partitions),
        TEST_WITH(queue, a_place_is_made_by_what_is_ready),
        cmocka_unit_test(who_finds_no_room_in_time_keeps_its_claim),
        cmocka_unit_test(while_the_service_does_not_answer_no_caller_waits),
        TEST_WITH(queue, a_call_that_fails_makes_the_queue_try_again),
        cmocka_unit_test(threads_claim_queue_and_send),
        cmocka_unit_test(many_changes_stay_below_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
