/* SPDX-License-Identifier: MIT */
/* Which items a prefetcher hands out, what it asks for, and how it reports failures. */
#include "tests/unit/cache/ahead/prefetching.h"

static void all_rows_come_in_order_with(int parallelism)
{
    struct prefetching setup;
    prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "large", 12345);
    prefetching_add(&setup, 60, 123);
    struct prefetcher *prefetcher = open_rows(&setup);
    assert_int_equal(prefetching_in_flight(&setup), 0); /* opening sends nothing */
    assert_int_equal(take_all_rows(&setup, prefetcher), 12345 + 60 * 123);
    struct scan_item item;
    assert_int_equal(take_item(&setup, prefetcher, &item), 0); /* and stays at its end */
    prefetcher_leave(prefetcher);
    prefetching_stop(&setup);
    assert_true(prefetching_asked(&setup) <= 23 + 20); /* 1.15 N/1000 + 20 */
    prefetching_tear_down(&setup);
}

static void all_rows_come_in_order_and_once(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++)
        all_rows_come_in_order_with(parallelism);
}

static void an_empty_table_ends_at_once(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 4, (struct fetching_options){0});
    struct prefetcher *prefetcher = open_rows(&setup);
    assert_int_equal(take_all_rows(&setup, prefetcher), 0);
    assert_int_equal(prefetching_asked(&setup), 1);
    prefetcher_leave(prefetcher);
    assert_names(&setup, open_partitions(&setup), "");
    assert_names(&setup, open_level(&setup, 512), "");
    assert_int_equal(prefetching_asked(&setup), 1); /* it is known to be empty */
    prefetching_tear_down(&setup);
}

static const char five[] = "p0000 p0001 p0002 p0003 p0004 ";

static void known_names_cost_no_request(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct prefetching setup;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        prefetching_add(&setup, 5, 3);
        assert_names(&setup, open_partitions(&setup), five);
        size_t asked = prefetching_asked(&setup);
        assert_true(asked >= 1);
        assert_names(&setup, open_partitions(&setup), five);
        assert_names(&setup, open_level(&setup, 5), five);
        assert_int_equal(prefetching_asked(&setup), asked);
        setup.fetching.now_ms += TTL_MS + 1;
        assert_names(&setup, open_partitions(&setup), five);
        assert_true(prefetching_asked(&setup) > asked);
        prefetching_tear_down(&setup);
    }
}

static void known_prefixes_cost_no_request(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 4, (struct fetching_options){0});
    prefetching_add(&setup, 35, 2);
    static const char expected[] = "p000+ p001+ p002+ p003+ ";
    assert_names(&setup, open_level(&setup, 20), expected);
    size_t asked = prefetching_asked(&setup);
    assert_names(&setup, open_level(&setup, 20), expected);
    assert_int_equal(prefetching_asked(&setup), asked);
    prefetching_tear_down(&setup);
}

/* A prefetcher of 3,500 rows that were all read. */
static struct prefetcher *set_up_read(struct prefetching *setup)
{
    prefetching_set_up(setup, 4, (struct fetching_options){0});
    prefetching_add(setup, 5, 700);
    struct prefetcher *prefetcher = open_rows(setup);
    assert_int_equal(take_all_rows(setup, prefetcher), 3500);
    return prefetcher;
}

static void rows_that_are_known_tell_names(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *prefetcher = set_up_read(&setup);
    size_t asked = prefetching_asked(&setup);
    assert_names(&setup, open_partitions(&setup), five);
    assert_int_equal(prefetching_asked(&setup), asked);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* The names of all partitions, told by rows that are as old as `since` allows. */
static void assert_old_names(struct prefetching *setup, enum read_kind kind)
{
    assert_names(setup, open_kind(setup, kind, stamp_since(0)), five);
}

/* The prefetcher of a level hands out at once what it gets: that does not grow older. */
static void a_level_takes_older_answers(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetcher_leave(set_up_read(&setup));
    size_t asked = prefetching_asked(&setup);
    setup.fetching.now_ms += PREFETCHED_KEPT / 2;
    assert_old_names(&setup, READ_PARTITIONS);
    assert_int_equal(prefetching_asked(&setup), asked);
    setup.fetching.now_ms += PREFETCHED_KEPT / 2;
    assert_old_names(&setup, READ_LEVEL);
    assert_int_equal(prefetching_asked(&setup), asked);
    assert_old_names(&setup, READ_PARTITIONS);
    assert_true(prefetching_asked(&setup) > asked);
    asked = prefetching_asked(&setup);
    setup.fetching.now_ms += PREFETCHED_KEPT + 1;
    assert_old_names(&setup, READ_LEVEL);
    assert_true(prefetching_asked(&setup) > asked);
    prefetching_tear_down(&setup);
}

static int fail_from_fourth(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number >= 4 ? call_fail(call, -EIO, "broken") : 0;
}

DEFINE_FIXTURE(one_slot, struct prefetching,
               prefetching_set_up(test, 1, (struct fetching_options){0}),
               prefetching_tear_down(test))

/* With the second page taken the third and the fourth are requested, and the fourth fails while the
 * third waits for the consumer. The third comes first, then the failure, once; nothing is sent
 * until the consumer goes on. */
static void a_failure_is_told_in_its_place(void **state)
{
    struct prefetching *setup = *state;
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    fetching_add_rows(&setup->fetching, "p", 4500);
    setup->fetching.memory->fault = fail_from_fourth;
    struct prefetcher *prefetcher = open_rows(setup);
    assert_int_equal(take_rows(setup, prefetcher, &taken), 1);
    assert_int_equal(prefetching_asked(setup), 1);
    assert_int_equal(take_rows(setup, prefetcher, &taken), 1);
    assert_int_equal(prefetching_asked(setup), 4);
    assert_int_equal(take_rows(setup, prefetcher, &taken), 1);
    assert_int_equal(taken.rows, 3000);
    assert_int_equal(prefetching_asked(setup), 4);
    assert_int_equal(take_rows(setup, prefetcher, &taken), -EIO);
    assert_string_equal(setup->caller.call.failure.message, "broken");
    assert_int_equal(prefetching_asked(setup), 4);
    assert_int_equal(take_rows(setup, prefetcher, &taken), -EIO); /* a new one */
    assert_int_equal(prefetching_asked(setup), 5);
    setup->fetching.memory->fault = NULL;
    assert_int_equal(take_rows(setup, prefetcher, &taken), 1);
    assert_int_equal(prefetching_asked(setup), 8); /* it runs ahead again: to the end */
    while (take_rows(setup, prefetcher, &taken) == 1)
        continue;
    assert_int_equal(taken.rows, 4500);
    assert_int_equal(prefetching_asked(setup), 8); /* 5 pages, 2 failures, the end */
    prefetcher_leave(prefetcher);
}

/* The failure of a request that was sent ahead is not reported to a consumer that comes much later:
 * the service may answer again. */
static void a_failure_grows_old(void **state)
{
    struct prefetching *setup = *state;
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    fetching_add_rows(&setup->fetching, "p", 4500);
    setup->fetching.memory->fault = fail_from_fourth;
    struct prefetcher *prefetcher = open_rows(setup);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take_rows(setup, prefetcher, &taken), 1);
    assert_int_equal(prefetching_asked(setup), 4); /* the fourth has failed */
    setup->fetching.now_ms += 1001;
    assert_int_equal(take_rows(setup, prefetcher, &taken), -EIO);
    assert_int_equal(prefetching_asked(setup), 5); /* it was sent once more */
    assert_int_equal(take_rows(setup, prefetcher, &taken), -EIO);
    setup->fetching.memory->fault = NULL;
    while (take_rows(setup, prefetcher, &taken) == 1)
        continue;
    assert_int_equal(taken.rows, 4500);
    prefetcher_leave(prefetcher);
}

static int fail_some(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number % 5 == 3 ? call_fail(call, -EIO, "one in five fails") : 0;
}

static void with_many_failures_nothing_is_lost(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct prefetching setup;
        _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
        int r;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        fetching_add_rows(&setup.fetching, "large", 12345);
        prefetching_add(&setup, 60, 123);
        setup.fetching.memory->fault = fail_some;
        struct prefetcher *prefetcher = open_rows(&setup);
        while ((r = take_rows(&setup, prefetcher, &taken)) != 0)
            assert_true(r == 1 || r == -EIO);
        assert_int_equal(taken.rows, 12345 + 60 * 123);
        prefetcher_leave(prefetcher);
        prefetching_tear_down(&setup);
    }
}

static int fail_always(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -ENOENT, "no such table");
}

static void each_call_tells_a_failure_that_lasts(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item;
    prefetching_set_up(&setup, 4, (struct fetching_options){0});
    setup.fetching.memory->fault = fail_always;
    struct prefetcher *rows = open_rows(&setup);
    struct prefetcher *names = open_level(&setup, 5);
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(take_item(&setup, rows, &item), -ENOENT);
        assert_int_equal(take_item(&setup, names, &item), -ENOENT);
        assert_int_equal(setup.caller.call.deadline_ms, /* a failure is no progress */
                         setup.fetching.now_ms + PATIENCE_MS);
    }
    prefetcher_leave(rows);
    prefetcher_leave(names);
    prefetching_tear_down(&setup);
}

/* The gate is shut: before the first answer there is nothing to read ahead, and what is in flight
 * is not sent again. */
static void a_consumer_that_is_interrupted_may_come_back(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct prefetching setup;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        fetching_add_rows(&setup.fetching, "p", 2500);
        gate_store_let(setup.fetching.store, 0);
        struct prefetcher *prefetcher = open_rows(&setup);
        for (int i = 0; i < 3; i++) {
            look_in_vain(&setup, prefetcher);
            assert_int_equal(prefetching_in_flight(&setup), 1);
        }
        gate_store_let(setup.fetching.store, GATE_OPEN);
        assert_int_equal(take_all_rows(&setup, prefetcher), 2500);
        prefetcher_leave(prefetcher);
        if (parallelism == 1) /* else there are guesses where rows may be */
            assert_int_equal(prefetching_asked(&setup), 3);
        prefetching_tear_down(&setup);
    }
}

static int next_now(struct prefetching *setup, struct prefetcher *prefetcher)
{
    struct scan_item item = {0};
    int r = prefetcher_next(prefetcher, prefetching_caller(setup), false, &item);
    assert_int_equal(setup->caller.call.failure.error, 0);
    run_finish(&item.rows);
    return r;
}

/* What it does not wait for is requested as far as the prefetcher may run ahead: nothing before the
 * second page was taken. */
static void a_consumer_that_may_not_wait_takes_what_is_there(void **state)
{
    struct prefetching *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 3500);
    gate_store_let(setup->fetching.store, 0);
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = open_rows(setup);
    assert_int_equal(next_now(setup, prefetcher), -EAGAIN);
    assert_int_equal(prefetching_in_flight(setup), 0);
    look_in_vain(setup, prefetcher);
    assert_int_equal(next_now(setup, prefetcher), -EAGAIN);
    assert_int_equal(prefetching_in_flight(setup), 1);
    gate_store_let(setup->fetching.store, GATE_OPEN);
    assert_int_equal(prefetching_asked(setup), 1);
    assert_int_equal(next_now(setup, prefetcher), 1);
    assert_int_equal(next_now(setup, prefetcher), -EAGAIN);
    assert_int_equal(prefetching_asked(setup), 1);
    take(setup, prefetcher);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(prefetching_asked(setup), 4);
        assert_int_equal(next_now(setup, prefetcher), 1);
    }
    assert_int_equal(next_now(setup, prefetcher), 0);
    assert_int_equal(prefetching_asked(setup), 4);
}

static void a_consumer_waits_until_its_deadline(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item;
    prefetching_set_up(&setup, 2, (struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 2500);
    gate_store_let(setup.fetching.store, 0);
    struct prefetcher *prefetcher = open_rows(&setup);
    struct caller *caller = prefetching_caller(&setup);
    *caller = (struct caller){.call = {.deadline_ms = setup.fetching.now_ms + 1000,
                                       .is_cancelled = turn_1_s,
                                       .context = &setup},
                              .patience_ms = 1000};
    assert_int_equal(prefetcher_next(prefetcher, caller, true, &item), -ETIMEDOUT);
    assert_string_equal(caller->call.failure.message, "no answer in time");
    gate_store_let(setup.fetching.store, GATE_OPEN); /* the request had more time */
    assert_int_equal(take_all_rows(&setup, prefetcher), 2500);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

static void an_answer_puts_the_deadline_off(void **state)
{
    struct prefetching *setup = *state;
    struct scan_item item;
    struct toll toll = {.fetching = &setup->fetching};
    prefetching_add(setup, 600, 20); /* many answers are needed to count them */
    gate_store_let(setup->fetching.store, 0);
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = open_level(setup, 512);
    struct caller *caller = prefetching_caller(setup);
    *caller = (struct caller){.call = {.deadline_ms = setup->fetching.now_ms + 1000,
                                       .is_cancelled = let_next,
                                       .context = &toll},
                              .patience_ms = 1000};
    assert_int_equal(prefetcher_next(prefetcher, caller, true, &item), 1);
    assert_int_equal(item.kind, SCAN_PREFIX);
    assert_true(toll.let > 3);
}

/* Each request has the opener's patience. */
static void a_request_waits_as_long_as_the_opener(void **state)
{
    struct prefetching *setup = *state;
    struct scan_item item;
    fetching_add_rows(&setup->fetching, "p", 2500);
    gate_store_let(setup->fetching.store, 0);
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = open_rows(setup);
    struct caller *caller = prefetching_caller(setup);
    *caller = (struct caller){
        .call = {.deadline_ms = INT64_MAX, .is_cancelled = turn_1_s, .context = setup},
        .patience_ms = INT32_MAX};
    assert_int_equal(prefetcher_next(prefetcher, caller, true, &item), -ETIMEDOUT);
    assert_string_equal(caller->call.failure.message, "too late at the gate");
}

static void what_is_in_flight_ends_when_the_consumer_leaves(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct prefetching setup;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        prefetching_add(&setup, 5, 3000);
        _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
        gate_store_let(setup.fetching.store, 2);
        struct prefetcher *prefetcher = open_rows(&setup);
        assert_int_equal(take_rows(&setup, prefetcher, &taken), 1);
        assert_int_equal(take_rows(&setup, prefetcher, &taken), 1);
        wait_for_requests(&setup.fetching, 3);
        prefetcher_leave(prefetcher);                 /* requests are at the gate */
        worker_pool_destroy(TAKE_PTR(setup.workers)); /* all have ended */
        prefetching_tear_down(&setup);
    }
}

static void a_closing_account_sends_nothing(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item;
    prefetching_set_up(&setup, 2, (struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 5000);
    struct prefetcher *begun = open_rows(&setup);
    struct prefetcher *new = open_rows(&setup);
    gate_store_let(setup.fetching.store, 0);
    look_in_vain(&setup, begun);
    wait_for_requests(&setup.fetching, 1);
    prefetching_stop(&setup); /* ends what is at the gate */
    assert_int_equal(prefetching_asked(&setup), 1);
    assert_int_equal(take_item(&setup, begun, &item), -EINTR); /* what was sent */
    assert_int_equal(take_item(&setup, begun, &item), -EINTR); /* what cannot be */
    assert_int_equal(take_item(&setup, new, &item), -EINTR);
    assert_string_equal(setup.caller.call.failure.message, "the account is closed");
    assert_int_equal(prefetching_asked(&setup), 1);
    prefetcher_leave(begun);
    prefetcher_leave(new);
    prefetching_tear_down(&setup);
}

static void a_full_window_starves_no_consumer(void **state)
{
    (void)state;
    struct prefetching setup;
    unsigned lane = lane_of_table("t");
    prefetching_set_up(&setup, 2, (struct fetching_options){0});
    fetching_add_rows(&setup.fetching, "p", 3500);
    while (request_window_enter(setup.window, lane)) /* other prefetchers send all the time */
        continue;
    struct prefetcher *prefetcher = open_rows(&setup);
    assert_int_equal(take_all_rows(&setup, prefetcher), 3500);
    assert_int_equal(prefetching_asked(&setup), 4); /* one at a time: nothing is guessed */
    prefetcher_leave(prefetcher);
    assert_names(&setup, open_partitions(&setup), "p ");
    for (int i = 0; i < 2; i++)
        request_window_give_back(setup.window, lane);
    prefetching_tear_down(&setup);
}

static void throttling_shrinks_the_window(void **state)
{
    (void)state;
    struct prefetching setup;
    struct request_window_stats stats;
    prefetching_set_up(
        &setup, 8,
        (struct fetching_options){.faults = "fail=query:8:503:ServerBusy", .retries = true});
    prefetching_add(&setup, 20, 1900);
    struct prefetcher *prefetcher = open_rows(&setup);
    assert_int_equal(take_all_rows(&setup, prefetcher), 20 * 1900);
    request_window_stats(setup.window, &stats);
    assert_true(stats.shrunk >= 1);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

static void the_oldest_answer_is_told(void **state)
{
    struct prefetching *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 5000);
    int64_t began_ms = setup->fetching.now_ms;
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = open_rows(setup);
    assert_int_equal(prefetcher_requested_ms(prefetcher), began_ms);
    setup->fetching.now_ms += 100;
    assert_int_equal(prefetcher_requested_ms(prefetcher), began_ms + 100); /* nothing was asked */
    take(setup, prefetcher);
    setup->fetching.now_ms += 100;
    assert_int_equal(take_all_rows(setup, prefetcher), 4000);
    assert_int_equal(prefetcher_requested_ms(prefetcher), began_ms + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_come_in_order_and_once),
        cmocka_unit_test(an_empty_table_ends_at_once),
        cmocka_unit_test(known_names_cost_no_request),
        cmocka_unit_test(known_prefixes_cost_no_request),
        cmocka_unit_test(rows_that_are_known_tell_names),
        cmocka_unit_test(a_level_takes_older_answers),
        TEST_WITH(one_slot, a_failure_is_told_in_its_place),
        TEST_WITH(one_slot, a_failure_grows_old),
        cmocka_unit_test(with_many_failures_nothing_is_lost),
        cmocka_unit_test(each_call_tells_a_failure_that_lasts),
        cmocka_unit_test(a_consumer_that_is_interrupted_may_come_back),
        TEST_WITH(one_slot, a_consumer_that_may_not_wait_takes_what_is_there),
        cmocka_unit_test(a_consumer_waits_until_its_deadline),
        TEST_WITH(one_slot, an_answer_puts_the_deadline_off),
        TEST_WITH(one_slot, a_request_waits_as_long_as_the_opener),
        cmocka_unit_test(what_is_in_flight_ends_when_the_consumer_leaves),
        cmocka_unit_test(a_closing_account_sends_nothing),
        cmocka_unit_test(a_full_window_starves_no_consumer),
        cmocka_unit_test(throttling_shrinks_the_window),
        TEST_WITH(one_slot, the_oldest_answer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
