/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_COMMIT_THREADS_H
#define CACHE_QUEUE_COMMIT_THREADS_H
/* The threads that send what is queued: each takes a batch from pending, commits it, and takes the
 * next one. They start when changes are queued, never before the first one, because the daemon
 * forks before that; and no more than there are batches to send at once. They stay until the end:
 * an idle one sleeps and costs a few pages of stack.
 *
 * Thread-safety: any thread; one leaf mutex. */
#include "cache/queue/batch_committer.h"

#define COMMIT_THREADS_MAX 16

struct commit_threads;
/* pending and what the batch committer names outlive it. 0 or -ENOMEM. */
int commit_threads_create(struct pending *pending, const struct batch_committer *committer,
                          struct commit_threads **ret);
/* Takes NULL. Ends as commit_threads_end, at once. */
void commit_threads_destroy(struct commit_threads *threads);

/* Changes will be queued: starts the threads that are missing. 0; -EAGAIN: there is none, and none
 * could be started. Then nothing may be queued. */
int commit_threads_wake(struct commit_threads *threads);
/* Sends everything that is queued, up to the deadline; then stops all threads, and gives up the
 * request that each waits for. What is left stays in pending: pending_abandon. Nothing is queued
 * from now on. */
void commit_threads_end(struct commit_threads *threads, int64_t deadline_ms);

DEFINE_CLEANUP(struct commit_threads *, commit_threads_destroy);

#endif
