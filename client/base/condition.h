/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_CONDITION_H
#define CLIENT_BASE_CONDITION_H
/* Condition variables for threads that check while they wait whether their call is cancelled. Any
 * thread.
 *
 * In glibc, a mutex without attributes and a condition as made here cannot fail
 * (pthread_mutex_init(3), pthread_cond_init(3)), so their results are not checked. */
#include <pthread.h>
#include <stdint.h>

#define CONDITION_WAIT_MS 50

void condition_init(pthread_cond_t *condition);
/* The caller has `lock`, which is released during the wait. Returns when the condition is signaled,
 * or after CONDITION_WAIT_MS, so that the caller can check for a cancelled call as often as call.h
 * promises. */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
/* The same, but returns after max_ms; max_ms < 0: waits without a limit. */
void condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t max_ms);

#endif
