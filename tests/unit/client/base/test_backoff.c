/* SPDX-License-Identifier: MIT */
#include "client/base/backoff.h"
#include "tests/unit/unit.h"

static void the_wait_is_the_formula_of_the_design(void **state)
{
    (void)state;
    /* min(50 + c * 200 * (2^k - 1), 8000), c from 0.8 to 1.2 */
    static const struct {
        int failures;
        double chance;
        int64_t expected;
    } cases[] = {{1, 0, 210},  {1, 0.5, 250},  {1, 1, 290},  {2, 0.5, 650}, {3, 0, 1170},
                 {3, 1, 1730}, {5, 0.5, 6250}, {6, 0, 8000}, {6, 1, 8000},  {1000, 0.5, 8000}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(backoff_wait_ms(cases[i].failures, cases[i].chance, 0), cases[i].expected);
}

static void what_the_service_says_wins(void **state)
{
    (void)state;
    assert_int_equal(backoff_wait_ms(1, 0.5, 30000), 30000);
    assert_int_equal(backoff_wait_ms(10, 0.5, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_is_the_formula_of_the_design),
        cmocka_unit_test(what_the_service_says_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
