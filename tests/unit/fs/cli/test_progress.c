/* SPDX-License-Identifier: MIT */
#include "fs/cli/progress.h"
#include "tests/unit/unit.h"

static void numbers_have_groups_of_three(void **state)
{
    (void)state;
    static const struct {
        uint64_t number;
        const char *expected;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {999, "999"},
                 {1000, "1,000"},
                 {1234567, "1,234,567"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[PROGRESS_NUMBER_SIZE];
        assert_string_equal(progress_number(cases[i].number, text), cases[i].expected);
    }
}

static void bytes_have_the_largest_unit(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *expected;
    } cases[] = {
        {0, "0 B"},         {999, "999 B"},        {1000, "1.0 kB"},          {999949, "999.9 kB"},
        {999950, "1.0 MB"}, {26290898, "26.3 MB"}, {UINT64_MAX, "18446.7 PB"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[PROGRESS_BYTES_SIZE];
        assert_string_equal(progress_bytes(cases[i].bytes, text), cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_groups_of_three),
        cmocka_unit_test(bytes_have_the_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
