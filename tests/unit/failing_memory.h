/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FAILING_MEMORY_H
#define TESTS_UNIT_FAILING_MEMORY_H
/* Allocations that fail on command. For tests that are linked with calloc and realloc wrapped
 * (meson.build). One thread gives the commands; other threads may allocate meanwhile. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static atomic_long allocations_until_failure; /* the allocation that makes it 0 fails; 0: none */
static atomic_long failures_in_a_row;         /* the number of failures after it */

static bool is_time_to_fail(void)
{
    if (allocations_until_failure > 0)
        return --allocations_until_failure == 0;
    return failures_in_a_row > 0 && failures_in_a_row--;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_time_to_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return is_time_to_fail() ? NULL : __real_realloc(memory, size);
}

#endif
