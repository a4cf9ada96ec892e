/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_WORKER_POOL_H
#define CACHE_AHEAD_WORKER_POOL_H
/* Threads that send the requests of scans. A worker takes a task, runs it, and takes the next one.
 * A task never waits for the consumer of its result, so a full pool always makes progress.
 *
 * At most `slots` tasks of a lane run at once. So a table whose requests get no answer does not
 * delay the tasks of other tables, as long as there are fewer than WORKER_POOL_TABLES such tables.
 *
 * Only reading uses the pool. A caller that changes an entity sends the change in its own thread,
 * so a scan never delays it.
 *
 * A thread is created when a task needs one, never before the first task: the daemon forks before
 * that. Threads stay until the pool is destroyed, because there are few and an idle one costs only
 * a few pages of stack. All signals are blocked in them.
 *
 * Thread-safety: any thread. One mutex, which is not held while a task runs. */
#include "client/base/lane.h"

#define WORKER_POOL_TABLES 4

struct worker_pool;
/* At most WORKER_POOL_TABLES * slots threads. slots: at least 1. -EINVAL, -ENOMEM. */
int worker_pool_create(int slots, struct worker_pool **ret);
/* Takes NULL. Waits until every submitted task has run, also those that tasks submit meanwhile; the
 * limit of `slots` no longer applies. The owners cancel their tasks before, so that this is quick.
 * From now on only tasks may submit. */
void worker_pool_destroy(struct worker_pool *pool);

struct worker_task { /* memory of the submitter, until it runs: `run` may free it */
    void (*run)(struct worker_task *task);
    unsigned lane;
    struct worker_task *next; /* private to the pool */
};
/* Queues the task and returns at once. Tasks of one lane start in the order of submission; those of
 * another lane may overtake them. Each runs exactly once. 0, or -EAGAIN: the pool has no thread and
 * could not create one. Then the task does not run. */
int worker_pool_submit(struct worker_pool *pool, struct worker_task *task);

DEFINE_CLEANUP(struct worker_pool *, worker_pool_destroy);

#endif
