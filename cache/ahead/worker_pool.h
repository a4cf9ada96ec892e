/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_WORKER_POOL_H
#define CACHE_AHEAD_WORKER_POOL_H
/* Threads that send the requests of scans. No caller waits for one of these requests alone. A
 * worker takes a task, runs it, and takes the next one. A task never waits for the consumer of its
 * result, so a full pool always makes progress.
 *
 * At most `slots` tasks of a lane run at once. Requests of a table that get no answer do not delay
 * the tasks of other tables, while fewer than WORKER_POOL_TABLES tables are in that state.
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
/* There are at most WORKER_POOL_TABLES threads a slot. slots: at least 1. -EINVAL, -ENOMEM. */
int worker_pool_create(int slots, struct worker_pool **ret);
/* Takes NULL. Waits until every submitted task has run, also those that tasks submit meanwhile. The
 * owners cancel their tasks first, so that this is quick, and slots do not count any more. From
 * here on only tasks may submit. */
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
/* Returns when no task is queued or runs; tasks that a task has submitted before it ended count.
 * For tests: another thread may submit again at once. Must not be called by a task. */
void worker_pool_wait_idle(struct worker_pool *pool);

DEFINE_CLEANUP(struct worker_pool *, worker_pool_destroy);

#endif
