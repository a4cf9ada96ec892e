#include "client/local/monitor.h"

#define WAIT_NS 50000000

int monitor_init(struct monitor *monitor)
{
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&monitor->lock, NULL) != 0)
        return -ENOMEM;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int r = pthread_cond_init(&monitor->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (r != 0)
        (void)pthread_mutex_destroy(&monitor->lock);
    return r == 0 ? 0 : -ENOMEM;
}

void monitor_finish(struct monitor *monitor)
{
    (void)pthread_cond_destroy(&monitor->changed);
    (void)pthread_mutex_destroy(&monitor->lock);
}

void monitor_enter(struct monitor *monitor)
{
    (void)pthread_mutex_lock(&monitor->lock);
}

void monitor_leave(struct monitor *monitor)
{
    (void)pthread_mutex_unlock(&monitor->lock);
}

void monitor_wait(struct monitor *monitor)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&monitor->changed, &monitor->lock, &until);
}

void monitor_tell(struct monitor *monitor)
{
    (void)pthread_cond_broadcast(&monitor->changed);
}
