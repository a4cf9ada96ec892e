#include "client/condition.h"
#include "client/base.h"

#define SECOND_NS 1000000000

int condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return r == 0 ? 0 : -ENOMEM;
}

void condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += CONDITION_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    (void)pthread_cond_timedwait(condition, lock, &until);
}
