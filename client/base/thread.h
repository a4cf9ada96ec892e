/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_THREAD_H
#define CLIENT_BASE_THREAD_H
/* Creates the program's own threads. All signals are blocked in them: only the threads of the FUSE
 * session handle signals. Any thread. */
#include <pthread.h>

/* Measured: a request to an account in a file uses 32 KiB of stack, a request over TLS 14 KiB, and
 * a batch 60 KiB more. Each struct range_end (client/base/position.h) takes 8 KiB: a request has up
 * to four of them at a time. */
#define THREAD_STACK_BYTES ((size_t)256 << 10)

/* 0 or an errno of pthread_create. */
int thread_create(pthread_t *ret, void *(*run)(void *context), void *context);

#endif
