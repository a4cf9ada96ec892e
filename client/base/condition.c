/* SPDX-License-Identifier: MIT */
#include "client/base/condition.h"

#define SECOND_NS 1000000000

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t max_ms)
{
    if (max_ms < 0) {
        (void)pthread_cond_wait(condition, lock);
        return;
    }
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += max_ms / 1000;
    until.tv_nsec += max_ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    (void)pthread_cond_timedwait(condition, lock, &until);
}

void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    condition_wait_for(condition, lock, CONDITION_WAIT_MS);
}
