/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_WORKER_POOL_PARTS_H
#define CACHE_AHEAD_WORKER_POOL_PARTS_H
/* Private to the worker pool, and to tests that wait until a pool has no task. */
#include "cache/ahead/worker_pool.h"

#include <pthread.h>

struct worker_pool {
    int slots, max_threads;
    pthread_mutex_t lock;
    pthread_cond_t is_work; /* a task may be started, or the pool ends */
    /* guarded by lock */
    struct worker_task *first, **end; /* end: where the next task is linked */
    struct lane {
        int queued, running;
    } lanes[LANES];
    int running;   /* tasks of all lanes */
    int startable; /* queued tasks whose lane has a free slot */
    int threads_made;
    bool is_ending;
    pthread_t threads[]; /* threads_made of max_threads */
};

#endif
