/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_CLOCK_H
#define CLIENT_BASE_CLOCK_H
/* A module gets its clock at its creation; tests pass a clock that they set. Any thread. */
#include <stdint.h>

/* Timestamps are ticks of 100 ns since 1970 (UTC), as those of the service; deadlines and ages are
 * milliseconds of the monotonic clock. */
#define TICKS_PER_SEC INT64_C(10000000)
#define TICKS_PER_MS  (TICKS_PER_SEC / 1000)

struct clock {
    int64_t (*monotonic_ms)(void *context);
    int64_t (*utc_100ns)(void *context); /* since 1970 */
    void (*sleep_ms)(void *context, int64_t ms);
    void *context;
};

extern const struct clock clock_system;
/* Its monotonic clock also counts the time in which the machine was suspended. */
extern const struct clock clock_boottime;

static inline int64_t clock_now_ms(const struct clock *clock)
{
    return clock->monotonic_ms(clock->context);
}

static inline int64_t clock_utc_100ns(const struct clock *clock)
{
    return clock->utc_100ns(clock->context);
}

#endif
