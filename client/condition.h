#ifndef CLIENT_CONDITION_H
#define CLIENT_CONDITION_H
/* What threads wait for that want to look at their calls meanwhile. Any thread. */
#include <pthread.h>

#define CONDITION_WAIT_MS 50

int condition_init(pthread_cond_t *condition); /* 0 or -ENOMEM */
/* Holds `lock`, and waits without it until told, or for CONDITION_WAIT_MS: so a call that is
 * cancelled is found as often as call.h promises. */
void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
