/* SPDX-License-Identifier: MIT */
/* Requests that the service does not answer, or throttles, beside others that it answers. */
#include "tests/unit/cache/ahead/prefetching.h"

#define SICK 5 /* prefetchers */

/* Each has one request under way or queued: its consumer has looked and gone. */
static void open_sick(struct prefetching *setup, struct prefetcher *sick[SICK])
{
    for (size_t i = 0; i < SICK; i++) {
        sick[i] = open_kind_of(setup, "sick", READ_ROWS, fetching_since_ttl(&setup->fetching));
        look_in_vain(setup, sick[i]);
    }
}

static void leave_sick(struct prefetcher *sick[SICK])
{
    for (size_t i = 0; i < SICK; i++)
        prefetcher_leave(sick[i]);
}

/* With two workers: two requests hang, three wait for them, and another table has all it needs. */
static void hung_requests_leave_the_workers_to_other_tables(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *sick[SICK];
    prefetching_set_up(&setup, 2, (struct fetching_options){0});
    prefetching_add(&setup, 20, 900);
    gate_store_let(setup.fetching.store, 0);
    gate_store_hold_only(setup.fetching.store, "sick");
    open_sick(&setup, sick);
    wait_for_requests(&setup.fetching, 2);
    struct prefetcher *well = open_rows(&setup);
    assert_int_equal(take_all_rows(&setup, well), 20 * 900);
    prefetcher_leave(well);
    assert_names(&setup, open_level(&setup, 4), "p000+ p001+ ");
    while (prefetching_in_flight(&setup) != SICK) /* a request counts until its thread leaves it */
        (void)usleep(500);
    leave_sick(sick);
    prefetching_tear_down(&setup);
}

/* The other table may run ahead as if it were alone. */
static void they_leave_the_window_too(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *sick[SICK];
    prefetching_set_up(&setup, 2, (struct fetching_options){0});
    gate_store_let(setup.fetching.store, 0);
    open_sick(&setup, sick);
    wait_for_requests(&setup.fetching, 2);
    unsigned lane = lane_of(B("sick")), other = lane_of(B("t"));
    assert_int_not_equal(lane, other);
    assert_int_equal(prefetching_in_flight(&setup), SICK);
    assert_int_equal(request_window_idle(setup.window, other), 2);
    assert_int_equal(request_window_idle(setup.window, lane), 0);
    leave_sick(sick);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    wait_for_idle_pool(setup.workers);
    assert_int_equal(prefetching_in_flight(&setup), 0);
    assert_int_equal(request_window_idle(setup.window, lane), 2);
    prefetching_tear_down(&setup);
}

/* The table's only worker sends a request that is throttled until it gives up. A caller that waits
 * for that worker gets the reason. */
static void throttled_is_told_behind_a_slot_too(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item;
    prefetching_set_up(
        &setup, 1,
        (struct fetching_options){.faults = "fail=query:*:503:ServerBusy", .retries = true});
    fetching_add_rows(&setup.fetching, "p", 10);
    struct prefetcher *first = open_rows(&setup), *second = open_rows(&setup);
    look_in_vain(&setup, first);
    assert_int_equal(take_item(&setup, second, &item), -EBUSY);
    assert_int_equal(setup.caller.call.failure.http_status, 503);
    prefetcher_leave(first);
    prefetcher_leave(second);
    prefetching_tear_down(&setup);
}

/* The service throttles the table, and a caller without patience is told so. */
static void be_throttled(struct fetching *fetching)
{
    struct fetch fetch = {.table = "t", .range = {B("p\0"), B("p\x01")}, .top = 1000};
    struct caller caller = fetching_caller(fetching);
    struct page *page;
    bool is_own;
    caller.call.deadline_ms = fetching->now_ms + 400; /* for one repetition */
    assert_int_equal(fetcher_fetch(fetching->fetcher, &caller, &fetch, fetching_since_ttl(fetching),
                                   &page, &is_own),
                     -EBUSY);
}

/* Its own request has not begun when its time ends. */
static void throttled_is_told_where_nothing_was_sent(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item;
    prefetching_set_up(
        &setup, 1,
        (struct fetching_options){.faults = "fail=query:*:503:ServerBusy", .retries = true});
    be_throttled(&setup.fetching);
    gate_store_let(setup.fetching.store, 1);
    struct prefetcher *first = open_rows(&setup), *second = open_rows(&setup);
    look_in_vain(&setup, first);
    wait_for_requests(&setup.fetching, 2);
    struct caller *caller = prefetching_caller(&setup);
    caller->call.deadline_ms = setup.fetching.now_ms + 3000;
    caller->call.is_cancelled = turn_1_s;
    caller->call.context = &setup;
    assert_int_equal(prefetcher_next(second, caller, true, &item), -EBUSY);
    assert_int_equal(caller->call.failure.http_status, 503);
    assert_int_equal(gate_store_arrived(setup.fetching.store), 2);
    prefetcher_leave(first);
    prefetcher_leave(second);
    prefetching_tear_down(&setup);
}

static int throttle(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    int r = call_fail(call, -EBUSY, "the server is busy");
    call->failure.http_status = 503;
    call->failure.is_retryable = true;
    return r;
}

/* The consumer has taken two pages. The request for the third is held, until all pages ahead have
 * come; then it is throttled. */
static void overtake(struct prefetching *setup, struct prefetcher *prefetcher, struct taken *taken)
{
    struct table_store *gate = setup->fetching.store;
    gate_store_let(gate, 2);
    gate_store_hold_below(gate, ROW_AT("p", "02500"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(take_rows(setup, prefetcher, taken), 1);
    while (prefetching_in_flight(setup) > 1 || gate_store_arrived(gate) < 4)
        (void)usleep(500);
    size_t arrived = gate_store_arrived(gate);
    setup->fetching.memory->fault = throttle;
    gate_store_let(gate, GATE_OPEN);
    assert_int_equal(prefetching_asked(setup), arrived); /* nothing is sent before it is needed */
}

static struct prefetcher *set_up_overtaken(struct prefetching *setup, struct taken *taken)
{
    *taken = (struct taken)TAKEN_NONE;
    prefetching_set_up(setup, 4, (struct fetching_options){0});
    fetching_add_rows(&setup->fetching, "p", 20000);
    struct prefetcher *prefetcher = open_rows(setup);
    overtake(setup, prefetcher, taken);
    return prefetcher;
}

static void tear_down_overtaken(struct prefetching *setup, struct prefetcher *prefetcher,
                                struct taken *taken)
{
    prefetcher_leave(prefetcher);
    buffer_finish(&taken->last);
    prefetching_tear_down(setup);
}

static void what_is_throttled_while_others_are_answered_is_sent_again(void **state)
{
    (void)state;
    struct prefetching setup;
    struct taken taken;
    struct prefetcher *prefetcher = set_up_overtaken(&setup, &taken);
    setup.fetching.memory->fault = NULL;
    while (take_rows(&setup, prefetcher, &taken) == 1)
        continue;
    assert_int_equal(taken.rows, 20000); /* no call has failed */
    tear_down_overtaken(&setup, prefetcher, &taken);
}

static void what_is_throttled_while_nothing_is_answered_fails(void **state)
{
    (void)state;
    struct prefetching setup;
    struct taken taken;
    struct prefetcher *prefetcher = set_up_overtaken(&setup, &taken);
    size_t asked = prefetching_asked(&setup);
    assert_int_equal(take_rows(&setup, prefetcher, &taken), -EBUSY);
    assert_int_equal(setup.caller.call.failure.http_status, 503);
    assert_int_equal(prefetching_asked(&setup), asked + 1);
    tear_down_overtaken(&setup, prefetcher, &taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hung_requests_leave_the_workers_to_other_tables),
        cmocka_unit_test(they_leave_the_window_too),
        cmocka_unit_test(throttled_is_told_behind_a_slot_too),
        cmocka_unit_test(throttled_is_told_where_nothing_was_sent),
        cmocka_unit_test(what_is_throttled_while_others_are_answered_is_sent_again),
        cmocka_unit_test(what_is_throttled_while_nothing_is_answered_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
