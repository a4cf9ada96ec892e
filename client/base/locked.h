/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_LOCKED_H
#define CLIENT_BASE_LOCKED_H
/* A lock that ends with its block. */
#include "client/base/base.h"

#include <pthread.h>

struct locked {
    pthread_mutex_t *mutex;
};

static inline struct locked locked_begin(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_lock(mutex);
    return (struct locked){mutex};
}

static inline void locked_end(struct locked *locked)
{
    (void)pthread_mutex_unlock(locked->mutex);
}

/* Locks the mutex until the block is left, at most once in a block. What _cleanup_ frees is
 * declared before it: then it is freed without the lock. */
#define LOCKED(mutex)                                                                              \
    struct locked locked_ __attribute__((cleanup(locked_end), unused)) = locked_begin(mutex)

#endif
