/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_AHEAD_IDLE_POOL_H
#define TESTS_UNIT_CACHE_AHEAD_IDLE_POOL_H
#include "cache/ahead/worker_pool_parts.h"
#include "client/base/locked.h"

#include <unistd.h>

static inline bool pool_is_idle(struct worker_pool *pool)
{
    LOCKED(&pool->lock);
    return !pool->first && pool->running == 0;
}

/* Returns when every submitted task has run, also those that tasks submitted. */
static inline void wait_for_idle_pool(struct worker_pool *pool)
{
    while (!pool_is_idle(pool))
        (void)usleep(500);
}

#endif
