/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_MONITOR_H
#define CLIENT_BASE_MONITOR_H
/* A mutex with one condition, for threads that wait, and wake regularly to check whether their call
 * was cancelled. Any thread. */
#include "client/base/locked.h"

struct monitor { /* private to monitor.c */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

void monitor_init(struct monitor *monitor);
void monitor_finish(struct monitor *monitor);
void monitor_enter(struct monitor *monitor); /* locks */
void monitor_leave(struct monitor *monitor); /* unlocks */
/* Locks the monitor until the end of the block, as LOCKED of locked.h. */
#define INSIDE(monitor) LOCKED(&(monitor)->lock)
/* The caller has the lock, which is released during the wait. Waits for monitor_notify, at most
 * CONDITION_WAIT_MS: so the caller can check for a cancelled call as often as call.h promises. */
void monitor_wait(struct monitor *monitor);
/* The same for a thread without a call: waits at most max_ms; max_ms < 0: without a limit. */
void monitor_wait_for(struct monitor *monitor, int64_t max_ms);
void monitor_notify(struct monitor *monitor); /* wakes every waiting thread */

#endif
