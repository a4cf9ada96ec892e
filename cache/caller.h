#ifndef CACHE_CALLER_H
#define CACHE_CALLER_H
/* Who asks and on what terms: a value on the handler's stack, filled by fs/request. */
#include "client/call.h"

struct caller {
    struct call call;
    uint64_t process;    /* thread group and its start time in one number; 0: never seen before */
    int64_t patience_ms; /* how long to go on without progress: each answered page puts the deadline
                            off by it */
    int64_t valid_ms;    /* out: how long the kernel may keep the answer, a "no" as well */
};

/* When what was just answered was asked: by the attempt that succeeded, not by those before. */
static inline int64_t caller_asked_ms(const struct caller *caller, int64_t began_ms)
{
    return MAX(began_ms, caller->call.sent_ms);
}

static inline void caller_made_progress(struct caller *caller, const struct clock *clock)
{
    caller->call.deadline_ms = clock_now_ms(clock) + caller->patience_ms;
}

/* What failed ahead of the caller may be of another place: 0, so that it asks at its own and is
 * told the truth. What is its own reason, or met everywhere (interrupted, no patience left, no
 * memory, a service that fails for now), stays r. */
static inline int caller_forgive(struct caller *caller, int r)
{
    struct failure *failure = &caller->call.failure;
    if (r >= 0 || r == -EINTR || r == -ETIMEDOUT || r == -ENOMEM || failure->is_retryable)
        return r;
    *failure = (struct failure){0};
    return 0;
}

#endif
