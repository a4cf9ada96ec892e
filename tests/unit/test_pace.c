#include "cache/read/pace.h"
#include "tests/unit/unit.h"

enum { NOW = 5000 };

/* Pages of late, of a reader who has taken more than one. */
static double lately(struct pace *pace, int64_t now_ms)
{
    return (pace_most_ahead(pace, now_ms) - 2) / 4;
}

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
    assert_true(lately(&pace, NOW + PACE_EPOCH_MS - 1) == 3);
    assert_true(lately(&pace, NOW + PACE_EPOCH_MS) == 3);
    pace_take(&pace, 0.5, (struct bytes){0}, NOW + PACE_EPOCH_MS);
    assert_true(lately(&pace, NOW + 2 * PACE_EPOCH_MS - 1) == 3.5);
    assert_true(lately(&pace, NOW + 2 * PACE_EPOCH_MS) == 0.5);
    assert_true(lately(&pace, NOW + 4 * PACE_EPOCH_MS) == 0);
    pace_finish(&pace);
}

static void so_does_what_is_passed_later(void **state)
{
    (void)state;
    struct pace pace;
    int64_t later = NOW + 4 * PACE_EPOCH_MS;
    take_three(&pace);
    pace_come(&pace, B("b"), later); /* its last row */
    assert_true(lately(&pace, later) == 0);
    pace_come(&pace, B("e"), later);
    pace_come(&pace, B("a"), later); /* back again */
    assert_true(lately(&pace, later + PACE_EPOCH_MS) == 2);
    pace_come(&pace, B("g"), later + PACE_EPOCH_MS);
    assert_true(lately(&pace, later + PACE_EPOCH_MS) == 3);
    pace_come(&pace, B("z"), later + PACE_EPOCH_MS);
    assert_true(lately(&pace, later + 2 * PACE_EPOCH_MS) == 1);
    pace_finish(&pace);
}

/* Taken and passed in one stretch, a page counts once. */
static void a_page_counts_once(void **state)
{
    (void)state;
    struct pace pace;
    take_three(&pace);
    pace_come(&pace, B("z"), NOW);
    assert_true(lately(&pace, NOW) == 3);
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
    pace_come(&pace, B("c"), later);
    assert_true(lately(&pace, later) == PACE_MARKS_MAX);
    pace_finish(&pace);
}

static void who_took_one_page_may_have_wanted_just_that(void **state)
{
    (void)state;
    struct pace pace;
    pace_init(&pace);
    assert_true(pace_most_ahead(&pace, NOW) == 0);
    pace_take(&pace, 1, B("b"), NOW);
    assert_true(pace_most_ahead(&pace, NOW) == 0);
    pace_take(&pace, 1, B("d"), NOW);
    assert_true(pace_most_ahead(&pace, NOW) == 2 + 4 * 2);
    pace_finish(&pace);
}

static void what_it_wants_is_an_estimate(void **state)
{
    (void)state;
    struct pace pace;
    take_three(&pace);
    pace_want(&pace, 4);
    assert_true(pace_wanted(&pace) == 4);
    assert_true(pace_most_ahead(&pace, NOW) == 6);
    pace_take(&pace, 1, B("h"), NOW);
    assert_true(pace_wanted(&pace) == 3);
    pace_pause(&pace);
    assert_true(pace_most_ahead(&pace, NOW) == 2 + 4 * 4);
    pace_finish(&pace);
}

/* One that passes what it took before is as good as one that looks. */
static void who_is_slow_or_has_left_does_not_go_on(void **state)
{
    (void)state;
    struct pace pace;
    take_three(&pace);
    assert_true(pace_goes_on(&pace, NOW + 2000));
    assert_false(pace_goes_on(&pace, NOW + 2001));
    pace_come(&pace, B("c"), NOW + 4000);
    assert_true(pace_goes_on(&pace, NOW + 6000));
    pace_look(&pace, NOW + 9000); /* busy for 5 s */
    assert_true(pace_goes_on(&pace, NOW + 9000));
    pace_take(&pace, 1, B("h"), NOW + 9000);
    pace_look(&pace, NOW + 14001);
    assert_false(pace_goes_on(&pace, NOW + 14001));
    pace_finish(&pace);
}

/* Who comes back went through it meanwhile, slower than that; how slow it was before says nothing.
 */
static void a_pause_forgets_what_was_taken_and_how_slow(void **state)
{
    (void)state;
    struct pace pace;
    int64_t later = NOW + 4 * PACE_EPOCH_MS;
    take_three(&pace);
    pace_pause(&pace);
    pace_come(&pace, B("z"), later);
    assert_true(lately(&pace, later) == 0);
    pace_take(&pace, 1, B("zz"), later);
    pace_look(&pace, later + 6000);
    assert_false(pace_goes_on(&pace, later + 6000));
    pace_pause(&pace);
    pace_look(&pace, later + 7000);
    assert_true(pace_goes_on(&pace, later + 7000));
    pace_finish(&pace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_counts_for_two_stretches),
        cmocka_unit_test(so_does_what_is_passed_later),
        cmocka_unit_test(a_page_counts_once),
        cmocka_unit_test(what_has_no_end_or_is_too_much_is_not_passed),
        cmocka_unit_test(who_took_one_page_may_have_wanted_just_that),
        cmocka_unit_test(what_it_wants_is_an_estimate),
        cmocka_unit_test(who_is_slow_or_has_left_does_not_go_on),
        cmocka_unit_test(a_pause_forgets_what_was_taken_and_how_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
