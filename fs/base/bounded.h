/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_BOUNDED_H
#define FS_BASE_BOUNDED_H
/* Runs a function that may hang, for a limited time, in a child process. If a file system does not
 * answer, a system call on it returns only when the caller is killed; if the file system's process
 * has already read the request, not even then. So a child that hangs is killed, and its end is not
 * waited for. For programs with one thread. */
#include "client/base/base.h"

/* Runs in the child. Writes its result to `ret`, which has room for it, and returns the result's
 * size. */
typedef size_t bounded_function(const void *context, void *ret);

/* Runs the function, and waits for its result for limit_ms at most. `ret` has `size` bytes, the
 * maximum of a result. 0; -ETIMEDOUT; or -errno: no process or descriptor could be created. */
int bounded_call(bounded_function *function, const void *context, int64_t limit_ms, void *ret,
                 size_t size);

#endif
