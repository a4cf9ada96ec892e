/* SPDX-License-Identifier: MIT */
#include "cache/ahead/request_slot.h"
#include "cache/core.h"
#include "client/base/condition.h"
#include "client/base/thread.h"

#include <assert.h>
#include <sys/queue.h>

#define OUT_BYTES    ((size_t)32 << 20) /* of the batches in flight */
#define THROTTLED_MS 2000               /* import_is_throttled, after a throttled request */

struct job { /* one batch */
    STAILQ_ENTRY(job) next;
    struct groups_batch grouped;
    struct write_batch batch;
};
STAILQ_HEAD(job_queue, job);

struct import {
    struct account *account;
    char *table;
    import_refused *refused;
    void *context;
    struct committer *committer;
    struct batch_committer batches;
    struct request_window *window;
    struct groups *groups;
    struct import_counts counts;
    struct failure failure;
    struct job jobs[IMPORT_REQUESTS_MAX];
    struct job_queue unused;
    int used, threads_made; /* used: jobs */
    pthread_t threads[IMPORT_REQUESTS_MAX];
    atomic_bool is_stopped;
    _Atomic int64_t throttled_ms; /* when a request was last throttled */
    pthread_mutex_t lock;
    pthread_cond_t is_work, has_ended;
    /* guarded by lock */
    struct job_queue todo, ended;
};

/* A thread of the import */

static bool is_given_up(void *context)
{
    return ((struct import *)context)->is_stopped;
}

/* NULL: it ends. */
static struct job *take_job(struct import *import)
{
    (void)pthread_mutex_lock(&import->lock);
    while (STAILQ_EMPTY(&import->todo) && !import->is_stopped)
        condition_wait_for(&import->is_work, &import->lock, -1);
    struct job *job = import->is_stopped ? NULL : STAILQ_FIRST(&import->todo);
    if (job)
        STAILQ_REMOVE_HEAD(&import->todo, next);
    (void)pthread_mutex_unlock(&import->lock);
    return job;
}

static void end_job(struct import *import, struct job *job)
{
    (void)pthread_mutex_lock(&import->lock);
    STAILQ_INSERT_TAIL(&import->ended, job, next);
    (void)pthread_cond_signal(&import->has_ended);
    (void)pthread_mutex_unlock(&import->lock);
}

struct watch {
    struct call_observer observer; /* first */
    struct import *import;
};

static void note_wait(struct call_observer *observer, const struct failure *reason)
{
    struct import *import = ((struct watch *)observer)->import;
    if (failure_is_throttled(reason))
        import->throttled_ms = clock_now_ms(import->account->read.clock);
}

/* The batch holds one place in the window, also during the requests that repair it. */
static void commit(struct import *import, struct job *job)
{
    struct watch watch = {.observer.waits = note_wait, .import = import};
    struct call call = {.is_cancelled = is_given_up,
                        .context = import,
                        .observer = &watch.observer,
                        .command = "import"};
    struct request_slot slot = {.window = import->window, .lane = lane_of_table(import->table)};
    request_slot_begin(&slot, &call, import->account->read.clock);
    batch_commit(&import->batches, &job->batch, &call);
    request_slot_end(&slot, &call, job->batch.again.error,
                     call.failure.error == 0 ? REQUEST_GOOD : REQUEST_OTHER);
}

static void *work(void *context)
{
    struct import *import = context;
    for (struct job *job; (job = take_job(import));) {
        commit(import, job);
        end_job(import, job);
    }
    return NULL;
}

/* The caller's thread */

static int create_sender(struct import *import)
{
    const struct account *account = import->account;
    const struct table_store_limits *limits = table_store_limits(account->store);
    const struct groups_limits groups = {.batch_rows = MIN(limits->batch_writes, GROUPS_BATCH_MAX),
                                         .batch_bytes = limits->batch_bytes,
                                         .max_bytes = GROUPS_BYTES,
                                         .max_out_bytes = OUT_BYTES};
    const struct committer_source source = {.store = account->store,
                                            .fetcher = account->read.fetcher,
                                            .clock = account->read.clock,
                                            .orders = &import->account->orders};
    int r = groups_create(&groups, &import->groups);
    if (r == 0)
        r = request_window_create(IMPORT_REQUESTS_MAX, &import->window);
    if (r == 0)
        r = committer_create(&source, &import->committer);
    import->batches = (struct batch_committer){.committer = import->committer,
                                               .clock = account->read.clock,
                                               .patience_ms = account->options.timeout_ms};
    return r;
}

int account_import(struct account *account, const char *table, import_refused *refused,
                   void *context, struct import **ret)
{
    struct import *import = calloc(1, sizeof(*import));
    if (!import)
        return -ENOMEM;
    import->account = account;
    import->refused = refused;
    import->context = context;
    import->throttled_ms = INT64_MIN / 2;
    STAILQ_INIT(&import->unused);
    STAILQ_INIT(&import->todo);
    STAILQ_INIT(&import->ended);
    for (size_t i = 0; i < IMPORT_REQUESTS_MAX; i++)
        STAILQ_INSERT_TAIL(&import->unused, &import->jobs[i], next);
    (void)pthread_mutex_init(&import->lock, NULL);
    condition_init(&import->is_work);
    condition_init(&import->has_ended);
    import->table = strdup(table);
    int r = import->table ? create_sender(import) : -ENOMEM;
    if (r < 0)
        import_destroy(import);
    else
        *ret = import;
    return r;
}

static void end_batch(struct import *import, struct job *job)
{
    groups_end(import->groups, &job->grouped);
    import->used--;
    STAILQ_INSERT_TAIL(&import->unused, job, next);
}

static void drop_jobs(struct import *import, struct job_queue *queue)
{
    for (struct job *job; (job = STAILQ_FIRST(queue));) {
        STAILQ_REMOVE_HEAD(queue, next);
        end_batch(import, job);
    }
}

void import_destroy(struct import *import)
{
    if (!import)
        return;
    (void)pthread_mutex_lock(&import->lock);
    import->is_stopped = true;
    (void)pthread_cond_broadcast(&import->is_work);
    (void)pthread_mutex_unlock(&import->lock);
    for (int i = 0; i < import->threads_made; i++)
        (void)pthread_join(import->threads[i], NULL);
    drop_jobs(import, &import->ended);
    drop_jobs(import, &import->todo);
    committer_destroy(import->committer);
    request_window_destroy(import->window);
    groups_destroy(import->groups);
    (void)pthread_cond_destroy(&import->is_work);
    (void)pthread_cond_destroy(&import->has_ended);
    (void)pthread_mutex_destroy(&import->lock);
    free(import->table);
    free(import);
}

/* Would the service refuse every other row, too? */
static bool is_of_table(const struct failure *failure)
{
    static const int errors[] = {-EACCES, -EPERM, -EROFS, -ENOSPC, -EDQUOT, -EIO};
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (failure->error == errors[i])
            return true;
    return committer_is_table_gone(failure);
}

static void fail(struct import *import, const struct failure *failure)
{
    if (import->failure.error == 0)
        import->failure = *failure;
}

/* Counts the results of the batch. */
static void count_results(struct import *import, struct job *job)
{
    for (size_t i = 0; i < job->batch.n; i++) {
        const struct grouped *change = job->grouped.changes[i];
        const struct batched *batched = &job->batch.changes[i];
        if (batched->end == BATCH_MADE) {
            import->counts.stored += change->objects;
            import->counts.made[change->write.kind] += change->objects;
        } else if (batched->end == BATCH_AGAIN) {
            fail(import, &job->batch.again);
        } else if (is_of_table(&batched->failure)) {
            fail(import, &batched->failure);
        } else {
            import->counts.refused += change->objects;
            import->refused(import->context, change, &batched->failure);
        }
    }
    import->counts.out -= job->batch.n;
    end_batch(import, job);
}

/* NULL: no answer has arrived. */
static struct job *take_ended(struct import *import, int64_t max_wait_ms)
{
    (void)pthread_mutex_lock(&import->lock);
    if (max_wait_ms > 0 && STAILQ_EMPTY(&import->ended))
        condition_wait_for(&import->has_ended, &import->lock, max_wait_ms);
    struct job *job = STAILQ_FIRST(&import->ended);
    if (job)
        STAILQ_REMOVE_HEAD(&import->ended, next);
    (void)pthread_mutex_unlock(&import->lock);
    return job;
}

/* True: there were answers. */
static bool take_answers(struct import *import, int64_t max_wait_ms)
{
    struct job *job = take_ended(import, max_wait_ms);
    bool has_answers = job != NULL;
    for (; job; job = take_ended(import, 0))
        count_results(import, job);
    return has_answers;
}

/* Creates a thread if none is free. True: there is one, perhaps busy, that will take the batch. */
static bool has_thread(struct import *import)
{
    pthread_t *next = &import->threads[import->threads_made];
    if (import->threads_made <= import->used && thread_create(next, work, import) == 0)
        import->threads_made++;
    if (import->threads_made > 0)
        return true;
    struct call call = {0};
    (void)call_fail(&call, -EAGAIN, "no thread can be created that sends changes");
    fail(import, &call.failure);
    return false;
}

static void hand_over(struct import *import, struct job *job)
{
    (void)pthread_mutex_lock(&import->lock);
    STAILQ_INSERT_TAIL(&import->todo, job, next);
    (void)pthread_cond_signal(&import->is_work);
    (void)pthread_mutex_unlock(&import->lock);
}

static void fill(struct job *job, const char *table)
{
    struct write_batch *batch = &job->batch;
    batch->table = table;
    batch->n = job->grouped.n;
    batch->again = (struct failure){0};
    for (size_t i = 0; i < batch->n; i++) {
        batch->writes[i] = job->grouped.changes[i]->write;
        /* a row that is stored already counts as written */
        batch->changes[i] = (struct batched){.is_doubtful = true};
    }
}

/* Sends one batch if one may be sent. */
static bool send_batch(struct import *import, bool takes_any)
{
    unsigned lane = lane_of_table(import->table);
    struct job *job = STAILQ_FIRST(&import->unused);
    if (import->failure.error < 0 || !job || !request_window_enter(import->window, lane))
        return false;
    bool is_taken = groups_take(import->groups, takes_any, &job->grouped);
    if (!is_taken || !has_thread(import)) {
        if (is_taken)
            groups_end(import->groups, &job->grouped);
        request_window_give_back(import->window, lane);
        return false;
    }
    STAILQ_REMOVE_HEAD(&import->unused, next);
    import->used++;
    fill(job, import->table);
    import->counts.out += job->batch.n;
    hand_over(import, job);
    return true;
}

bool import_step(struct import *import, enum import_sending sending, int64_t max_wait_ms)
{
    bool has_answers = take_answers(import, 0), has_sent = false;
    while (sending != IMPORT_NOTHING && send_batch(import, sending == IMPORT_ALL))
        has_sent = true;
    if (sending == IMPORT_ROOM && !has_sent)
        has_sent = send_batch(import, true);
    if (!has_answers && !has_sent && import->counts.out > 0)
        (void)take_answers(import, max_wait_ms);
    bool may_send = sending == IMPORT_ALL && import->failure.error == 0;
    return import->counts.out > 0 || (may_send && groups_waiting(import->groups) > 0);
}

int import_add(struct import *import, const struct write *write, uint64_t line)
{
    if (import->failure.error < 0)
        return import->failure.error;
    int r = groups_add(import->groups, write,
                       account_request_bytes(import->account, import->table, write), line);
    if (r == 0)
        (void)import_step(import, IMPORT_READY, 0);
    return r;
}

struct import_counts import_counts(const struct import *import)
{
    struct import_counts counts = import->counts;
    counts.waiting = groups_waiting(import->groups);
    return counts;
}

bool import_is_throttled(struct import *import)
{
    return clock_now_ms(import->account->read.clock) - import->throttled_ms < THROTTLED_MS;
}

const struct failure *import_failure(const struct import *import)
{
    return import->failure.error < 0 ? &import->failure : NULL;
}
