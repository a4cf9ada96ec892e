/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_COMMIT_THREADS_H
#define CACHE_QUEUE_COMMIT_THREADS_H
/* The threads that send what is queued: each takes a batch from pending, commits it, and takes the
 * next one. No thread starts before the first change is queued, because the daemon must fork first.
 * There are no more threads than batches that can be sent at once. They stay until the end: an idle
 * thread sleeps and costs a few pages of stack.
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

/* Called before changes are queued: starts the threads that are missing. 0; -EAGAIN: there is no
 * thread, and none could be started. Then nothing may be queued. */
int commit_threads_wake(struct commit_threads *threads);
/* Sends everything that is queued, until the deadline. Then cancels the requests that are being
 * sent, and stops all threads. What is left stays in pending, for pending_abandon. Nothing may be
 * queued from now on. */
void commit_threads_end(struct commit_threads *threads, int64_t deadline_ms);

DEFINE_CLEANUP(struct commit_threads *, commit_threads_destroy);

#endif
