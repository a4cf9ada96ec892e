/* SPDX-License-Identifier: MIT */
/* Places in directories of filters. */
#include "fs/tree/filter_name.h"
#include "tests/unit/fs/tree/place_fixture.h"

static void assert_filtered(const char *path, enum directory_kind kind, struct bytes lo,
                            struct bytes hi, const char *filter)
{
    struct place place;
    follow_to(DIRECTORY_AUTO, path, &place);
    struct directory directory = place_directory(&place);
    assert_int_equal(place.kind, PLACE_DIRECTORY);
    assert_int_equal(directory.kind, kind);
    assert_string_equal(directory.table, "table");
    assert_bytes(directory.range.lo, lo);
    assert_bytes(directory.range.hi, hi);
    assert_string_equal(directory.filter ? directory.filter : "none", filter);
    place_finish(&place);
}

static void a_filter_is_a_directory_with_another_listing(void **state)
{
    (void)state;
    struct bytes newton = B("Newton\0"), newton_end = B("Newton\x01");
    assert_filtered("table", DIRECTORY_AUTO, B(""), B("\xff"), "none");
    assert_filtered("table/.filter/A eq 1", DIRECTORY_FLAT, B(""), B("\xff"), "A eq 1");
    assert_filtered("table/.flat/.filter/A", DIRECTORY_FLAT, B(""), B("\xff"), "A");
    assert_filtered("table/N+/.filter/A", DIRECTORY_FLAT, B("N"), B("O"), "A");
    assert_filtered("table/.filter/A/Newton", DIRECTORY_ENTITIES, newton, newton_end, "A");
    assert_filtered("table/Newton/.filter/A", DIRECTORY_ENTITIES, newton, newton_end, "A");
    assert_filtered("table/.filter/A/Newton/.filter/B", DIRECTORY_ENTITIES, newton, newton_end,
                    "(A) and (B)");
    assert_filtered("table/.filter/A/.filter/B/.filter/C or D", DIRECTORY_FLAT, B(""), B("\xff"),
                    "((A) and (B)) and (C or D)");
    assert_filtered("table/.filter/A/p/1+", DIRECTORY_ENTITIES, ROW_AT("p", "1"), ROW_AT("p", "2"),
                    "A");
    assert_filtered("table/.filter/A eq 'a#2Fb#23#2F'", DIRECTORY_FLAT, B(""), B("\xff"),
                    "A eq 'a/b#/'");
    static const char *const absent[] = {".filter", "table/.filter/A/N+", "table/.filter/A/.flat",
                                         "table/N+/.filter/A/zlib"};
    assert_no_place(DIRECTORY_AUTO, -ENOENT, absent, ARRAY_SIZE(absent));
}

/* All directories below have a copy of the joined text. */
static void nested_filters_have_an_end(void **state)
{
    (void)state;
    char path[8192] = "table";
    struct place place;
    for (int i = 0; i < 9; i++) {
        size_t size = strlen(path);
        (void)snprintf(path + size, sizeof(path) - size, "/.filter/A eq '%0200d'", i);
        follow_to(DIRECTORY_AUTO, path, &place);
        assert_true(strlen(place_directory(&place).filter) < FILTER_NAME_MAX_BYTES);
        place_finish(&place);
    }
    size_t size = strlen(path);
    (void)snprintf(path + size, sizeof(path) - size, "/.filter/A eq '%0200d'", 9);
    assert_int_equal(follow(DIRECTORY_AUTO, path, &place), -ENAMETOOLONG);
}

static void what_is_below_a_filter_is_what_its_key_says(void **state)
{
    (void)state;
    struct place filtered, plain, filters;
    follow_to(DIRECTORY_AUTO, "table/.filter/A/p/r.json", &filtered);
    follow_to(DIRECTORY_AUTO, "table/p/r.json", &plain);
    assert_int_equal(address_compare(place_address(&filtered), place_address(&plain)), 0);
    assert_int_equal(place_number(&filtered), place_number(&plain));
    place_finish(&filtered);
    place_finish(&plain);
    follow_to(DIRECTORY_AUTO, "table/p/.filter", &filters);
    assert_int_equal(filters.kind, PLACE_FILTERS);
    assert_true(filters.is_given);
    place_finish(&filters);
}

static void a_name_that_is_no_filter_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "table/.filter/A eq",     "table/.filter/(A",         "table/.filter/.x",
        "table/.filter/A eq '#'", "table/.filter/A eq '#2f'", "table/.filter/A/.filter/B)or(C"};
    assert_no_place(DIRECTORY_AUTO, -EINVAL, wrong, ARRAY_SIZE(wrong));
}

static void a_settled_directory_keeps_its_filter(void **state)
{
    (void)state;
    struct place place;
    struct settlement settlement = {"table", B("p"), B("q")};
    follow_to(DIRECTORY_AUTO, "table/.filter/A/p", &place);
    assert_int_equal(place_settle(&place, &settlement), 0);
    assert_bytes(place_directory(&place).range.lo, B("q\0"));
    assert_string_equal(place_directory(&place).filter, "A");
    place_finish(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_is_a_directory_with_another_listing),
        cmocka_unit_test(nested_filters_have_an_end),
        cmocka_unit_test(what_is_below_a_filter_is_what_its_key_says),
        cmocka_unit_test(a_name_that_is_no_filter_is_refused),
        cmocka_unit_test(a_settled_directory_keeps_its_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
