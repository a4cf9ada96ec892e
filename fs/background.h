#ifndef FS_BACKGROUND_H
#define FS_BACKGROUND_H
/* Going to the background only when everything works: the parent stays until the child says that it
 * is ready, and ends with what became of it. One thread; forks, so threads, curl and OpenSSL start
 * after it. */
#include "client/base.h"

struct background {
    int pipe; /* to the parent; -1: nobody waits */
};

/* In the child: 0. In the parent, when the child is ready, gone, or did neither within limit_ms (it
 * is killed then): 1, and what to exit with: 0, the child's own exit code, or `otherwise`. -errno:
 * no fork. */
int background_fork(int64_t limit_ms, int otherwise, struct background *ret, int *ret_exit_code);
/* In the child: the parent may go; from now on no terminal, no standard error, and / is the working
 * directory. False: the parent is gone already, and nobody knows of the mount. */
bool background_ready(struct background *background);

#endif
