/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_STAMP_H
#define CACHE_KNOWN_STAMP_H
/* Stamp: when a request was sent to the service, as a time and as a number in the order of all
 * requests and changes of this mount. A query of the cache also has a stamp, `since`: it accepts
 * answers that were requested then or later. Values; any thread. */
#include "client/base/base.h"

struct stamp {
    int64_t requested_ms; /* monotonic */
    uint64_t order;       /* grows with each stamp, also within one millisecond */
};

/* Call it before a query is sent, or after a change by this mount was acknowledged. So a change is
 * younger than every query that was sent before its acknowledgement. */
static inline struct stamp stamp_take(_Atomic uint64_t *orders, int64_t now_ms)
{
    return (struct stamp){now_ms, ++*orders};
}

/* Accepts only answers that are requested from now on. */
static inline struct stamp stamp_from_now(_Atomic uint64_t *orders, int64_t now_ms)
{
    return (struct stamp){now_ms, *orders + 1};
}

/* Accepts answers that were requested at not_before_ms or later. */
static inline struct stamp stamp_since(int64_t not_before_ms)
{
    return (struct stamp){not_before_ms, 0};
}

static inline bool stamp_satisfies(struct stamp stamp, struct stamp since)
{
    return stamp.requested_ms >= since.requested_ms && stamp.order >= since.order;
}

static inline bool stamp_is_younger(struct stamp a, struct stamp b)
{
    return a.order > b.order;
}

#endif
