/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_BOUNDED_H
#define FS_BASE_BOUNDED_H
/* Runs a function that may hang in a child process, for a limited time. If a file system does not
 * answer, a system call on it returns only when the caller is killed; after the file system's
 * process has read the request, not even then. So nobody waits for a child that hangs. For programs
 * with one thread. */
#include "client/base/base.h"

/* Runs in the child. Writes its result to `ret`, which has room for it, and returns the result's
 * size. */
typedef size_t bounded_question(const void *context, void *ret);

/* Runs the function, and waits for its result for limit_ms at most. `ret` has `size` bytes, the
 * maximum of a result. 0; -ETIMEDOUT; or -errno: no process or descriptor could be created. */
int bounded_call(bounded_question *question, const void *context, int64_t limit_ms, void *ret,
                 size_t size);

#endif
