/* SPDX-License-Identifier: MIT */
/* The threads of the queue over a store behind a gate: how many there are, what they send while the
 * service is away and after it, and their end. */
#include "cache/queue/commit_threads.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/cache/queue/batches_fixture.h"
#include "tests/unit/refused_threads.h"

#include <sched.h>

#define LATER_MS INT64_C(1000000000)

static struct setup setup; /* large */
static struct commit_threads *threads;

static void start_threads(struct fetching_options options)
{
    set_up(&setup, options);
    assert_int_equal(commit_threads_create(setup.fetching.pending, &setup.source, &threads), 0);
}

static void end_threads(void)
{
    commit_threads_destroy(threads);
    assert_true(pending_is_consistent(setup.fetching.pending));
    tear_down(&setup);
}

static size_t queued(void)
{
    struct pending_stats stats;
    pending_stats(setup.fetching.pending, &stats);
    return stats.queued;
}

static void queue_delete(const char *partition, int row)
{
    char text[64];
    int size = snprintf(text, sizeof(text), "%s%c%05d", partition, '\0', row);
    struct bytes position = {text, (size_t)size};
    struct caller caller = fetching_caller(&setup.fetching);
    struct queued_change change = {
        .write = {.kind = WRITE_DELETE, .position = position, .if_match = B("etag")},
        .request_bytes = 100};
    struct pending *pending = setup.fetching.pending;
    assert_int_equal(pending_claim(pending, "t", &position, 1, &caller.call), 0);
    assert_int_equal(commit_threads_wake(threads), 0);
    assert_int_equal(pending_queue(pending, "t", &change, &caller.call), 0);
}

static void queue_deletes(const char *partition, int first, int n)
{
    for (int row = first; row < first + n; row++)
        queue_delete(partition, row);
}

static void one_partition_has_two_batches_under_way(void **state)
{
    (void)state;
    start_threads((struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 400);
    gate_store_let(setup.fetching.store, 0);
    queue_deletes("p", 0, 400);
    wait_for_requests(&setup.fetching, 2);
    assert_int_equal(gate_store_settle(setup.fetching.store), 2);
    gate_store_let(setup.fetching.store, 1);
    wait_for_requests(&setup.fetching, 3);
    assert_int_equal(gate_store_settle(setup.fetching.store), 3);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    commit_threads_end(threads, LATER_MS);
    assert_int_equal(queued(), 0);
    assert_told(&setup, "");
    assert_requests(&setup, "W100 W100 W100 W100");
    end_threads();
}

static void many_partitions_have_so_many_batches_under_way(void **state)
{
    (void)state;
    char partition[16];
    start_threads((struct fetching_options){0});
    for (int i = 0; i < 2 * COMMIT_THREADS_MAX; i++) {
        (void)snprintf(partition, sizeof(partition), "p%02d", i);
        fetching_add_rows(&setup.fetching, partition, 100);
    }
    gate_store_let(setup.fetching.store, 0);
    for (int i = 0; i < 2 * COMMIT_THREADS_MAX; i++) {
        (void)snprintf(partition, sizeof(partition), "p%02d", i);
        queue_deletes(partition, 0, 100);
    }
    wait_for_requests(&setup.fetching, COMMIT_THREADS_MAX);
    assert_int_equal(gate_store_settle(setup.fetching.store), COMMIT_THREADS_MAX);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    commit_threads_end(threads, LATER_MS);
    assert_int_equal(queued(), 0);
    assert_int_equal(setup.fetching.memory->asked, 2 * COMMIT_THREADS_MAX);
    assert_told(&setup, "");
    end_threads();
}

static void at_the_end_all_is_sent_at_once(void **state)
{
    (void)state;
    start_threads((struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 3);
    fetching_add_rows(&setup.fetching, "q", 2);
    queue_deletes("p", 0, 3);
    queue_deletes("q", 0, 2);
    commit_threads_end(threads, LATER_MS); /* the clock stands still */
    assert_int_equal(queued(), 0);
    assert_int_equal(setup.fetching.memory->asked, 2);
    commit_threads_end(threads, LATER_MS); /* once more is nothing */
    end_threads();
}

static void count_abandoned(void *context, struct address address, const struct batched *change)
{
    (void)address;
    assert_int_equal(change->failure.error, -ETIMEDOUT);
    assert_string_equal(change->failure.message, "it was not sent before the end of the mount");
    ++*(int *)context;
}

static void a_request_that_hangs_is_given_up_at_the_deadline(void **state)
{
    (void)state;
    int abandoned = 0;
    start_threads((struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 150);
    gate_store_let(setup.fetching.store, 0);
    queue_deletes("p", 0, 150);
    wait_for_requests(&setup.fetching, 1);
    commit_threads_end(threads, setup.fetching.now_ms);
    assert_int_equal(queued(), 150);
    assert_told(&setup, "");
    assert_requests(&setup, "");
    pending_abandon(setup.fetching.pending, count_abandoned, &abandoned);
    assert_int_equal(abandoned, 150);
    assert_int_equal(queued(), 0);
    end_threads();
}

static _Atomic bool is_away;

static int be_away(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)number;
    if (!is_away)
        return 0;
    (void)call_fail(call, -EIO, "connection refused");
    call->failure.is_unanswered = true;
    return -EIO;
}

static int drain(struct call *call)
{
    *call = fetching_caller(&setup.fetching).call;
    return pending_drain(setup.fetching.pending, "t", RANGE_ALL, 0, call);
}

/* Nothing is lost, and nothing is sent twice. */
static void what_waits_for_the_service_is_sent_when_it_is_back(void **state)
{
    (void)state;
    struct call call;
    start_threads((struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 250);
    setup.fetching.memory->fault = be_away;
    is_away = true;
    gate_store_let(setup.fetching.store, 0);
    queue_deletes("p", 0, 250);
    wait_for_requests(&setup.fetching, 2);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    while (drain(&call) != -EIO) /* until the first batch has failed */
        (void)sched_yield();
    assert_string_equal(call.failure.message, "connection refused");
    (void)gate_store_settle(setup.fetching.store);
    assert_int_equal(queued(), 250);
    memory_store_forget_diary(setup.fetching.memory);
    is_away = false;
    setup.fetching.now_ms += PENDING_AGAIN_MIN_MS;
    (void)drain(&call); /* it has the queue try again */
    while (drain(&call) < 0)
        setup.fetching.now_ms += PENDING_AGAIN_MIN_MS;
    assert_int_equal(queued(), 0);
    assert_told(&setup, "");
    assert_int_equal(setup.fetching.memory->asked, 3); /* two at once, in any order */
    end_threads();
}

static void without_threads_nothing_may_be_queued(void **state)
{
    (void)state;
    struct rlimit before;
    start_threads((struct fetching_options){0});
    if (!refuse_threads(&before))
        skip();
    int r = commit_threads_wake(threads);
    allow_threads(&before);
    assert_int_equal(r, -EAGAIN);
    fetching_add_rows(&setup.fetching, "p", 1);
    queue_delete("p", 0); /* a later one finds threads */
    commit_threads_end(threads, LATER_MS);
    assert_requests(&setup, "W1");
    end_threads();
}

static void one_thread_must_do(void **state)
{
    (void)state;
    struct rlimit before;
    start_threads((struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 100);
    queue_delete("p", 0);
    if (!refuse_threads(&before))
        skip();
    int r = commit_threads_wake(threads);
    allow_threads(&before);
    assert_int_equal(r, 0);
    commit_threads_end(threads, LATER_MS);
    assert_int_equal(queued(), 0);
    end_threads();
}

static void threads_that_have_nothing_to_do_end(void **state)
{
    (void)state;
    start_threads((struct fetching_options){0});
    end_threads();
    start_threads((struct fetching_options){0});
    assert_int_equal(commit_threads_wake(threads), 0);
    end_threads();
    commit_threads_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_partition_has_two_batches_under_way),
        cmocka_unit_test(many_partitions_have_so_many_batches_under_way),
        cmocka_unit_test(at_the_end_all_is_sent_at_once),
        cmocka_unit_test(a_request_that_hangs_is_given_up_at_the_deadline),
        cmocka_unit_test(what_waits_for_the_service_is_sent_when_it_is_back),
        cmocka_unit_test(without_threads_nothing_may_be_queued),
        cmocka_unit_test(one_thread_must_do),
        cmocka_unit_test(threads_that_have_nothing_to_do_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
