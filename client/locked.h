/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCKED_H
#define CLIENT_LOCKED_H
/* A lock that ends with its block. */
#include "client/base.h"

#include <pthread.h>

static inline pthread_mutex_t *locked_begin(pthread_mutex_t *mutex)
{
    (void)pthread_mutex_lock(mutex);
    return mutex;
}

static inline void locked_end(pthread_mutex_t **mutex)
{
    (void)pthread_mutex_unlock(*mutex);
}

/* Locks the mutex until the block is left, at most once in a block. What _cleanup_ frees is
 * declared before it: then it is freed without the lock. */
#define LOCKED(mutex)                                                                              \
    __attribute__((cleanup(locked_end), unused)) pthread_mutex_t *locked_ = locked_begin(mutex)

#endif
