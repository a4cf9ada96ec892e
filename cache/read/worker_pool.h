#ifndef CACHE_READ_WORKER_POOL_H
#define CACHE_READ_WORKER_POOL_H
/* Threads that perform requests which nobody waits for by itself. A worker takes one task, performs
 * it, and leaves; it never waits for a consumer, so tasks never starve each other. Shares keep one
 * kind of work from taking every thread: a commit that backs off stops no scan. Any thread; one
 * mutex, held over no task, with a condition for each share. Threads are made when needed (never
 * before the first task: the daemon forks first), no signal reaches them, and they stay until the
 * end: they are few, and one that sleeps costs some pages of stack. */
#include "client/base.h"

enum worker_share { WORKER_SCANS, WORKER_COMMITS, WORKER_SHARES };

struct worker_pool;
/* limits: threads of each share. -EINVAL: one is below 1; -ENOMEM. */
int worker_pool_create(const int limits[WORKER_SHARES], struct worker_pool **ret);
/* Takes NULL. Tasks that run are waited for (their owners have cancelled them); tasks that wait are
 * run, too, and those that tasks submit to their own share: each task given is run exactly once.
 * Nobody else submits any more. */
void worker_pool_destroy(struct worker_pool *pool);

struct worker_task { /* the submitter's memory, until it runs: run may free it */
    void (*run)(struct worker_task *task);
    struct worker_task *next; /* the pool's */
};
/* Queues it, first come first served in its share; never waits. 0, or -EAGAIN: no thread could be
 * made and none is there; it is not run then. */
int worker_pool_submit(struct worker_pool *pool, enum worker_share share, struct worker_task *task);

DEFINE_CLEANUP(struct worker_pool *, worker_pool_destroy);

#endif
