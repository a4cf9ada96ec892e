#ifndef CLIENT_CONDITION_H
#define CLIENT_CONDITION_H
/* Condition variables for threads that check their calls while they wait. Any thread. */
#include <pthread.h>

#define CONDITION_WAIT_MS 50

int condition_init(pthread_cond_t *condition); /* 0 or -ENOMEM */
/* The caller holds `lock`, which is released during the wait. Returns after a signal, or after
 * CONDITION_WAIT_MS, so that the caller can check for a cancelled call as often as call.h
 * promises. */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
