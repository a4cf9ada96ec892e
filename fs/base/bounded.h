/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_BOUNDED_H
#define FS_BASE_BOUNDED_H
/* Runs a function that may hang, in a child process, for a limited time. A system call on a file
 * system that does not answer returns only when its caller is killed, and once that file system's
 * process has read the request, not even then. So a child that hangs is not waited for. For
 * programs with one thread. */
#include "client/base/base.h"

/* Runs in the child. Writes the answer to `ret`, which has room for it, and returns its size. */
typedef size_t bounded_question(const void *context, void *ret);

/* Asks, and waits for the answer at most limit_ms. `ret` has `size` bytes, the most that an answer
 * takes. 0, -ETIMEDOUT, or -errno: there is no process or descriptor to ask with. */
int bounded_call(bounded_question *question, const void *context, int64_t limit_ms, void *ret,
                 size_t size);

#endif
