#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H
/* Queries about mount points, and unmounting. One thread. Functions block as long as the kernel
 * does. A mount is dead when its daemon has ended without unmounting: then every access to it fails
 * with ENOTCONN. */
#include "client/base.h"

#include <sys/types.h>

/* The absolute path without symbolic links, `.` and `..`, also of a dead mount. 0 or -errno. The
 * caller frees *ret. */
int mountpoint_resolve(const char *directory, char **ret);
/* Is the topmost mount at the path a tablefuse mount, dead or not? */
bool mountpoint_is_tablefuse(const char *path);
bool mountpoint_is_dead(const char *path);
/* Does the path lie in a tablefuse mount, below its mount point? */
bool mountpoint_is_inside(const char *path);
bool mountpoint_is_empty(const char *path); /* also when it cannot be read */
/* Unmounts: as root by the system call, otherwise by fusermount3. is_lazy: the mount may be in use;
 * it ends when its last user does. 0 or -errno. -EBUSY: it is in use. -EIO: fusermount3 failed and
 * has written the reason to standard error. */
int mountpoint_unmount(const char *path, bool is_lazy);
/* The process id of the daemon, read from .tablefuse/version. 0: unknown. */
pid_t mountpoint_daemon(const char *path);

#endif
