/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_THREADS_H
#define TESTS_UNIT_THREADS_H
/* Runs a function in several threads at once. */
#include "tests/unit/unit.h"

#include <pthread.h>

#define THREADS_MAX 32

/* Waits for the end of all `n` threads. Each gets an element of the array `arguments`, whose
 * elements have `size` bytes; size 0: all get `arguments` itself. */
static inline void run_in_threads(size_t n, void *(*run)(void *), void *arguments, size_t size)
{
    pthread_t threads[THREADS_MAX];
    assert_in_range(n, 1, THREADS_MAX);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, (char *)arguments + i * size), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
