/* SPDX-License-Identifier: MIT */
#include "cache/ahead/request_window.h"
#include "tests/unit/unit.h"

#include <pthread.h>

/* A request that has ended, and the size of the window then. */
struct event {
    int64_t sent_ms, ended_ms;
    enum request_end end;
    int size;
};

static struct request_window *new_window(int max)
{
    struct request_window *window;
    assert_int_equal(request_window_create(max, &window), 0);
    return window;
}

static struct request_window_stats stats_of(struct request_window *window)
{
    struct request_window_stats stats;
    request_window_stats(window, &stats);
    return stats;
}

static void play_event(struct request_window *window, const struct event *event)
{
    assert_true(request_window_enter(window, 0));
    request_window_leave(window, 0, event->end, event->sent_ms, event->ended_ms);
    assert_int_equal(stats_of(window).in_flight, 0);
}

static void play(int max, const struct event *events, size_t n, uint64_t shrunk)
{
    _cleanup_(request_window_destroyp) struct request_window *window = new_window(max);
    for (size_t i = 0; i < n; i++) {
        play_event(window, &events[i]);
        if (stats_of(window).size != events[i].size)
            fail_msg("event %zu: size %d, not %d", i, stats_of(window).size, events[i].size);
    }
    assert_int_equal(stats_of(window).shrunk, shrunk);
}

/* One request after another, each of them so long, from *now on. */
static void play_pages(struct request_window *window, int n, int64_t latency_ms, int64_t *now)
{
    for (int i = 0; i < n; i++) {
        play_event(window, &(struct event){*now, *now + latency_ms, REQUEST_GOOD, 0});
        *now += latency_ms;
    }
}

static void a_window_has_room_for_one_at_least(void **state)
{
    (void)state;
    struct request_window *window = NULL;
    assert_int_equal(request_window_create(0, &window), -EINVAL);
    assert_int_equal(request_window_create(-1, &window), -EINVAL);
    assert_null(window);
    request_window_destroy(NULL);
}

static void it_grows_by_one_a_good_page_up_to_its_maximum(void **state)
{
    (void)state;
    static const struct event events[] = {
        {0, 20, REQUEST_GOOD, 3},   {0, 20, REQUEST_GOOD, 4},   {0, 900, REQUEST_OTHER, 4},
        {20, 40, REQUEST_GOOD, 5},  {20, 40, REQUEST_OTHER, 5}, {20, 41, REQUEST_GOOD, 6},
        {40, 60, REQUEST_GOOD, 7},  {40, 61, REQUEST_GOOD, 8},  {60, 80, REQUEST_GOOD, 8},
        {80, 100, REQUEST_GOOD, 8},
    };
    play(8, events, ARRAY_SIZE(events), 0);
}

static void the_maximum_holds_from_the_start(void **state)
{
    (void)state;
    static const struct event events[] = {
        {0, 20, REQUEST_OTHER, 1},
        {20, 40, REQUEST_GOOD, 1},
        {40, 60, REQUEST_THROTTLED, 1},
        {60, 80, REQUEST_GOOD, 1},
    };
    play(1, events, ARRAY_SIZE(events), 1);
}

static void it_halves_once_a_round_trip_when_throttled(void **state)
{
    (void)state;
    static const struct event events[] = {
        {0, 20, REQUEST_GOOD, 3},
        {0, 20, REQUEST_GOOD, 4},
        {0, 20, REQUEST_GOOD, 5},
        {21, 30, REQUEST_THROTTLED, 2},
        /* sent before that: they neither shrink nor grow it, and are not slow either */
        {22, 31, REQUEST_THROTTLED, 2},
        {29, 900, REQUEST_GOOD, 2},
        {29, 900, REQUEST_GOOD, 2},
        /* sent after it, in the same millisecond, too */
        {30, 50, REQUEST_GOOD, 3},
        {31, 60, REQUEST_THROTTLED, 1},
        {59, 61, REQUEST_THROTTLED, 1},
        {62, 80, REQUEST_THROTTLED, 1},
        {80, 100, REQUEST_GOOD, 2},
        {100, 120, REQUEST_GOOD, 3},
    };
    play(8, events, ARRAY_SIZE(events), 3);
}

static void it_halves_when_the_smoothed_latency_has_doubled(void **state)
{
    (void)state;
    static const struct event events[] = {
        {0, 20, REQUEST_GOOD, 3},
        {0, 20, REQUEST_GOOD, 4},
        {20, 40, REQUEST_GOOD, 5},
        {20, 40, REQUEST_GOOD, 6},
        /* each moves the 20 ms by an eighth of the way to 100: 30, 38.75, 46.4 */
        {40, 140, REQUEST_GOOD, 7},
        {41, 141, REQUEST_GOOD, 8},
        {42, 142, REQUEST_GOOD, 4},
        {43, 143, REQUEST_GOOD, 4},
        /* judged anew: 20 and an eighth of it */
        {142, 242, REQUEST_GOOD, 5},
        {143, 243, REQUEST_GOOD, 6},
        {144, 244, REQUEST_GOOD, 3},
        {244, 264, REQUEST_GOOD, 4},
    };
    play(8, events, ARRAY_SIZE(events), 2);
}

DEFINE_OBJECT_FIXTURE(window, new_window(8), request_window_destroy)

static void less_than_double_is_no_reason(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 10, 100, &now);
    play_pages(window, 1000, 199, &now);
    assert_int_equal(stats_of(window).shrunk, 0);
    assert_int_equal(stats_of(window).size, 8);
}

static void one_slow_page_is_no_reason(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    for (int i = 0; i < 100; i++) {
        play_pages(window, 40, 20, &now);
        play_pages(window, 1, 170, &now);
    }
    assert_int_equal(stats_of(window).shrunk, 0);
}

static void a_local_account_does_not_make_it_jitter(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 100, 0, &now);
    for (int i = 0; i < 1000; i++)
        play_pages(window, 1, i % 4, &now);
    play_pages(window, 100, 10, &now);
    assert_int_equal(stats_of(window).shrunk, 0);
    assert_int_equal(stats_of(window).size, 8);
    play_pages(window, 1, 50, &now); /* smoothed 15, more than 10 above the first ones */
    assert_int_equal(stats_of(window).shrunk, 1);
    assert_int_equal(stats_of(window).size, 4);
}

/* Pages of 60 ms instead of 20: some seconds of saw teeth, never below half. */
static void a_service_that_became_slower_for_good_is_borne(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 50, 20, &now);
    int64_t began = now;
    int smallest = 8;
    while (now < began + 20000) {
        play_pages(window, 1, 60, &now);
        smallest = MIN(smallest, stats_of(window).size);
    }
    uint64_t shrunk = stats_of(window).shrunk;
    assert_in_range(shrunk, 2, 20);
    assert_int_equal(smallest, 4);
    while (now < began + 100000)
        play_pages(window, 1, 60, &now);
    assert_int_equal(stats_of(window).shrunk, shrunk);
    assert_int_equal(stats_of(window).size, 8);
    /* and it became the usual one: less than 120 is not twice as long */
    play_pages(window, 100, 115, &now);
    assert_int_equal(stats_of(window).shrunk, shrunk);
}

static void a_service_that_became_faster_is_held_to_it(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 20, 100, &now);
    play_pages(window, 50, 20, &now);
    assert_int_equal(stats_of(window).shrunk, 0);
    play_pages(window, 3, 100, &now);
    assert_int_equal(stats_of(window).shrunk, 1);
}

static void what_was_usual_before_a_long_rest_is_forgotten(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 50, 20, &now);
    now += 3600000;
    play_pages(window, 1, 60, &now);
    play_pages(window, 1, 60, &now);
    assert_int_equal(stats_of(window).shrunk, 0);
}

static void fill(struct request_window *window, int n)
{
    for (int i = 0; i < n; i++)
        assert_true(request_window_enter(window, 0));
}

static void assert_idle(struct request_window *window, int idle)
{
    assert_int_equal(request_window_idle(window, 0), idle);
}

static void what_is_in_flight_takes_room(void **state)
{
    struct request_window *window = *state;
    assert_idle(window, 2);
    assert_true(request_window_enter(window, 0));
    assert_idle(window, 1);
    assert_true(request_window_enter(window, 0));
    assert_idle(window, 0);
    assert_false(request_window_enter(window, 0));
    assert_int_equal(stats_of(window).in_flight, 2);
    request_window_leave(window, 0, REQUEST_GOOD, 0, 20);
    assert_idle(window, 2);
    request_window_leave(window, 0, REQUEST_OTHER, 0, 20);
    assert_idle(window, 3);
}

static void each_lane_has_a_window(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 6, 20, &now);
    fill(window, 8);
    assert_idle(window, 0);
    assert_int_equal(request_window_idle(window, 1), 8);
    assert_true(request_window_enter(window, 1));
    assert_int_equal(stats_of(window).in_flight, 9);
    request_window_leave(window, 0, REQUEST_OTHER, now, now + 3000);
    assert_idle(window, 1);
    assert_int_equal(request_window_idle(window, 1), 7);
    request_window_give_back(window, 1);
    assert_int_equal(request_window_idle(window, 1), 8);
    assert_int_equal(stats_of(window).in_flight, 7);
}

static void all_lanes_have_four_windows_of_the_greatest_size(void **state)
{
    (void)state;
    _cleanup_(request_window_destroyp) struct request_window *window = new_window(2);
    for (unsigned lane = 0; lane < 8; lane++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(request_window_enter(window, lane), lane < 4);
    assert_int_equal(stats_of(window).in_flight, 8);
    request_window_leave(window, 0, REQUEST_OTHER, 0, 20);
    assert_int_equal(request_window_idle(window, 7), 1);
}

static void what_cannot_wait_counts_too(void **state)
{
    struct request_window *window = *state;
    for (int i = 0; i < 100; i++)
        request_window_enter_anyway(window, 1);
    assert_int_equal(stats_of(window).in_flight, 100);
    assert_idle(window, 2); /* lane 0 has its window all the same */
    for (int i = 0; i < 100; i++)
        request_window_give_back(window, 1);
    for (int i = 0; i < 5; i++)
        request_window_enter_anyway(window, 0);
    assert_idle(window, 0);
    for (int i = 0; i < 3; i++)
        request_window_give_back(window, 0);
    assert_idle(window, 0);
    request_window_give_back(window, 0);
    assert_idle(window, 1);
    assert_int_equal(stats_of(window).in_flight, 1);
}

static void a_window_shrinks_when_the_repetition_begins_to_wait(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 6, 20, &now);
    fill(window, 2);
    request_window_throttled(window, now, now + 10);
    assert_int_equal(stats_of(window).size, 4);
    request_window_throttled(window, now, now + 11); /* of the same round trip */
    assert_int_equal(stats_of(window).size, 4);
    request_window_leave(window, 0, REQUEST_GOOD, now + 20, now + 40);
    assert_int_equal(stats_of(window).size, 5); /* its result counts as any other's */
    request_window_leave(window, 0, REQUEST_OTHER, now + 20, now + 40);
    assert_int_equal(stats_of(window).size, 5);
    assert_int_equal(stats_of(window).shrunk, 1);
}

static void a_window_of_one_has_no_room_for_speculation(void **state)
{
    (void)state;
    _cleanup_(request_window_destroyp) struct request_window *window = new_window(1);
    assert_idle(window, 0);
    assert_true(request_window_enter(window, 0));
    assert_idle(window, 0);
}

static void more_may_be_in_flight_after_a_fall(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 6, 20, &now);
    fill(window, 8);
    request_window_leave(window, 0, REQUEST_THROTTLED, now, now + 20);
    assert_int_equal(stats_of(window).size, 4);
    for (int in_flight = 7; in_flight > 4; in_flight--) {
        assert_int_equal(stats_of(window).in_flight, in_flight);
        assert_idle(window, 0);
        assert_false(request_window_enter(window, 0));
        request_window_leave(window, 0, REQUEST_OTHER, now, now + 21);
    }
    assert_idle(window, 0);
    request_window_leave(window, 0, REQUEST_OTHER, now, now + 21);
    assert_idle(window, 0);
    request_window_leave(window, 0, REQUEST_OTHER, now, now + 21);
    assert_idle(window, 0);
}

static void speculation_stops_first_and_comes_back_last(void **state)
{
    struct request_window *window = *state;
    int64_t now = 0;
    play_pages(window, 3, 20, &now); /* 5: the largest so far, though not the maximum */
    assert_idle(window, 5);
    play_event(window, &(struct event){now, now, REQUEST_THROTTLED, 0});
    assert_idle(window, 1);
    play_event(window, &(struct event){now, now, REQUEST_THROTTLED, 0});
    assert_idle(window, 0);
    play_pages(window, 1, 20, &now);
    assert_idle(window, 1);
    play_pages(window, 1, 20, &now);
    assert_idle(window, 1);
    fill(window, 1); /* whatever is in flight counts against the half */
    assert_idle(window, 0);
    request_window_leave(window, 0, REQUEST_OTHER, now, now);
    play_pages(window, 1, 20, &now);
    assert_idle(window, 2);
    play_pages(window, 1, 20, &now);
    assert_idle(window, 5);
}

static void *enter_and_leave(void *context)
{
    struct request_window *window = context;
    int most = 0;
    for (int64_t i = 0; i < 2000; i++) {
        if (!request_window_enter(window, 0))
            continue;
        most = MAX(most, stats_of(window).in_flight);
        most = MAX(most, request_window_idle(window, 0));
        request_window_leave(window, 0, i % 500 == 499 ? REQUEST_THROTTLED : REQUEST_GOOD, i,
                             i + 1);
    }
    return (void *)(intptr_t)most;
}

/* Pages of a filter take 20 ms or 5 s: they let the window grow, and never shrink it. */
static void an_untimed_answer_makes_the_window_larger(void **state)
{
    (void)state;
    static const struct event events[] = {
        {0, 20, REQUEST_UNTIMED, 3},          {20, 5020, REQUEST_UNTIMED, 4},
        {5020, 10020, REQUEST_UNTIMED, 5},    {10020, 10040, REQUEST_GOOD, 6},
        {10040, 15040, REQUEST_UNTIMED, 7},   {15040, 15060, REQUEST_GOOD, 8},
        {15060, 15080, REQUEST_THROTTLED, 4},
    };
    play(8, events, ARRAY_SIZE(events), 1);
}

static void any_thread_may_use_it(void **state)
{
    (void)state;
    pthread_t threads[8];
    _cleanup_(request_window_destroyp) struct request_window *window = new_window(4);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_and_leave, window), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *most;
        assert_int_equal(pthread_join(threads[i], &most), 0);
        assert_in_range((intptr_t)most, 0, 4);
    }
    assert_int_equal(stats_of(window).in_flight, 0);
    assert_in_range(stats_of(window).size, 1, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_has_room_for_one_at_least),
        cmocka_unit_test(it_grows_by_one_a_good_page_up_to_its_maximum),
        cmocka_unit_test(the_maximum_holds_from_the_start),
        cmocka_unit_test(it_halves_once_a_round_trip_when_throttled),
        cmocka_unit_test(it_halves_when_the_smoothed_latency_has_doubled),
        TEST_WITH(window, less_than_double_is_no_reason),
        TEST_WITH(window, one_slow_page_is_no_reason),
        TEST_WITH(window, a_local_account_does_not_make_it_jitter),
        TEST_WITH(window, a_service_that_became_slower_for_good_is_borne),
        TEST_WITH(window, a_service_that_became_faster_is_held_to_it),
        TEST_WITH(window, what_was_usual_before_a_long_rest_is_forgotten),
        TEST_WITH(window, what_is_in_flight_takes_room),
        TEST_WITH(window, each_lane_has_a_window),
        cmocka_unit_test(all_lanes_have_four_windows_of_the_greatest_size),
        TEST_WITH(window, what_cannot_wait_counts_too),
        TEST_WITH(window, a_window_shrinks_when_the_repetition_begins_to_wait),
        cmocka_unit_test(a_window_of_one_has_no_room_for_speculation),
        TEST_WITH(window, more_may_be_in_flight_after_a_fall),
        TEST_WITH(window, speculation_stops_first_and_comes_back_last),
        cmocka_unit_test(an_untimed_answer_makes_the_window_larger),
        cmocka_unit_test(any_thread_may_use_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
