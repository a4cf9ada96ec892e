/* SPDX-License-Identifier: MIT */
#include "client/base/clock.h"
#include "client/base/base.h"

static int64_t milliseconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t monotonic_ms(void *context)
{
    (void)context;
    return milliseconds(CLOCK_MONOTONIC);
}

static int64_t boottime_ms(void *context)
{
    (void)context;
    return milliseconds(CLOCK_BOOTTIME);
}

static int64_t utc_100ns(void *context)
{
    (void)context;
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * TICKS_PER_SEC + now.tv_nsec / 100;
}

static void sleep_ms(void *context, int64_t ms)
{
    (void)context;
    struct timespec duration = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&duration, NULL); /* a signal may end it early: callers check the time again */
}

const struct clock clock_system = {
    .monotonic_ms = monotonic_ms, .utc_100ns = utc_100ns, .sleep_ms = sleep_ms};
const struct clock clock_boottime = {
    .monotonic_ms = boottime_ms, .utc_100ns = utc_100ns, .sleep_ms = sleep_ms};
