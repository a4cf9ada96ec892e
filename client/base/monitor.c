/* SPDX-License-Identifier: MIT */
#include "client/base/monitor.h"
#include "client/base/condition.h"

void monitor_init(struct monitor *monitor)
{
    (void)pthread_mutex_init(&monitor->lock, NULL);
    condition_init(&monitor->changed);
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
    condition_wait(&monitor->changed, &monitor->lock);
}

void monitor_wait_for(struct monitor *monitor, int64_t max_ms)
{
    condition_wait_for(&monitor->changed, &monitor->lock, max_ms);
}

void monitor_notify(struct monitor *monitor)
{
    (void)pthread_cond_broadcast(&monitor->changed);
}
