/* SPDX-License-Identifier: MIT */
#include "cache/ahead/request_slot.h"
#include "tests/unit/unit.h"

struct fixture {
    int64_t now_ms;
    struct clock clock;
    struct request_window *window;
    struct request_slot slot;
    struct call call;
};

/* A request that is in flight, in a window of 4 that may have `max`. */
static void begin(struct fixture *f, int max)
{
    *f = (struct fixture){.now_ms = 1000};
    f->clock = fake_clock(&f->now_ms);
    assert_int_equal(request_window_create(max, &f->window), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(request_window_enter(f->window, 7));
        request_window_leave(f->window, 7, REQUEST_GOOD, 0, 20);
    }
    assert_true(request_window_enter(f->window, 7));
    f->slot = (struct request_slot){.window = f->window, .lane = 7};
    request_slot_begin(&f->slot, &f->call, &f->clock);
}

static void assert_window(struct fixture *f, int in_flight, int size)
{
    struct request_window_stats stats;
    request_window_stats(f->window, &stats);
    assert_int_equal(stats.in_flight, in_flight);
    assert_int_equal(stats.size, size);
}

/* With a page, or throttled. */
static void end(struct fixture *f, bool is_good, int size)
{
    f->call.failure.is_retryable = !is_good;
    request_slot_end(&f->slot, &f->call, is_good ? 0 : -EBUSY,
                     is_good ? REQUEST_GOOD : REQUEST_OTHER);
    assert_null(f->call.observer);
    assert_window(f, 0, size);
    request_window_destroy(f->window);
}

static void what_is_throttled_halves_the_window_at_its_end(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    assert_window(&f, 1, 4);
    end(&f, false, 2);
}

static void a_good_page_makes_the_window_larger(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 5);
    end(&f, true, 5);
}

/* The window learns that it is throttled before the request ends. */
static void what_waits_for_its_repetition_halves_it_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    call_waits(&f.call);
    assert_window(&f, 1, 2);
    f.call.repeats = 1;
    call_waits(&f.call);
    assert_window(&f, 1, 2);
    end(&f, true, 2); /* the window was halved for it once */
}

struct counting_observer {
    struct call_observer observer;
    int waits;
};

static void count_wait(struct call_observer *observer, const struct failure *reason)
{
    assert_int_equal(reason->error, -EBUSY);
    ((struct counting_observer *)observer)->waits++;
}

static void other_observers_are_told_too(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 4);
    struct counting_observer inner = {{.waits = count_wait, .outer = f.call.observer}, 0};
    f.call.observer = &inner.observer;
    f.call.failure.error = -EBUSY;
    call_waits(&f.call);
    assert_int_equal(inner.waits, 1);
    assert_window(&f, 1, 2);
    f.call.observer = inner.observer.outer;
    end(&f, true, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_throttled_halves_the_window_at_its_end),
        cmocka_unit_test(a_good_page_makes_the_window_larger),
        cmocka_unit_test(what_waits_for_its_repetition_halves_it_at_once),
        cmocka_unit_test(other_observers_are_told_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
