/* SPDX-License-Identifier: MIT */
#include "cache/queue/commit_threads.h"
#include "client/base/locked.h"
#include "client/base/thread.h"

#include <stdatomic.h>

struct commit_threads {
    struct pending *pending;
    struct batch_committer committer;
    atomic_bool is_stopped;
    atomic_int count;     /* grows under the lock */
    pthread_mutex_t lock; /* guards the rest */
    pthread_t threads[COMMIT_THREADS_MAX];
};

int commit_threads_create(struct pending *pending, const struct batch_committer *committer,
                          struct commit_threads **ret)
{
    struct commit_threads *threads = calloc(1, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    (void)pthread_mutex_init(&threads->lock, NULL);
    threads->pending = pending;
    threads->committer = *committer;
    *ret = threads;
    return 0;
}

static bool is_stopped(void *context)
{
    return ((struct commit_threads *)context)->is_stopped;
}

struct work { /* of one thread */
    struct commit_threads *threads;
    struct write_batch batch;
};

static void *work(void *context)
{
    struct work *work = context;
    struct commit_threads *threads = work->threads;
    while (pending_take(threads->pending, &work->batch)) {
        struct call call = {.is_cancelled = is_stopped, .context = threads};
        batch_commit(&threads->committer, &work->batch, &call);
        pending_end(threads->pending, &work->batch);
    }
    free(work);
    return NULL;
}

static bool start_locked(struct commit_threads *threads)
{
    struct work *context = calloc(1, sizeof(*context));
    if (!context)
        return false;
    context->threads = threads;
    if (thread_create(&threads->threads[threads->count], work, context) != 0) {
        free(context);
        return false;
    }
    threads->count++;
    return true;
}

int commit_threads_wake(struct commit_threads *threads)
{
    /* one partition keeps two threads busy; each further one needs one more */
    int wanted = (int)MIN(pending_partitions(threads->pending) + 2, COMMIT_THREADS_MAX);
    if (threads->count >= wanted)
        return 0;
    LOCKED(&threads->lock);
    while (threads->count < wanted && start_locked(threads))
        ;
    return threads->count > 0 ? 0 : -EAGAIN;
}

void commit_threads_end(struct commit_threads *threads, int64_t deadline_ms)
{
    pending_close(threads->pending);
    pending_wait_empty(threads->pending, deadline_ms);
    pending_stop(threads->pending);
    threads->is_stopped = true;
    (void)pthread_mutex_lock(&threads->lock);
    int count = threads->count;
    (void)pthread_mutex_unlock(&threads->lock);
    for (int i = 0; i < count; i++)
        (void)pthread_join(threads->threads[i], NULL);
    threads->count = 0;
}

void commit_threads_destroy(struct commit_threads *threads)
{
    if (!threads)
        return;
    commit_threads_end(threads, 0);
    (void)pthread_mutex_destroy(&threads->lock);
    free(threads);
}
