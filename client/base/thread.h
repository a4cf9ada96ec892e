/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_THREAD_H
#define CLIENT_BASE_THREAD_H
/* Threads that the program makes for itself. All signals are blocked in them: only the threads of
 * the FUSE session handle signals. Any thread. */
#include <pthread.h>

/* Measured: a request to an account in a file needs 32 KiB, a request over TLS 14 KiB, and a batch
 * 60 KiB beside that. */
#define THREAD_STACK_BYTES ((size_t)256 << 10)

/* 0 or an errno of pthread_create. */
int thread_create(pthread_t *ret, void *(*run)(void *context), void *context);

#endif
