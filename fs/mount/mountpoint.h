/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNTPOINT_H
#define FS_MOUNT_MOUNTPOINT_H
/* Mount points, the mounts at them, and unmounting. For programs with one thread, because some
 * functions fork or change the working directory for a moment. Functions without limit_ms block as
 * long as the kernel does.
 *
 * Another user may own a directory in the path of a mount point, and make the path lead elsewhere
 * at any moment. So a path is resolved once. Afterwards the directory above the mount point is kept
 * open, and everything is done with the name in that directory, as fusermount3 does it. */
#include "client/base/base.h"

#include <sys/types.h>

/* Makes the absolute path without symbolic links, `.` and `..`, also of a dead mount. 0 or -errno.
 * -ETIMEDOUT: a file system in the path has not answered within limit_ms. The caller frees *ret. */
int mountpoint_resolve(const char *directory, int64_t limit_ms, char **ret);
/* Does the path lie in a tablefuse mount, below its mount point? */
bool mountpoint_is_inside(const char *path);
/* How many bytes at the start of the path are the mount point of a tablefuse mount. The path may be
 * the mount point itself or something below it. 0: the path is not in a tablefuse mount. Example: 4
 * of "/mnt/T", if "/mnt" is a mount point. */
size_t mountpoint_size(const char *path);

struct mountpoint {
    char *path;        /* a result of mountpoint_resolve */
    const char *name;  /* its last part */
    int above;         /* descriptor of the directory that has the name */
    int root;          /* descriptor of what has the name: a directory, or the root of the topmost
                          mount there; -1: closed */
    dev_t device;      /* of `root`; while `root` is open, no other mount has this number */
    bool is_tablefuse; /* `root` is the root of a tablefuse mount */
    bool is_read_only; /* with is_tablefuse: the mount is read-only */
};
#define MOUNTPOINT_NONE ((struct mountpoint){.above = -1, .root = -1})
/* Opens the directory above and what has the name, without a request to a mount's daemon. `path` is
 * a result of mountpoint_resolve; -ELOOP: it has a symbolic link by now. 0; or -errno, and *ret is
 * MOUNTPOINT_NONE. */
int mountpoint_open(const char *path, struct mountpoint *ret);
/* Opens what has the name now. 0; -errno: `root` is closed then. */
int mountpoint_check(struct mountpoint *place);
void mountpoint_close_root(struct mountpoint *place);
void mountpoint_close(struct mountpoint *place);  /* both descriptors; the path stays */
void mountpoint_finish(struct mountpoint *place); /* takes MOUNTPOINT_NONE, too */

enum mountpoint_state {
    MOUNTPOINT_LIVE,
    MOUNTPOINT_DEAD, /* the daemon has ended without unmounting: every access fails with ENOTCONN */
    MOUNTPOINT_SILENT, /* the daemon has not answered in time; it may be stopped */
};
struct mountpoint_daemon {
    pid_t process; /* 0: unknown; MOUNTPOINT_DAEMON_ELSEWHERE: it runs in another PID namespace, and
                      its id is not valid here */
    char exit_socket[64]; /* for exit_report_await; "": there is none */
};
#define MOUNTPOINT_DAEMON_ELSEWHERE (-1)
/* Sends a request to the daemon of the mount whose root is open, and waits at most limit_ms.
 * Returns an enum mountpoint_state, or -errno: no process or descriptor could be created. */
int mountpoint_query(const struct mountpoint *place, int64_t limit_ms,
                     struct mountpoint_daemon *ret);
bool mountpoint_is_empty(const struct mountpoint *place); /* also when it cannot be read */
/* Unmounts the mount whose root is open: as root by the system call, otherwise by fusermount3.
 * Closes that root, unless it is lazy. is_lazy: the mount may be in use; it ends when its last user
 * does. 0 or -errno. -EBUSY: it is in use. -ESTALE: something else has the name now. -EIO:
 * fusermount3 failed and has written the reason to standard error. */
int mountpoint_unmount(struct mountpoint *place, bool is_lazy);

/* Identifies the FUSE mount with this device number. A bind mount of it, a mount of it in another
 * mount namespace, and a detached mount in use are the same mount. While it exists anywhere, the
 * kernel has an entry with the number in /sys. When it has ended, the next mount may get the
 * number, but its entry has another inode. Sends no request to a daemon. 0: no such mount, or no
 * /sys. */
ino_t mountpoint_identify(dev_t device);

#endif
