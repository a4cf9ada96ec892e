#ifndef CACHE_FRESHNESS_H
#define CACHE_FRESHNESS_H
/* How long an answer may be shown. Pure. */
#include "client/base.h"

/* Until ttl after it was asked for; where the service took longer than half a ttl to answer, for
 * half a ttl from its arrival: else a service slower than the ttl would be asked again for every
 * step of every path, at its own pace. ttl 0: never. */
static inline int64_t freshness_end_ms(int64_t asked_ms, int64_t arrived_ms, int64_t ttl_ms)
{
    return MAX(asked_ms + ttl_ms, arrived_ms + ttl_ms / 2);
}

#endif
