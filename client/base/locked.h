/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_LOCKED_H
#define CLIENT_BASE_LOCKED_H
/* A mutex that is unlocked at the end of a block. */
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

/* Locks the mutex until the end of the block; at most once in a block. Declare variables with
 * _cleanup_ before it: then they are freed after the unlock. */
#define LOCKED(mutex)                                                                              \
    struct locked locked_ __attribute__((cleanup(locked_end), unused)) = locked_begin(mutex)

#endif
