/* SPDX-License-Identifier: MIT */
/* Prefetchers with a filter that every row matches. */
#include "tests/unit/cache/ahead/prefetching.h"

static struct prefetcher *open_range(struct prefetching *setup, struct range range)
{
    return open_with(setup, &(struct prefetcher_options){.kind = READ_ROWS,
                                                         .table = "t",
                                                         .range = range,
                                                         .filter = "RowKey ge ''",
                                                         .select = "N",
                                                         .is_apart = true});
}

static struct prefetcher *open_filtered(struct prefetching *setup)
{
    return open_range(setup, RANGE_ALL);
}

/* Takes what is left; the caller of each step has its patience anew. How many rows. */
static size_t take_filtered(struct prefetching *setup, struct prefetcher *prefetcher)
{
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    struct scan_item item = {0};
    int r;
    while ((r = take_item(setup, prefetcher, &item)) == 1) {
        for (size_t row = item.rows.begin; row < item.rows.end; row++)
            take_position(&taken, page_position(item.rows.page, row));
        run_finish(&item.rows);
    }
    assert_int_equal(r, 0);
    return taken.rows;
}

static void every_row_comes_once_and_stays_out_of_the_cache(void **state)
{
    (void)state;
    struct prefetching setup;
    _cleanup_(buffer_finish) struct buffer position = {.max = PREFETCHED_MAX};
    prefetching_set_up(&setup, 4, (struct fetching_options){.faults = "short=97"});
    prefetching_add(&setup, 30, 400);
    struct prefetcher *prefetcher = open_filtered(&setup);
    assert_int_equal(take_filtered(&setup, prefetcher), 30 * 400);
    prefetcher_leave(prefetcher);
    prefetching_stop(&setup);
    assert_int_equal(known_at(&setup.fetching, ROW_AT("p0000", "00001"), stamp_since(0), &position),
                     KNOWN_NOT);
    prefetching_tear_down(&setup);
}

/* Twenty pages of 5 s each, which are longer than a caller's patience. */
static void pages_without_rows_are_progress(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(
        &setup, 4, (struct fetching_options){.faults = "empty=20,latency=5000", .retries = true});
    prefetching_add(&setup, 1, 10);
    struct prefetcher *prefetcher = open_range(&setup, (struct range){B("p0000\0"), B("p0000\1")});
    assert_int_equal(take_filtered(&setup, prefetcher), 10);
    assert_int_equal(prefetching_asked(&setup), 21);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* One request, until the consumer waits for what follows. */
static void nothing_is_asked_ahead_of_the_first_page(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 4, (struct fetching_options){0});
    prefetching_add(&setup, 30, 400);
    struct prefetcher *prefetcher = open_filtered(&setup);
    take(&setup, prefetcher);
    assert_int_equal(prefetching_asked(&setup), 1);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

/* The consumer has the failure of the range that it waits for, and all rows when it asks again. */
static void after_a_failure_it_goes_on(void **state)
{
    (void)state;
    struct prefetching setup;
    struct scan_item item = {0};
    int r;
    prefetching_set_up(
        &setup, 4, (struct fetching_options){.faults = "short=50,fail=query:/9:500:InternalError"});
    prefetching_add(&setup, 12, 100);
    struct prefetcher *prefetcher = open_filtered(&setup);
    size_t rows = 0, failures = 0;
    while ((r = prefetcher_next(prefetcher, prefetching_caller(&setup), true, &item)) != 0) {
        if (r < 0) {
            assert_true(++failures < 1000);
            continue;
        }
        rows += item.rows.end - item.rows.begin;
        run_finish(&item.rows);
    }
    assert_int_equal(rows, 12 * 100);
    prefetcher_leave(prefetcher);
    prefetching_tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_comes_once_and_stays_out_of_the_cache),
        cmocka_unit_test(pages_without_rows_are_progress),
        cmocka_unit_test(nothing_is_asked_ahead_of_the_first_page),
        cmocka_unit_test(after_a_failure_it_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
