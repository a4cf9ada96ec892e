/* SPDX-License-Identifier: MIT */
#include "client/http/answer_budget.h"
#include "tests/unit/unit.h"

static void the_one_that_waits_longest_goes_on(void **state)
{
    (void)state;
    struct answer_budget budget;
    struct answer_wait a = {0}, b = {0}, c = {0};
    answer_budget_init(&budget, 100);
    assert_true(answer_budget_take(&budget, &a, 60));
    assert_true(answer_budget_take(&budget, &b, 40));
    assert_true(answer_budget_take(&budget, &b, 1)); /* beyond the limit: it is the first to wait */
    assert_false(answer_budget_take(&budget, &c, 1));
    assert_false(answer_budget_take(&budget, &a, 1));
    assert_true(answer_budget_take(&budget, &b, 1000));
    answer_budget_stop(&budget, &b); /* whole, and still charged */
    assert_false(answer_budget_take(&budget, &a, 1));
    assert_true(answer_budget_take(&budget, &c, 1));
    answer_budget_give_back(&budget, 1041);
    assert_true(answer_budget_take(&budget, &a, 38)); /* there is room again */
    assert_int_equal(budget.used_bytes, 99);
    answer_budget_stop(&budget, &c);
    assert_true(answer_budget_take(&budget, &a, 10));
    answer_budget_stop(&budget, &a);
    answer_budget_stop(&budget, &a);
    answer_budget_give_back(&budget, 109);
    assert_int_equal(budget.used_bytes, 0);
    assert_true(TAILQ_EMPTY(&budget.waits));
    answer_budget_finish(&budget);
}

static void one_answer_may_be_larger_than_all(void **state)
{
    (void)state;
    struct answer_budget budget;
    struct answer_wait a = {0}, b = {0};
    answer_budget_init(&budget, 100);
    assert_true(answer_budget_take(&budget, &a, SIZE_MAX / 2));
    assert_false(answer_budget_take(&budget, &b, 1));
    answer_budget_stop(&budget, &a); /* it was cancelled */
    answer_budget_give_back(&budget, SIZE_MAX / 2);
    assert_true(answer_budget_take(&budget, &b, 100));
    answer_budget_stop(&budget, &b);
    answer_budget_finish(&budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_waits_longest_goes_on),
        cmocka_unit_test(one_answer_may_be_larger_than_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
