/* SPDX-License-Identifier: MIT */
/* A reader goes to positions. With parallelism 1 nothing is guessed, and requests are counted
 * exactly. */
#include "cache/ahead/row_reader.h"
#include "tests/unit/cache/ahead/prefetching.h"

#define PAGES 60

/* Over the whole table. */
static struct row_reader *open_reader(struct prefetching *setup)
{
    struct caller opener = fetching_caller(&setup->fetching);
    const struct prefetcher_options options = {.kind = READ_ROWS,
                                               .table = "t",
                                               .range = RANGE_ALL,
                                               .since = fetching_since_ttl(&setup->fetching)};
    struct row_reader *reader;
    assert_int_equal(row_reader_create(&setup->source, &options, &opener, &reader), 0);
    return reader;
}

/* 60 pages, and a reader of them. */
static struct row_reader *set_up_pages(struct prefetching *setup)
{
    prefetching_set_up(setup, 1, (struct fetching_options){0});
    prefetching_add(setup, PAGES, 1000);
    return open_reader(setup);
}

static void assert_asked(struct prefetching *setup, size_t expected)
{
    assert_int_equal(prefetching_asked(setup), expected);
}

static int fail_all(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EIO, "all");
}

static int reach_by(struct prefetching *setup, struct row_reader *reader, struct caller *caller,
                    struct bytes position)
{
    struct page *page = NULL;
    _cleanup_(buffer_finish) struct buffer first = {.max = PREFETCHED_MAX};
    int r = row_reader_reach(reader, caller, position, false, &page);
    assert_int_equal(caller->call.failure.error, MIN(r, 0));
    if (r == REACH_IN_CACHE)
        assert_int_not_equal(known_at(&setup->fetching, position, stamp_since(0), &first),
                             KNOWN_NOT);
    page_unref(page);
    return r;
}

static int reach(struct prefetching *setup, struct row_reader *reader, struct bytes position)
{
    return reach_by(setup, reader, prefetching_caller(setup), position);
}

static void a_position_is_reached_unless_it_is_behind(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct prefetching setup;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        prefetching_add(&setup, 5, 700);
        struct row_reader *reader = open_reader(&setup);
        assert_int_equal(reach(&setup, reader, B("p0000\0")), REACH_IN_CACHE);
        assert_int_equal(reach(&setup, reader, B("p0000\0")), REACH_NOT); /* after it now */
        assert_int_equal(reach(&setup, reader, ROW_AT("p0002", "00500")), REACH_IN_CACHE);
        assert_int_equal(reach(&setup, reader, ROW_AT("p0002", "00499")), REACH_NOT);
        assert_int_equal(reach(&setup, reader, ROW_AT("p0003", "no row")), REACH_IN_CACHE);
        assert_int_equal(reach(&setup, reader, B("q")), REACH_IN_CACHE); /* after all rows */
        assert_int_equal(reach(&setup, reader, B("p0004\0")), REACH_NOT);
        assert_int_equal(reach(&setup, reader, B("r")), REACH_NOT);
        row_reader_destroy(reader);
        prefetching_tear_down(&setup);
    }
}

/* Each request is let through when the consumer waits for it. */
static void what_is_far_is_not_reached(void **state)
{
    (void)state;
    struct prefetching setup;
    struct row_reader *reader = set_up_pages(&setup);
    struct toll toll = {.fetching = &setup.fetching};
    gate_store_let(setup.fetching.store, 0);
    for (int i = 0; i < 2; i++) {
        struct caller *caller = prefetching_caller(&setup);
        caller->call.is_cancelled = let_next;
        caller->call.context = &toll;
        assert_int_equal(reach_by(&setup, reader, caller,
                                  i == 0 ? ROW_AT("p0000", "00001") : ROW_AT("p0059", "00001")),
                         i == 0 ? REACH_IN_CACHE : REACH_NOT);
    }
    assert_in_range(toll.let, 1 + 4, 1 + 4 + 3); /* a near position is looked for */
    row_reader_destroy(reader);
    prefetching_tear_down(&setup);
}

/* However far it runs ahead meanwhile. */
static void what_is_near_is_reached(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct prefetching setup;
        prefetching_set_up(&setup, parallelism, (struct fetching_options){0});
        prefetching_add(&setup, PAGES, 1000);
        struct row_reader *reader = open_reader(&setup);
        assert_int_equal(reach(&setup, reader, ROW_AT("p0000", "00001")), REACH_IN_CACHE);
        assert_int_equal(reach(&setup, reader, ROW_AT("p0002", "00001")), REACH_IN_CACHE);
        assert_int_equal(reach(&setup, reader, ROW_AT("p0004", "00001")), REACH_IN_CACHE);
        row_reader_destroy(reader);
        prefetching_tear_down(&setup);
    }
}

static void what_is_known_is_passed_without_a_request(void **state)
{
    (void)state;
    struct prefetching setup;
    prefetching_set_up(&setup, 1, (struct fetching_options){0});
    prefetching_add(&setup, PAGES, 1000);
    struct prefetcher *first = open_rows(&setup);
    assert_int_equal(take_all_rows(&setup, first), PAGES * 1000);
    prefetcher_leave(first);
    size_t asked = prefetching_asked(&setup);
    struct row_reader *second = open_reader(&setup);
    assert_int_equal(reach(&setup, second, ROW_AT("p0059", "00990")),
                     REACH_IN_CACHE); /* however far */
    assert_asked(&setup, asked);
    row_reader_destroy(second);
    prefetching_tear_down(&setup);
}

/* A failure on the way is the caller's. */
static void a_failure_on_the_way_is_returned(void **state)
{
    (void)state;
    struct prefetching setup;
    struct row_reader *reader = set_up_pages(&setup);
    assert_int_equal(reach(&setup, reader, ROW_AT("p0001", "00001")), REACH_IN_CACHE);
    assert_asked(&setup, 2 + 4);
    setup.fetching.memory->fault = fail_all;
    assert_int_equal(reach(&setup, reader, ROW_AT("p0007", "00001")), -EIO);
    assert_asked(&setup, 2 + 4 + 1);
    setup.fetching.memory->fault = NULL;
    assert_int_equal(reach(&setup, reader, ROW_AT("p0007", "00001")), REACH_IN_CACHE);
    row_reader_destroy(reader);
    prefetching_tear_down(&setup);
}

/* What has arrived before the position is taken, and more is sent; nothing is waited for. */
static void it_follows_a_consumer_that_needs_nothing(void **state)
{
    (void)state;
    struct prefetching setup;
    struct row_reader *reader = set_up_pages(&setup);
    assert_int_equal(reach(&setup, reader, ROW_AT("p0000", "00500")), REACH_IN_CACHE);
    row_reader_follow(reader, ROW_AT("p0001", "00500")); /* one page was taken: none ahead */
    assert_asked(&setup, 1);
    assert_int_equal(reach(&setup, reader, ROW_AT("p0001", "00500")), REACH_IN_CACHE);
    assert_asked(&setup, 2 + 4);
    row_reader_follow(reader, ROW_AT("p0001", "00900")); /* all before it was taken */
    assert_asked(&setup, 2 + 4);
    row_reader_follow(reader, ROW_AT("p0003", "00500")); /* takes the page it is in */
    assert_asked(&setup, 4 + 6);
    row_reader_follow(reader, B("p0050")); /* takes the 6 that are there */
    assert_asked(&setup, 10 + 12);
    gate_store_let(setup.fetching.store, 22);
    row_reader_follow(reader, B("p0055"));
    row_reader_follow(reader, B("p0055")); /* does not wait at the gate */
    assert_int_equal(prefetching_in_flight(&setup), 1);
    gate_store_let(setup.fetching.store, GATE_OPEN);
    assert_asked(&setup, 22 + 24);
    assert_int_equal(reach(&setup, reader, B("p0002")), REACH_NOT);
    row_reader_destroy(reader);
    prefetching_tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_reached_unless_it_is_behind),
        cmocka_unit_test(what_is_far_is_not_reached),
        cmocka_unit_test(what_is_near_is_reached),
        cmocka_unit_test(what_is_known_is_passed_without_a_request),
        cmocka_unit_test(a_failure_on_the_way_is_returned),
        cmocka_unit_test(it_follows_a_consumer_that_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
