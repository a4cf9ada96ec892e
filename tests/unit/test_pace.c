#include "cache/read/pace.h"
#include "tests/unit/unit.h"

enum { NOW = 5000 };

static void take_three(struct pace *pace)
{
    pace_init(pace);
    pace_take(pace, 1, B("b"), NOW);
    pace_take(pace, 1, B("d"), NOW);
    pace_take(pace, 1, B("f"), NOW);
}

static void what_was_taken_counts_for_two_stretches(void **state)
{
    (void)state;
    struct pace pace;
    take_three(&pace);
    assert_true(pace_lately(&pace, NOW + PACE_EPOCH_MS - 1) == 3);
    assert_true(pace_lately(&pace, NOW + PACE_EPOCH_MS) == 3);
    pace_take(&pace, 0.5, (struct bytes){0}, NOW + PACE_EPOCH_MS);
    assert_true(pace_lately(&pace, NOW + 2 * PACE_EPOCH_MS - 1) == 3.5);
    assert_true(pace_lately(&pace, NOW + 2 * PACE_EPOCH_MS) == 0.5);
    assert_true(pace_lately(&pace, NOW + 4 * PACE_EPOCH_MS) == 0);
    pace_finish(&pace);
}

static void so_does_what_is_passed_later(void **state)
{
    (void)state;
    struct pace pace;
    int64_t later = NOW + 4 * PACE_EPOCH_MS;
    take_three(&pace);
    assert_false(pace_come(&pace, B("b"), later)); /* its last row */
    assert_true(pace_lately(&pace, later) == 0);
    assert_true(pace_come(&pace, B("e"), later));
    assert_false(pace_come(&pace, B("a"), later)); /* back again */
    assert_true(pace_lately(&pace, later + PACE_EPOCH_MS) == 2);
    assert_true(pace_come(&pace, B("g"), later + PACE_EPOCH_MS));
    assert_true(pace_lately(&pace, later + PACE_EPOCH_MS) == 3);
    assert_false(pace_come(&pace, B("z"), later + PACE_EPOCH_MS));
    assert_true(pace_lately(&pace, later + 2 * PACE_EPOCH_MS) == 1);
    pace_finish(&pace);
}

/* Taken and passed in one stretch, a page counts once. */
static void a_page_counts_once(void **state)
{
    (void)state;
    struct pace pace;
    take_three(&pace);
    assert_true(pace_come(&pace, B("z"), NOW));
    assert_true(pace_lately(&pace, NOW) == 3);
    pace_finish(&pace);
}

static void what_has_no_end_or_is_too_much_is_not_passed(void **state)
{
    (void)state;
    struct pace pace;
    int64_t later = NOW + 2 * PACE_EPOCH_MS;
    pace_init(&pace);
    for (int i = 0; i < PACE_MARKS_MAX + 9; i++) {
        pace_take(&pace, 1, (struct bytes){0}, NOW);
        pace_take(&pace, 1, B("b"), NOW);
    }
    assert_true(pace_come(&pace, B("c"), later));
    assert_true(pace_lately(&pace, later) == PACE_MARKS_MAX);
    pace_finish(&pace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_counts_for_two_stretches),
        cmocka_unit_test(so_does_what_is_passed_later),
        cmocka_unit_test(a_page_counts_once),
        cmocka_unit_test(what_has_no_end_or_is_too_much_is_not_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
