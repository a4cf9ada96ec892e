/* SPDX-License-Identifier: MIT */
#include "cache/ahead/worker_pool.h"
#include "cache/ahead/worker_pool_parts.h"
#include "client/base/locked.h"
#include "client/base/thread.h"

#include <assert.h>

int worker_pool_create(int slots, struct worker_pool **ret)
{
    if (slots < 1)
        return -EINVAL;
    int max_threads = slots * WORKER_POOL_TABLES;
    struct worker_pool *pool =
        calloc(1, sizeof(*pool) + (size_t)max_threads * sizeof(pool->threads[0]));
    if (!pool)
        return -ENOMEM;
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->is_work, NULL);
    pool->slots = slots;
    pool->max_threads = max_threads;
    pool->end = &pool->first;
    *ret = pool;
    return 0;
}

void worker_pool_destroy(struct worker_pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    (void)pthread_cond_broadcast(&pool->is_work);
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads_made; i++)
        (void)pthread_join(pool->threads[i], NULL);
    (void)pthread_cond_destroy(&pool->is_work);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void count_locked(struct worker_pool *pool, unsigned lane, int queued, int running)
{
    struct lane *counted = &pool->lanes[lane];
    pool->startable -= MIN(counted->queued, MAX(pool->slots - counted->running, 0));
    counted->queued += queued;
    counted->running += running;
    pool->running += running;
    pool->startable += MIN(counted->queued, MAX(pool->slots - counted->running, 0));
}

static void put_task_locked(struct worker_pool *pool, struct worker_task *task)
{
    task->next = NULL;
    *pool->end = task;
    pool->end = &task->next;
    count_locked(pool, task->lane, 1, 0);
}

/* Where the first task is linked that may start now. NULL: none may. At the end all may: they have
 * been cancelled. */
static struct worker_task **find_task_locked(struct worker_pool *pool)
{
    struct worker_task **link = &pool->first;
    if (pool->is_ending)
        return *link ? link : NULL;
    while (*link && pool->lanes[(*link)->lane].running >= pool->slots)
        link = &(*link)->next;
    return *link ? link : NULL;
}

static struct worker_task *unlink_locked(struct worker_pool *pool, struct worker_task **link)
{
    struct worker_task *task = *link;
    assert(task);
    *link = task->next;
    if (!*link)
        pool->end = link;
    count_locked(pool, task->lane, -1, 0);
    return task;
}

static void *work(void *context);

/* A task was queued: adds a thread for it, if it may start and the free ones do not suffice. If
 * that fails, the existing threads do the work. While the pool ends, the submitter is one of the
 * threads, and takes the task itself later. */
static void start_task_locked(struct worker_pool *pool)
{
    if (!find_task_locked(pool) || pool->is_ending)
        return;
    int free_threads = pool->threads_made - pool->running; /* they wait, or are about to */
    if (free_threads < pool->startable && pool->threads_made < pool->max_threads &&
        thread_create(&pool->threads[pool->threads_made], work, pool) == 0)
        pool->threads_made++;
    (void)pthread_cond_signal(&pool->is_work);
}

/* Waits for a task. NULL: the pool ends and the queue is empty. */
static struct worker_task *take_task_locked(struct worker_pool *pool)
{
    struct worker_task **link;
    while (!(link = find_task_locked(pool)) && !pool->is_ending)
        (void)pthread_cond_wait(&pool->is_work, &pool->lock);
    if (!link)
        return NULL;
    struct worker_task *task = unlink_locked(pool, link);
    count_locked(pool, task->lane, 0, 1);
    if (find_task_locked(pool)) /* another thread takes the next one */
        (void)pthread_cond_signal(&pool->is_work);
    return task;
}

static void *work(void *context)
{
    struct worker_pool *pool = context;
    struct worker_task *task;
    (void)pthread_setname_np(pthread_self(), "scan-worker");
    (void)pthread_mutex_lock(&pool->lock);
    while ((task = take_task_locked(pool))) {
        unsigned lane = task->lane;
        (void)pthread_mutex_unlock(&pool->lock);
        task->run(task);
        (void)pthread_mutex_lock(&pool->lock);
        count_locked(pool, lane, 0, -1);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int worker_pool_submit(struct worker_pool *pool, struct worker_task *task)
{
    LOCKED(&pool->lock);
    put_task_locked(pool, task);
    start_task_locked(pool);
    bool is_taken = pool->threads_made > 0;
    if (!is_taken) /* then the task is the only one */
        (void)unlink_locked(pool, &pool->first);
    return is_taken ? 0 : -EAGAIN;
}
