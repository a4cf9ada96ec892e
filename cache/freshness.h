#ifndef CACHE_FRESHNESS_H
#define CACHE_FRESHNESS_H
/* How old an answer is. Pure. */
#include "client/base.h"

/* As of when an answer counts: since it was asked for; where the service took longer than half a
 * ttl to answer, since half a ttl before its arrival: else a service slower than the ttl would be
 * asked again for every step of every path, at its own pace. */
static inline int64_t freshness_asked_ms(int64_t asked_ms, int64_t arrived_ms, int64_t ttl_ms)
{
    return MAX(asked_ms, arrived_ms - ttl_ms / 2);
}

#endif
