#ifndef CLIENT_LOCAL_MONITOR_H
#define CLIENT_LOCAL_MONITOR_H
/* A mutex with a condition: what threads wait for that want to look at their calls meanwhile. Any
 * thread. */
#include "client/base.h"

#include <pthread.h>

struct monitor { /* private to monitor.c */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

int monitor_init(struct monitor *monitor); /* 0 or -ENOMEM */
void monitor_finish(struct monitor *monitor);
void monitor_enter(struct monitor *monitor);
void monitor_leave(struct monitor *monitor);
/* Inside: waits outside, until monitor_tell or for 50 ms; so a call that is cancelled is found as
 * often as call.h promises. */
void monitor_wait(struct monitor *monitor);
void monitor_tell(struct monitor *monitor); /* all who wait */

#endif
