#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H
/* Queries about mount points, and unmounting. For programs with one thread, because some functions
 * fork. They block as long as the kernel does, but for those with a limit. */
#include "client/base.h"

#include <sys/types.h>

/* The absolute path without symbolic links, `.` and `..`, also of a dead mount. 0 or -errno.
 * -ETIMEDOUT: a file system on the way has not answered within limit_ms. The caller frees *ret. */
int mountpoint_resolve(const char *directory, int64_t limit_ms, char **ret);
/* Is the topmost mount at the path a tablefuse mount, dead or not? */
bool mountpoint_is_tablefuse(const char *path);
enum mountpoint_state {
    MOUNTPOINT_LIVE,
    MOUNTPOINT_DEAD, /* the daemon has ended without unmounting: every access fails with ENOTCONN */
    MOUNTPOINT_SILENT, /* the daemon has not answered in time: perhaps it is stopped */
};
/* Asks the daemon of the mount at the path, within limit_ms. An enum mountpoint_state, or -errno:
 * there is no process or descriptor to ask with. *ret_daemon: its process id; 0: unknown;
 * MOUNTPOINT_DAEMON_ELSEWHERE: it runs in another PID namespace, where its id means something. */
#define MOUNTPOINT_DAEMON_ELSEWHERE (-1)
int mountpoint_ask(const char *path, int64_t limit_ms, pid_t *ret_daemon);
/* Does the path lie in a tablefuse mount, below its mount point? */
bool mountpoint_is_inside(const char *path);
/* How many bytes of the path are the mount point of a tablefuse mount. The path may name the mount
 * point itself or something below it. 0: the path is not in a tablefuse mount. Example: 4 of
 * "/mnt/T", if "/mnt" is a mount point. */
size_t mountpoint_size(const char *path);
bool mountpoint_is_empty(const char *path); /* also when it cannot be read */
/* Unmounts: as root by the system call, otherwise by fusermount3. is_lazy: the mount may be in use;
 * it ends when its last user does. 0 or -errno. -EBUSY: it is in use. -EIO: fusermount3 failed and
 * has written the reason to standard error. */
int mountpoint_unmount(const char *path, bool is_lazy);

/* The functions below are also for a process with several threads. */

/* Opens the root of what is mounted at the path, and asks no daemon. *ret_device tells it from
 * every other mount that there is, but not from one that there was. The descriptor keeps the mount
 * busy. -errno. */
int mountpoint_open(const char *path, dev_t *ret_device);
/* Unmounts that root lazily, and nothing else that is mounted at its path since it was opened.
 * Another user than root may not do so; fusermount3 then unmounts what is at the path. 0 or
 * -errno, as mountpoint_unmount. */
int mountpoint_detach(int root, const char *path);
/* Does a FUSE mount of the device exist anywhere: as a bind mount, in another mount namespace, or
 * detached and in use? The kernel makes a directory of its number for each. Asks no daemon. False
 * also if /sys is not there. */
bool mountpoint_exists(dev_t device);

#endif
