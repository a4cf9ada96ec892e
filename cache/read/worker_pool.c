#include "cache/read/worker_pool.h"

#include <pthread.h>
#include <signal.h>

/* Measured: an account in a file takes 32 KiB of it, a request over TLS 14. */
#define STACK_BYTES ((size_t)256 << 10)

struct share {
    struct worker_pool *pool;
    const char *thread_name;
    int limit;
    pthread_cond_t given; /* a task, or the end */
    /* guarded by the pool's lock */
    struct worker_task *first, **end; /* end: where the next one is put */
    int queued, idle, made;           /* idle: threads that wait, woken or not yet */
    pthread_t *threads;               /* made of them, at most limit; NULL: not initialised */
};

struct worker_pool {
    struct share shares[WORKER_SHARES];
    pthread_mutex_t lock;
    /* guarded by lock */
    bool is_ending;
};

static const char *const thread_names[WORKER_SHARES] = {"scan-worker", "commit-worker"};

static int share_init(struct share *share, struct worker_pool *pool, const char *name, int limit)
{
    if (limit < 1)
        return -EINVAL;
    int r = pthread_cond_init(&share->given, NULL);
    if (r != 0)
        return -r;
    share->threads = calloc((size_t)limit, sizeof(*share->threads));
    if (!share->threads) {
        (void)pthread_cond_destroy(&share->given);
        return -ENOMEM;
    }
    share->pool = pool;
    share->thread_name = name;
    share->limit = limit;
    share->end = &share->first;
    return 0;
}

/* Its threads have been told. */
static void share_finish(struct share *share)
{
    if (!share->threads)
        return;
    for (int i = 0; i < share->made; i++)
        (void)pthread_join(share->threads[i], NULL);
    (void)pthread_cond_destroy(&share->given);
    free(share->threads);
}

int worker_pool_create(const int limits[WORKER_SHARES], struct worker_pool **ret)
{
    _cleanup_(freep) struct worker_pool *blank = calloc(1, sizeof(*blank));
    if (!blank)
        return -ENOMEM;
    int r = pthread_mutex_init(&blank->lock, NULL);
    if (r != 0)
        return -r;
    _cleanup_(worker_pool_destroyp) struct worker_pool *pool = TAKE_PTR(blank);
    for (int i = 0; i < WORKER_SHARES; i++) {
        r = share_init(&pool->shares[i], pool, thread_names[i], limits[i]);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(pool);
    return 0;
}

void worker_pool_destroy(struct worker_pool *pool)
{
    if (!pool)
        return;
    (void)pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    for (int i = 0; i < WORKER_SHARES; i++) {
        if (pool->shares[i].threads)
            (void)pthread_cond_broadcast(&pool->shares[i].given);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < WORKER_SHARES; i++)
        share_finish(&pool->shares[i]);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void put_task_locked(struct share *share, struct worker_task *task)
{
    task->next = NULL;
    *share->end = task;
    share->end = &task->next;
    share->queued++;
}

/* Waits for one; NULL: none is left, and the pool ends. */
static struct worker_task *take_task_locked(struct share *share)
{
    while (!share->first && !share->pool->is_ending) {
        share->idle++;
        (void)pthread_cond_wait(&share->given, &share->pool->lock);
        share->idle--;
    }
    struct worker_task *task = share->first;
    if (!task)
        return NULL;
    share->first = task->next;
    if (!share->first)
        share->end = &share->first;
    share->queued--;
    return task;
}

static void *work(void *context)
{
    struct share *share = context;
    struct worker_task *task;
    (void)pthread_setname_np(pthread_self(), share->thread_name);
    (void)pthread_mutex_lock(&share->pool->lock);
    while ((task = take_task_locked(share))) {
        (void)pthread_mutex_unlock(&share->pool->lock);
        task->run(task);
        (void)pthread_mutex_lock(&share->pool->lock);
    }
    (void)pthread_mutex_unlock(&share->pool->lock);
    return NULL;
}

/* The new thread inherits the mask: signals are for the session's own. */
static int create_without_signals(pthread_t *ret_thread, struct share *share)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return r;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret_thread, &attributes, work, share);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return r;
}

/* One more thread if those that wait do not suffice; without it, those that are there must do. In
 * the end who submits is one of them, and comes back for it. */
static void make_thread_locked(struct share *share)
{
    if (share->idle > share->queued || share->made == share->limit || share->pool->is_ending)
        return;
    if (create_without_signals(&share->threads[share->made], share) == 0)
        share->made++;
}

int worker_pool_submit(struct worker_pool *pool, enum worker_share share_name,
                       struct worker_task *task)
{
    struct share *share = &pool->shares[share_name];
    (void)pthread_mutex_lock(&pool->lock);
    make_thread_locked(share);
    bool is_taken = share->made > 0;
    if (is_taken) {
        put_task_locked(share, task);
        (void)pthread_cond_signal(&share->given);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return is_taken ? 0 : -EAGAIN;
}
