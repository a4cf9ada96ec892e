#include "cache/read/worker_pool.h"

#include <pthread.h>
#include <signal.h>

/* Measured: a request to an account in a file needs 32 KiB, a request over TLS 14 KiB. */
#define STACK_BYTES ((size_t)256 << 10)

struct worker_pool {
    int max_threads;
    pthread_mutex_t lock;
    pthread_cond_t is_work; /* a task was queued, or the pool ends */
    pthread_cond_t is_done; /* a task has ended */
    /* guarded by lock */
    struct worker_task *first, **end; /* end: where the next task is linked */
    int queued, running;
    int idle; /* threads that wait; a thread that was woken counts until it runs */
    int threads_made;
    bool is_ending;
    pthread_t threads[]; /* threads_made of max_threads */
};

int worker_pool_create(int max_threads, struct worker_pool **ret)
{
    if (max_threads < 1)
        return -EINVAL;
    _cleanup_(freep) struct worker_pool *pool =
        calloc(1, sizeof(*pool) + (size_t)max_threads * sizeof(pool->threads[0]));
    if (!pool)
        return -ENOMEM;
    int r = pthread_mutex_init(&pool->lock, NULL);
    if (r != 0)
        return -r;
    r = pthread_cond_init(&pool->is_work, NULL);
    if (r == 0 && (r = pthread_cond_init(&pool->is_done, NULL)) != 0)
        (void)pthread_cond_destroy(&pool->is_work);
    if (r != 0) {
        (void)pthread_mutex_destroy(&pool->lock);
        return -r;
    }
    pool->max_threads = max_threads;
    pool->end = &pool->first;
    *ret = TAKE_PTR(pool);
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
    (void)pthread_cond_destroy(&pool->is_done);
    (void)pthread_cond_destroy(&pool->is_work);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void put_task_locked(struct worker_pool *pool, struct worker_task *task)
{
    task->next = NULL;
    *pool->end = task;
    pool->end = &task->next;
    pool->queued++;
}

/* Waits for a task. NULL: the pool ends and the queue is empty. */
static struct worker_task *take_task_locked(struct worker_pool *pool)
{
    while (!pool->first && !pool->is_ending) {
        pool->idle++;
        (void)pthread_cond_wait(&pool->is_work, &pool->lock);
        pool->idle--;
    }
    struct worker_task *task = pool->first;
    if (!task)
        return NULL;
    pool->first = task->next;
    if (!pool->first)
        pool->end = &pool->first;
    pool->queued--;
    pool->running++;
    return task;
}

static void *work(void *context)
{
    struct worker_pool *pool = context;
    struct worker_task *task;
    (void)pthread_setname_np(pthread_self(), "scan-worker");
    (void)pthread_mutex_lock(&pool->lock);
    while ((task = take_task_locked(pool))) {
        (void)pthread_mutex_unlock(&pool->lock);
        task->run(task);
        (void)pthread_mutex_lock(&pool->lock);
        pool->running--;
        (void)pthread_cond_broadcast(&pool->is_done);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* A new thread inherits the signal mask. Only the threads of the FUSE session handle signals. */
static int create_without_signals(pthread_t *ret_thread, struct worker_pool *pool)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return r;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret_thread, &attributes, work, pool);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return r;
}

/* Adds a thread if the idle ones do not suffice for the queue. If that fails, the existing threads
 * do the work. While the pool ends, the submitter is one of the threads, and takes the task itself
 * later. */
static void make_thread_locked(struct worker_pool *pool)
{
    if (pool->idle > pool->queued || pool->threads_made == pool->max_threads || pool->is_ending)
        return;
    if (create_without_signals(&pool->threads[pool->threads_made], pool) == 0)
        pool->threads_made++;
}

int worker_pool_submit(struct worker_pool *pool, struct worker_task *task)
{
    (void)pthread_mutex_lock(&pool->lock);
    make_thread_locked(pool);
    bool is_taken = pool->threads_made > 0;
    if (is_taken) {
        put_task_locked(pool, task);
        (void)pthread_cond_signal(&pool->is_work);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return is_taken ? 0 : -EAGAIN;
}

void worker_pool_wait_idle(struct worker_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock);
    while (pool->queued > 0 || pool->running > 0)
        (void)pthread_cond_wait(&pool->is_done, &pool->lock);
    (void)pthread_mutex_unlock(&pool->lock);
}
