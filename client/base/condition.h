/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_CONDITION_H
#define CLIENT_BASE_CONDITION_H
/* Condition variables for threads that check their calls while they wait. Any thread.
 *
 * With glibc no mutex or condition that is made as here or without attributes can fail
 * (pthread_mutex_init(3), pthread_cond_init(3)), so their results are not looked at. */
#include <pthread.h>
#include <stdint.h>

#define CONDITION_WAIT_MS 50

void condition_init(pthread_cond_t *condition);
/* The caller holds `lock`, which is released during the wait. Returns after a signal, or after
 * CONDITION_WAIT_MS, so that the caller can check for a cancelled call as often as call.h
 * promises. */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
/* The same, after max_ms at the latest; below 0: without a limit. */
void condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t max_ms);

#endif
