/* SPDX-License-Identifier: MIT */
/* How far a prefetcher runs ahead of its consumer. With parallelism 1 nothing is guessed, and
 * requests are counted exactly. */
#include "tests/unit/cache/ahead/prefetching.h"

#define PAGES 60

/* 60 pages, and a prefetcher of them. */
static struct prefetcher *set_up_pages(struct prefetching *setup)
{
    prefetching_set_up(setup, 1, (struct fetching_options){0});
    prefetching_add(setup, PAGES, 1000);
    return open_rows(setup);
}

static void assert_asked(struct prefetching *setup, size_t expected)
{
    assert_int_equal(prefetching_asked(setup), expected);
}

/* Requests after a consumer took this many of `pages`: none ahead of the second page, then 2 pages
 * and one more for each page taken. */
static size_t requests_after(size_t taken, size_t pages)
{
    return taken < 2 ? taken : MIN(2 * taken + 2, pages);
}

static void it_starts_slowly(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *prefetcher = set_up_pages(&setup);
    for (size_t taken = 1; taken <= PAGES; taken++) {
        take(&setup, prefetcher);
        assert_asked(&setup, requests_after(taken, PAGES));
    }
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* Of one partition of 200 pages, of which `parallelism` may be in flight. */
static struct prefetcher *set_up_large_partition(struct prefetching *setup, int parallelism)
{
    prefetching_set_up(setup, parallelism, (struct fetching_options){0});
    fetching_add_rows(&setup->fetching, "p", 200 * 200);
    setup->fetching.memory->max_rows = 200;
    return open_rows(setup);
}

/* Takes all items that are there; then all that is in flight is answered at once. Returns how often
 * that was needed. */
static size_t count_round_trips(struct prefetching *setup, struct prefetcher *prefetcher)
{
    struct table_store *store = setup->fetching.store;
    size_t round_trips = 0;
    int r = 1;
    while (r != 0) {
        struct scan_item item = {0};
        struct caller *caller = prefetching_caller(setup);
        caller->call.is_cancelled = is_cancelled_always; /* sends, and does not wait */
        r = prefetcher_next(prefetcher, caller, true, &item);
        run_finish(&item.rows);
        if (r != -EINTR)
            continue;
        gate_store_let(store, gate_store_settle(store));
        (void)gate_store_settle(store);
        round_trips++;
    }
    return round_trips;
}

/* The pages of later pieces wait for those of the first one. They must not keep it from being read
 * by several requests at once. */
static void a_large_partition_is_read_by_all_requests(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *prefetcher = set_up_large_partition(&setup, 8);
    take(&setup, prefetcher);
    take(&setup, prefetcher);
    gate_store_let(setup.fetching.store, 0);
    assert_in_range(count_round_trips(&setup, prefetcher), 200 / 8, 100);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* No more is ahead than what is wanted. */
static void what_the_consumer_wants_is_a_limit(void **state)
{
    (void)state;
    struct prefetching setup;
    struct prefetcher *prefetcher = set_up_pages(&setup);
    struct scan_item item;
    take(&setup, prefetcher);
    take(&setup, prefetcher);
    assert_asked(&setup, 2 + 4);
    prefetcher_want(prefetcher, 5);
    take(&setup, prefetcher); /* 4 more */
    assert_asked(&setup, 3 + 4);
    for (int more = 0; more < 4; more++) /* those that are ahead */
        take(&setup, prefetcher);
    assert_asked(&setup, 7);
    take(&setup, prefetcher); /* wants more than it said: only what it waits for is sent */
    assert_asked(&setup, 8);
    take(&setup, prefetcher);
    assert_asked(&setup, 9);
    prefetcher_want(prefetcher, 5);
    assert_int_equal(prefetcher_next(prefetcher, prefetching_caller(&setup), false, &item),
                     -EAGAIN);
    assert_asked(&setup, 9 + 5);
    take(&setup, prefetcher); /* 4 more, which are ahead */
    take(&setup, prefetcher);
    assert_asked(&setup, 9 + 5);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

static void prefetchers_divide_the_bytes(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item = {0};
    struct prefetcher *first = set_up_pages(&setup);
    assert_int_equal(take_item(&setup, first, &item), 1);
    setup.source.ahead_bytes = 2 * (8 * page_bytes(item.rows.page) + 1);
    run_finish(&item.rows);
    struct prefetcher *second = open_rows(&setup); /* its first page is known */
    for (int taken = 0; taken < 20; taken++)
        take(&setup, second);
    assert_asked(&setup, 20 + 4);
    prefetcher_leave(first);
    take(&setup, second);
    assert_asked(&setup, 21 + 8);
    prefetcher_leave(second);
    prefetching_tear_down(&setup);
}

/* One page is read ahead, also where the limit holds none. */
static void bytes_are_a_limit(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 1, (struct fetching_options){0});
    prefetching_add(&setup, PAGES, 1000);
    setup.source.ahead_bytes = 1;
    struct prefetcher *prefetcher = open_rows(&setup);
    for (size_t taken = 1; taken < 20; taken++) {
        take(&setup, prefetcher);
        assert_asked(&setup, taken == 1 ? 1 : taken + 1);
    }
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* A page tells ten: it is taken when these are. */
static void keys_count_as_the_pages_that_tell_them(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 1, (struct fetching_options){0});
    prefetching_add(&setup, 400, 100);
    struct prefetcher *prefetcher = open_partitions(&setup);
    for (size_t page = 1; page <= 20; page++) {
        for (int key = 0; key < 10; key++)
            take(&setup, prefetcher);
        size_t expected = requests_after(page, 40);
        assert_in_range(prefetching_asked(&setup), expected, expected + 1); /* a tenth is rounded */
    }
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* The partitions from p0020 on are too busy, say. */
static int fail_far(struct memory_store *self, size_t number, struct call *call)
{
    struct bytes lo = buffer_bytes(&self->diary[number - 1].lo);
    return bytes_compare(lo, B("p0020")) >= 0 ? call_fail(call, -EIO, "far") : 0;
}

static void what_fails_ahead_is_told_in_its_place(void **state)
{
    (void)state;
    for (int parallelism = 4; parallelism <= 8; parallelism *= 2) {
        struct prefetching setup;
        _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
        int r;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        prefetching_add(&setup, 40, 1500);
        setup.fetching.memory->fault = fail_far;
        struct prefetcher *prefetcher = open_rows(&setup);
        while ((r = take_rows(&setup, prefetcher, &taken)) == 1)
            continue;
        assert_int_equal(r, -EIO);
        assert_true(taken.rows >= (size_t)20 * 1500);
        (void)prefetching_asked(&setup);
        setup.fetching.memory->fault = NULL;
        while ((r = take_rows(&setup, prefetcher, &taken)) == 1)
            continue;
        assert_int_equal(r, 0);
        assert_int_equal(taken.rows, 40 * 1500);
        prefetcher_leave(prefetcher);
        prefetching_tear_down(&setup);
    }
}

/* --- what hangs ahead */

struct patience {
    struct prefetching *setup;
    int looks;
};

/* A tenth of a second goes by at each look. */
static bool is_waiting_too_long(void *context)
{
    struct patience *patience = context;
    patience->setup->fetching.now_ms += 100;
    return ++patience->looks > 10 * 10;
}

/* Takes rows until a call does not bring any: its result. */
static int take_without_long_waits(struct prefetching *setup, struct prefetcher *prefetcher,
                                   size_t most, size_t *ret_rows)
{
    int r = 1;
    *ret_rows = 0;
    while (r == 1 && *ret_rows < most) {
        struct scan_item item = {0};
        struct patience patience = {setup, 0};
        struct caller *caller = prefetching_caller(setup);
        caller->call.is_cancelled = is_waiting_too_long;
        caller->call.context = &patience;
        r = prefetcher_next(prefetcher, caller, true, &item);
        *ret_rows += item.rows.end - item.rows.begin;
        run_finish(&item.rows);
    }
    return r;
}

static struct prefetcher *set_up_hanging_from(struct prefetching *setup, struct bytes position)
{
    prefetching_set_up(setup, 8, (struct fetching_options){0});
    prefetching_add(setup, 60, 1000);
    gate_store_let(setup->fetching.store, 0);
    gate_store_hold_from(setup->fetching.store, position);
    return open_rows(setup);
}

/* Although they fill the request window. */
static void what_hangs_ahead_does_not_hold_up_what_is_before(void **state)
{
    (void)state;
    struct prefetching setup;
    size_t rows;
    struct prefetcher *prefetcher = set_up_hanging_from(&setup, B("p0030"));
    assert_int_equal(take_without_long_waits(&setup, prefetcher, 30000, &rows), 1);
    assert_int_equal(rows, 30000);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_starts_slowly),
        cmocka_unit_test(a_large_partition_is_read_by_all_requests),
        cmocka_unit_test(what_the_consumer_wants_is_a_limit),
        cmocka_unit_test(prefetchers_divide_the_bytes),
        cmocka_unit_test(bytes_are_a_limit),
        cmocka_unit_test(keys_count_as_the_pages_that_tell_them),
        cmocka_unit_test(what_fails_ahead_is_told_in_its_place),
        cmocka_unit_test(what_hangs_ahead_does_not_hold_up_what_is_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
