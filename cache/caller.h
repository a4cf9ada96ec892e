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

#endif
