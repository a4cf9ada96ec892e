/* SPDX-License-Identifier: MIT */
#include "tests/unit/fs/tree/place_fixture.h"

static uint64_t number_of(enum directory_kind layout, const char *path)
{
    struct place place;
    follow_to(layout, path, &place);
    uint64_t number = place_number(&place);
    place_finish(&place);
    return number;
}

static void every_spelling_has_one_number(void **state)
{
    (void)state;
    static const char *const spellings[][2] = {
        {"table/abc", "table/a+/abc"},
        {"table/abc", "table/.flat/abc"},
        {"table/abc", "table/a+/ab+/.flat/abc"},
        {"table/ab+", "table/a+/ab+"},
        {"table/a+/.flat", "table/a+/.flat"},
        {"table/p/ab+", "table/p/a+/ab+"},
        {"table/p/ab+", "table/p+/p/ab+"},
        {"table/\xef\xbf\xbf+", "table/\xef\xbf\xbf+"},
        {"table/\xef\xbf\xbf\xef\xbf\xbf+", "table/\xef\xbf\xbf+/\xef\xbf\xbf\xef\xbf\xbf+"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
        assert_true(number_of(DIRECTORY_AUTO, spellings[i][0]) ==
                    number_of(DIRECTORY_AUTO, spellings[i][1]));
}

/* Of one number, a parent and its child are a loop to find, and two directories one to du. */
static void assert_all_differ(enum directory_kind layout, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t number = number_of(layout, paths[i]);
        assert_true(number >= PLACE_NUMBER_MIN && number < 2 * PLACE_NUMBER_MIN);
        for (size_t k = 0; k < i; k++)
            if (number_of(layout, paths[k]) == number)
                fail_msg("%s and %s have one number", paths[k], paths[i]);
    }
}

static void directories_that_differ_have_numbers_that_differ(void **state)
{
    (void)state;
    static const char *const always[] = {"",
                                         "table",
                                         "table/.flat",
                                         "other",
                                         "other/.flat",
                                         "table/p",
                                         "table/p/2024+",
                                         "table/p/2024-0+",
                                         "table/p/2024-+",
                                         "table/2024-",
                                         "other/p",
                                         "other/p/2024+",
                                         "table/#00",
                                         "table/#00/#2E+",
                                         ".tablefuse",
                                         "table/pp",
                                         "table/p/pp+",
                                         "tabl",
                                         "tables",
                                         "table/able",
                                         "table/.flat/le",
                                         "tab/lelo",
                                         ".tablefuse/stats",
                                         ".tablefuse/errors",
                                         ".tablefuse/version",
                                         ".tablefuse/config",
                                         "table/p/.filter",
                                         "table/p/.filter/A",
                                         "table/p/.filter/B",
                                         "table/.filter/A",
                                         "table/.filter/A/p",
                                         "table/.filter/A/.filter/B/p"};
    static const char *const levels[] = {
        "table",    "table/.flat",     "table/p+",     "table/p+/.flat", "table/p",
        "table/pp", "table/p+/pp+",    "table/p/p+",   "table/pp/p+",    "table/p/pp+",
        "other/p+", "table/pp+/.flat", "table/p+/p#2B"};
    assert_all_differ(DIRECTORY_FLAT, always, ARRAY_SIZE(always));
    assert_all_differ(DIRECTORY_AUTO, always, ARRAY_SIZE(always));
    assert_all_differ(DIRECTORY_AUTO, levels, ARRAY_SIZE(levels));
}

/* What a listing makes of keys is what a lookup makes of names. */
static void a_listing_and_a_lookup_agree(void **state)
{
    (void)state;
    struct place table, listed;
    follow_to(DIRECTORY_AUTO, "table", &table);
    assert_int_equal(place_of_key(&table, B("a+"), &listed), 0);
    assert_true(place_number(&listed) == number_of(DIRECTORY_AUTO, "table/a#2B"));
    place_finish(&listed);
    assert_int_equal(place_of_prefix(&table, B("a+"), &listed), 0);
    assert_true(place_number(&listed) == number_of(DIRECTORY_AUTO, "table/a#2B+"));
    place_finish(&listed);
    place_finish(&table);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t first, second;
    memcpy(&first, a, sizeof(first));
    memcpy(&second, b, sizeof(second));
    return (first > second) - (first < second);
}

static void many_keys_that_look_alike_have_numbers_of_their_own(void **state)
{
    (void)state;
    enum { KEYS = 20000 };
    static uint64_t numbers[KEYS];
    for (int i = 0; i < KEYS; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "table/customer_%06d", i);
        numbers[i] = number_of(DIRECTORY_FLAT, path);
    }
    qsort(numbers, KEYS, sizeof(numbers[0]), compare_numbers);
    for (int i = 1; i < KEYS; i++)
        assert_true(numbers[i - 1] < numbers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_has_one_number),
        cmocka_unit_test(directories_that_differ_have_numbers_that_differ),
        cmocka_unit_test(a_listing_and_a_lookup_agree),
        cmocka_unit_test(many_keys_that_look_alike_have_numbers_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
