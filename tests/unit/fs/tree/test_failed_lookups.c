/* SPDX-License-Identifier: MIT */
#include "fs/tree/failed_lookups.h"
#include "tests/unit/unit.h"

static struct failed_lookups *new_failed(void)
{
    struct failed_lookups *failed;
    assert_int_equal(failed_lookups_create(&failed), 0);
    return failed;
}

static void put(struct failed_lookups *failed, pid_t thread)
{
    struct failure failure = {.error = -EHOSTUNREACH, .message = "gone"};
    failed_lookups_put(failed, thread, 42, B("name"), &failure, 5000);
}

static bool take(struct failed_lookups *failed, pid_t thread, int64_t now_ms)
{
    struct failure found = {0};
    bool is_there = failed_lookups_take(failed, thread, 42, B("name"), now_ms, &found);
    assert_string_equal(found.message, is_there ? "gone" : "");
    assert_int_equal(found.error, is_there ? -EHOSTUNREACH : 0);
    return is_there;
}

static void a_failure_is_answered_once_more(void **state)
{
    (void)state;
    struct failed_lookups *failed = new_failed();
    put(failed, 7);
    assert_false(take(failed, 8, 5001));
    assert_true(take(failed, 7, 5001));
    assert_false(take(failed, 7, 5002));
    failed_lookups_destroy(failed);
    failed_lookups_destroy(NULL);
}

static void only_a_repetition_gets_it(void **state)
{
    (void)state;
    _cleanup_(failed_lookups_destroyp) struct failed_lookups *failed = new_failed();
    struct failure found;
    put(failed, 7);
    assert_false(failed_lookups_take(failed, 7, 42, B("other"), 5001, &found));
    assert_false(take(failed, 7, 5001)); /* something else came between */
    put(failed, 7);
    assert_false(failed_lookups_take(failed, 7, 43, B("name"), 5001, &found));
    put(failed, 7);
    assert_false(take(failed, 7, 5000 + FAILED_LOOKUPS_KEPT_MS));
    put(failed, 7);
    assert_true(take(failed, 7, 5000 + FAILED_LOOKUPS_KEPT_MS - 1));
}

static void a_thread_never_gets_the_failure_of_another(void **state)
{
    (void)state;
    _cleanup_(failed_lookups_destroyp) struct failed_lookups *failed = new_failed();
    put(failed, 7);
    assert_false(take(failed, 7 + FAILED_LOOKUPS_SLOTS, 5001));
    assert_true(take(failed, 7, 5001)); /* and leaves it there */
    put(failed, 7);
    put(failed, 7 + FAILED_LOOKUPS_SLOTS); /* the same slot */
    assert_false(take(failed, 7, 5001));
    assert_true(take(failed, 7 + FAILED_LOOKUPS_SLOTS, 5001));
    put(failed, 0); /* of another pid namespace: not known */
    assert_false(take(failed, 0, 5001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_answered_once_more),
        cmocka_unit_test(only_a_repetition_gets_it),
        cmocka_unit_test(a_thread_never_gets_the_failure_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
