#ifndef CACHE_READ_STAMP_H
#define CACHE_READ_STAMP_H
/* When something was asked of the service: in time, and in order with everything else that this
 * mount asked and changed. Values; any thread. A stamp is also what a question wants: an answer
 * that was asked `since`. */
#include "client/base.h"

struct stamp {
    int64_t asked_ms; /* monotonic */
    uint64_t order;   /* grows with each stamp taken: of two in one millisecond, which came first */
};

/* Before a query is sent, or once a change of our own was acknowledged: it is younger than every
 * query that was sent before. */
static inline struct stamp stamp_take(_Atomic uint64_t *orders, int64_t now_ms)
{
    return (struct stamp){now_ms, ++*orders};
}

/* Wants what is asked from now on. */
static inline struct stamp stamp_from_now(_Atomic uint64_t *orders, int64_t now_ms)
{
    return (struct stamp){now_ms, *orders + 1};
}

/* Wants what was asked at `not_before_ms` or later. */
static inline struct stamp stamp_since(int64_t not_before_ms)
{
    return (struct stamp){not_before_ms, 0};
}

static inline bool stamp_satisfies(struct stamp stamp, struct stamp since)
{
    return stamp.asked_ms >= since.asked_ms && stamp.order >= since.order;
}

static inline bool stamp_is_younger(struct stamp a, struct stamp b)
{
    return a.order > b.order;
}

#endif
