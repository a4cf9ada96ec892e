/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CALLER_H
#define CACHE_CALLER_H
/* The process that an operation works for, and how long the operation may take. A value on the
 * handler's stack, filled by fs/kernel/request; one thread. */
#include "client/store/call.h"

struct caller {
    struct call call;
    uint64_t process;    /* struct process.number of fs/base/process_id.h; 0: not known */
    int64_t patience_ms; /* after each answered page the deadline becomes now + patience_ms */
    int64_t end_ms;      /* the deadline never becomes later than this; 0: no limit */
    int64_t valid_ms;    /* out: how long the kernel may keep the answer, also -ENOENT */
};

/* When the answer was requested: the time of the attempt that succeeded, not of earlier attempts.
 * began_ms: when the call on the store began. */
static inline int64_t caller_requested_ms(const struct caller *caller, int64_t began_ms)
{
    return MAX(began_ms, caller->call.sent_ms);
}

static inline void caller_made_progress(struct caller *caller, const struct clock *clock)
{
    int64_t deadline_ms = clock_now_ms(clock) + caller->patience_ms;
    caller->call.deadline_ms = caller->end_ms > 0 ? MIN(deadline_ms, caller->end_ms) : deadline_ms;
}

/* Decides about the failure r of a request that was sent ahead, before the caller needed its rows.
 * Such a failure may concern another part of the table than the caller reads. Then this function
 * clears it and returns 0, and the caller sends its own request, which gives the right result.
 *
 * Returns r if the caller's own request would fail in the same way: the call was interrupted, its
 * deadline has passed, there is no memory, or the service fails temporarily. */
static inline int caller_forgive(struct caller *caller, int r)
{
    struct failure *failure = &caller->call.failure;
    if (r >= 0 || r == -EINTR || r == -ETIMEDOUT || r == -ENOMEM || failure->is_retryable)
        return r;
    *failure = (struct failure){0};
    return 0;
}

#endif
