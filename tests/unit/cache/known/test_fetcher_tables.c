/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/known/fetcher_fixture.h"

static void add_tables(struct fetching *fetching)
{
    static const char *const tables[] = {"two", "One", "three", "two", "a", "One"};
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        memory_store_add_table(fetching->memory, tables[i]);
}

static void tables_are_listed_to_the_end_in_order(void **state)
{
    (void)state;
    static const char *const expected[] = {"One", "a", "three", "two"};
    static const struct range ranges[] = {
        {B(""), B(POSITION_END)}, {B("b"), B("zz")}, {B("t\0x"), B("t\0x\x01")}};
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){.faults = "latency=50000"});
        fetching.memory->max_rows = 2;
        add_tables(&fetching);
        struct fetch fetch = {.range = ranges[i], .top = 1000, .keys_only = true};
        struct page *page;
        assert_int_equal(fetch_page(&fetching, &fetch, &page), 0); /* after 150 s */
        assert_int_equal(fetching.memory->asked, 3);
        assert_int_equal(page_rows(page), ARRAY_SIZE(expected));
        for (size_t row = 0; row < ARRAY_SIZE(expected); row++)
            assert_bytes(page_position(page, row), bytes_of(expected[row]));
        page_unref(page);
        assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_ROWS);
        assert_known(&fetching, NULL, (struct range){B("a\x01"), B("th")}, false, KNOWN_EMPTY);
        fetching_tear_down(&fetching);
    }
}

static void one_table_is_asked_for_by_its_name(void **state)
{
    (void)state;
    static const struct {
        struct range range;
        int known;
    } cases[] = {{{B("three"), B("three\x01")}, KNOWN_ROWS},
                 {{B("thre"), B("thre\x01")}, KNOWN_EMPTY},
                 {{B("Three"), B("Three\x01")}, KNOWN_EMPTY}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){0});
        add_tables(&fetching);
        struct fetch fetch = {.range = cases[i].range, .top = 1};
        assert_int_equal(fetch_rows(&fetching, &fetch), cases[i].known == KNOWN_ROWS);
        assert_int_equal(fetching.memory->asked, 1);
        assert_known(&fetching, NULL, cases[i].range, false, cases[i].known);
        assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_NOT);
        fetching_tear_down(&fetching);
    }
}

static void a_list_of_tables_that_fails_half_way_is_none(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "fail=list_tables:2:404:x"});
    fetching.memory->max_rows = 2;
    add_tables(&fetching);
    struct fetch fetch = {.range = RANGE_ALL, .top = 1000};
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -ENOENT);
    assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_NOT);
    fetching_tear_down(&fetching);
}

/* While the same tables are left out. */
static void a_table_that_no_path_can_name_is_left_out_and_reported_once(void **state)
{
    struct fetching *fetching = *state;
    struct fetch all = {.range = RANGE_ALL, .top = 1000};
    memory_store_add_table(fetching->memory, "a/b");
    memory_store_add_table(fetching->memory, "one");
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(fetch_rows(fetching, &all), 1);
        assert_int_equal(failure_log_count(fetching->failures), 1);
        assert_int_equal(fetching->listed, i);
    }
    memory_store_remove_table(fetching->memory, "a/b");
    assert_int_equal(fetch_rows(fetching, &all), 1);
    assert_int_equal(failure_log_count(fetching->failures), 1);
}

/* A name takes the place of a quarter of a million. */
static void a_list_of_tables_that_is_too_long_is_none(void **state)
{
    (void)state;
    struct fetching fetching;
    size_t size = (size_t)16 << 20;
    char *name = calloc(1, size + 1);
    assert_non_null(name);
    memset(name, 'a', size);
    fetching_set_up(&fetching, (struct fetching_options){0});
    add_tables(&fetching);
    memory_store_add_table(fetching.memory, name);
    struct fetch fetch = {.range = RANGE_ALL, .top = 1000};
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -EFBIG);
    assert_known(&fetching, NULL, RANGE_ALL, false, KNOWN_NOT);
    fetching_tear_down(&fetching);
    free(name);
}

static void all_tables_are_one_flight_wherever_they_begin(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){0});
    add_tables(&fetching);
    gate_store_let(fetching.store, 0);
    struct fetch fetch = {.range = RANGE_ALL, .top = 1000};
    asker_start(&askers[0], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_requests(&fetching, 1);
    fetch.range.lo = B("m");
    asker_start(&askers[1], &fetching, fetch, fetching_since_ttl(&fetching));
    wait_for_joined(&fetching, 1);
    gate_store_let(fetching.store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_listed_to_the_end_in_order),
        cmocka_unit_test(one_table_is_asked_for_by_its_name),
        cmocka_unit_test(a_list_of_tables_that_fails_half_way_is_none),
        TEST_WITH(fetching, a_table_that_no_path_can_name_is_left_out_and_reported_once),
        cmocka_unit_test(a_list_of_tables_that_is_too_long_is_none),
        cmocka_unit_test(all_tables_are_one_flight_wherever_they_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
