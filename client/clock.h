#ifndef CLIENT_CLOCK_H
#define CLIENT_CLOCK_H
/* Time, given to a module at its creation; tests turn their own. Any thread. */
#include <stdint.h>

struct clock {
    int64_t (*monotonic_ms)(void *context);
    int64_t (*utc_100ns)(void *context); /* since 1970 */
    void (*sleep_ms)(void *context, int64_t ms);
    void *context;
};

extern const struct clock clock_system;

static inline int64_t clock_now_ms(const struct clock *clock)
{
    return clock->monotonic_ms(clock->context);
}

static inline int64_t clock_utc_100ns(const struct clock *clock)
{
    return clock->utc_100ns(clock->context);
}

#endif
