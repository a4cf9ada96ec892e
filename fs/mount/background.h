/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_BACKGROUND_H
#define FS_MOUNT_BACKGROUND_H
/* Forks the daemon into the background. The parent waits until the child reports that it is ready,
 * and exits with the child's result. So `tablefuse mount` returns only when the mount works, or
 * with the exit code of the failure.
 *
 * One thread. Call background_fork before any thread, curl or OpenSSL starts: they do not survive a
 * fork. */
#include "client/base/base.h"

struct background {
    int pipe; /* to the parent; -1: no parent waits */
};

/* Returns 0 in the child and 1 in the parent. -errno: the fork failed.
 *
 * In the parent it blocks until the child is ready or has ended; after limit_ms it kills the child.
 * *ret_exit_code is the exit code for the parent: 0 if the child is ready; the child's own exit
 * code if it failed with one; `otherwise` if the child was killed or ended with 0.
 *
 * The child keeps the standard descriptors and the descriptor `kept` (-1: none), and closes all
 * others. */
int background_fork(int64_t limit_ms, int otherwise, int kept, struct background *ret,
                    int *ret_exit_code);
/* In the child: reports to the parent that the mount works. From now on the process has no
 * terminal, its standard streams are /dev/null and its working directory is /. False: the parent
 * has ended before, so the command has not reported success. */
bool background_ready(struct background *background);

#endif
