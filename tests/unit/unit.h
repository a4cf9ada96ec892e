/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H
/* What every unit test includes: cmocka with what it needs, a clock that tests turn, byte strings
 * compared. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define B(literal)             BYTES_LITERAL(literal)
#define ROW_AT(partition, row) B(partition "\0" row) /* of a row, by its keys */

/* How many random trials a test makes. Under a sanitizer they take many times as long, and a part
 * of them runs the same code: TRIAL_SHARE is 1 without one (meson.build). */
#define TRIALS(n) ((n) / TRIAL_SHARE)

#define assert_bytes(actual, ...) assert_bytes_at((actual), (__VA_ARGS__), __FILE__, __LINE__)

static inline void assert_bytes_at(struct bytes actual, struct bytes expected, const char *file,
                                   int line)
{
    if (bytes_equal(actual, expected))
        return;
    print_error("%.*s\nis not\n%.*s\n", (int)actual.size, actual.data ? actual.data : "",
                (int)expected.size, expected.data ? expected.data : "");
    _fail(file, line);
}

/* Defines what TEST_WITH(name, ...) runs a test with: `begin` fills a `type`, to which *state
 * points in the test, and `end` follows. Both name it `test`. When `end` runs, the local variables
 * of the test are gone. No teardown of cmocka: that would also run after a test that has failed,
 * whose threads may still use what it destroys. */
#define DEFINE_FIXTURE(name, type, begin, end)                                                     \
    static inline void run_with_##name(void **state)                                               \
    {                                                                                              \
        static type filled;                                                                        \
        __typeof__(filled) *test = &filled;                                                        \
        void *given = test;                                                                        \
        begin;                                                                                     \
        ((CMUnitTestFunction)*state)(&given);                                                      \
        end;                                                                                       \
    }
/* The same for an object, which is *state. */
#define DEFINE_OBJECT_FIXTURE(name, create, destroy)                                               \
    static inline void run_with_##name(void **state)                                               \
    {                                                                                              \
        void *object = (create), *given = object;                                                  \
        ((CMUnitTestFunction)*state)(&given);                                                      \
        destroy(object);                                                                           \
    }
#define TEST_WITH(fixture, function)                                                               \
    {                                                                                              \
        .name = #function, .test_func = run_with_##fixture, .initial_state = (void *)(function)    \
    }

/* A clock that stands still but for sleeps; context is its time in ms. */
static inline int64_t fake_monotonic_ms(void *context)
{
    return *(int64_t *)context;
}

static inline int64_t fake_utc_100ns(void *context)
{
    return *(int64_t *)context * TICKS_PER_MS;
}

static inline void fake_sleep_ms(void *context, int64_t ms)
{
    *(int64_t *)context += ms;
}

static inline struct clock fake_clock(int64_t *now_ms)
{
    return (struct clock){fake_monotonic_ms, fake_utc_100ns, fake_sleep_ms, now_ms};
}

#endif
