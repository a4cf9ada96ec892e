/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_THREAD_H
#define CLIENT_BASE_THREAD_H
/* Creates the program's own threads. All signals are blocked in them: only the threads of the FUSE
 * session handle signals. Any thread. */
#include <pthread.h>

/* Measured: of its stack a thread uses at most 47 KiB, for a batch with the largest keys; a query
 * uses 32 KiB (tests/mount/test_thread_stacks.py). A struct position takes 8 KiB: a frame has at
 * most two of them (frame_limit in meson.build). */
#define THREAD_STACK_BYTES ((size_t)256 << 10)

/* 0 or an errno of pthread_create. */
int thread_create(pthread_t *ret, void *(*run)(void *context), void *context);

#endif
