/* SPDX-License-Identifier: MIT */
/* Prefetchers where no thread can be made: their consumers send by themselves. */
#include "tests/unit/cache/ahead/prefetching.h"
#include "tests/unit/refused_threads.h"

/* Of 9,500 rows. */
static struct prefetcher *set_up_alone(struct prefetching *setup, struct rlimit *before)
{
    prefetching_set_up(setup, 4, (struct fetching_options){0});
    prefetching_add(setup, 5, 1900);
    struct prefetcher *prefetcher = open_rows(setup);
    if (!refuse_threads(before))
        skip();
    return prefetcher;
}

/* The consumer sends by itself, and no more than it waits for. */
static void without_a_thread_everything_comes(void **state)
{
    (void)state;
    struct prefetching setup;
    struct rlimit before;
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    struct prefetcher *prefetcher = set_up_alone(&setup, &before);
    int r = take_rows(&setup, prefetcher, &taken);
    size_t asked = gate_store_arrived(setup.fetching.store);
    while (r == 1)
        r = take_rows(&setup, prefetcher, &taken);
    prefetcher_leave(prefetcher);
    prefetcher = open_level(&setup, 512);
    _cleanup_(buffer_finish) struct buffer names = {.max = PREFETCHED_MAX};
    take_names(&setup, prefetcher, &names);
    allow_threads(&before);
    assert_int_equal(r, 0);
    assert_int_equal(taken.rows, 5 * 1900);
    assert_in_range(asked, 1, 2);
    assert_string_equal(buffer_string(&names), "p0000 p0001 p0002 p0003 p0004 ");
    prefetching_tear_down(&setup);
}

/* A consumer that may not wait is not held up by a request. */
static void without_a_thread_nothing_is_sent_ahead(void **state)
{
    (void)state;
    struct prefetching setup;
    struct rlimit before;
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    struct scan_item item;
    struct prefetcher *prefetcher = set_up_alone(&setup, &before);
    int r = prefetcher_next(prefetcher, prefetching_caller(&setup), false, &item);
    size_t asked = gate_store_arrived(setup.fetching.store);
    for (int i = 0; i < 3; i++)
        (void)take_rows(&setup, prefetcher, &taken);
    prefetcher_run_ahead(prefetcher);
    allow_threads(&before);
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(asked, 0);
    assert_int_equal(gate_store_arrived(setup.fetching.store), 3);
    while ((r = take_rows(&setup, prefetcher, &taken)) == 1)
        continue;
    assert_int_equal(r, 0);
    assert_int_equal(taken.rows, 5 * 1900);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* Then the request is the consumer's own: interrupted with it, and with its deadline. */
static void without_a_thread_a_consumer_is_interrupted(void **state)
{
    (void)state;
    struct prefetching setup;
    struct rlimit before;
    struct scan_item item;
    prefetching_set_up(&setup, 4, (struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 2500);
    gate_store_let(setup.fetching.store, 0);
    struct prefetcher *prefetcher = open_rows(&setup);
    if (!refuse_threads(&before))
        skip();
    struct caller interrupted = fetching_caller(&setup.fetching);
    interrupted.call.is_cancelled = is_cancelled_always;
    int r = prefetcher_next(prefetcher, &interrupted, true, &item);
    struct caller late = fetching_caller(&setup.fetching);
    late.call = (struct call){
        .deadline_ms = setup.fetching.now_ms + 1000, .is_cancelled = turn_1_s, .context = &setup};
    int late_r = prefetcher_next(prefetcher, &late, true, &item);
    allow_threads(&before);
    assert_int_equal(r, -EINTR);
    assert_int_equal(interrupted.call.failure.error, -EINTR);
    assert_int_equal(late_r, -ETIMEDOUT);
    assert_int_equal(late.call.failure.error, -ETIMEDOUT);
    assert_int_equal(gate_store_arrived(setup.fetching.store), 2);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    assert_int_equal(take_all_rows(&setup, prefetcher), 2500); /* that is not reported again */
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* Many answers are needed, each near the deadline. */
static void without_a_thread_an_answer_puts_the_deadline_off(void **state)
{
    (void)state;
    struct prefetching setup;
    struct rlimit before;
    struct scan_item item;
    prefetching_set_up(&setup, 1, (struct fetching_options){0});
    prefetching_add(&setup, 600, 20);
    gate_store_let(setup.fetching.store, 0);
    struct prefetcher *prefetcher = open_level(&setup, 512);
    if (!refuse_threads(&before))
        skip();
    struct toll toll = {.fetching = &setup.fetching};
    struct caller caller = {.call = {.deadline_ms = setup.fetching.now_ms + 1000,
                                     .is_cancelled = let_next,
                                     .context = &toll},
                            .patience_ms = 1000};
    int r = prefetcher_next(prefetcher, &caller, true, &item);
    allow_threads(&before);
    assert_int_equal(r, 1);
    assert_true(gate_store_arrived(setup.fetching.store) > 3);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_thread_everything_comes),
        cmocka_unit_test(without_a_thread_nothing_is_sent_ahead),
        cmocka_unit_test(without_a_thread_a_consumer_is_interrupted),
        cmocka_unit_test(without_a_thread_an_answer_puts_the_deadline_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
