/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNTPOINT_H
#define FS_MOUNT_MOUNTPOINT_H
/* Mount points, the mounts at them, and unmounting. For programs with one thread, because some
 * functions fork or change the working directory for a moment. They block as long as the kernel
 * does, but for those with a limit.
 *
 * Another user may own a directory on the way to a mount point, and lead the path elsewhere at any
 * moment. So a path is followed once. Then the directory above the mount point is kept open, and
 * what is done is done to the name in it, as fusermount3 does. */
#include "client/base/base.h"

#include <sys/types.h>

/* The absolute path without symbolic links, `.` and `..`, also of a dead mount. 0 or -errno.
 * -ETIMEDOUT: a file system on the way has not answered within limit_ms. The caller frees *ret. */
int mountpoint_resolve(const char *directory, int64_t limit_ms, char **ret);
/* Does the path lie in a tablefuse mount, below its mount point? */
bool mountpoint_is_inside(const char *path);
/* How many bytes of the path are the mount point of a tablefuse mount. The path may name the mount
 * point itself or something below it. 0: the path is not in a tablefuse mount. Example: 4 of
 * "/mnt/T", if "/mnt" is a mount point. */
size_t mountpoint_size(const char *path);

struct mountpoint {
    char *path;        /* as mountpoint_resolve answers it */
    const char *name;  /* its last part */
    int above;         /* the directory that has the name */
    int root;          /* what is under the name: a directory, or the root of a mount; -1: closed */
    dev_t device;      /* of `root`; while that is open, no other mount has this number */
    bool is_tablefuse; /* `root` is that of the topmost mount at the path, a tablefuse mount */
    bool is_read_only; /* that mount */
};
#define MOUNTPOINT_NONE ((struct mountpoint){.above = -1, .root = -1})
/* Opens the directory above and what is under the name, and asks no daemon of a mount there. `path`
 * has no symbolic link: -ELOOP: it has got one. 0, or
 * -errno and MOUNTPOINT_NONE. */
int mountpoint_open(const char *path, struct mountpoint *ret);
/* Opens what is under the name now. 0 or -errno: `root` is closed then. */
int mountpoint_check(struct mountpoint *place);
void mountpoint_close_root(struct mountpoint *place);
void mountpoint_close(struct mountpoint *place);  /* both descriptors; the path stays */
void mountpoint_finish(struct mountpoint *place); /* takes MOUNTPOINT_NONE, too */

enum mountpoint_state {
    MOUNTPOINT_LIVE,
    MOUNTPOINT_DEAD, /* the daemon has ended without unmounting: every access fails with ENOTCONN */
    MOUNTPOINT_SILENT, /* the daemon has not answered in time: perhaps it is stopped */
};
struct mountpoint_daemon {
    pid_t process; /* 0: unknown; MOUNTPOINT_DAEMON_ELSEWHERE: it runs in another PID namespace,
                      where its id means something */
    char exit_socket[64]; /* for exit_report_await; "": it told none */
};
#define MOUNTPOINT_DAEMON_ELSEWHERE (-1)
/* Asks the daemon of the mount whose root is open, within limit_ms. An enum mountpoint_state, or
 * -errno: there is no process or descriptor to ask with. */
int mountpoint_query(const struct mountpoint *place, int64_t limit_ms,
                     struct mountpoint_daemon *ret);
bool mountpoint_is_empty(const struct mountpoint *place); /* also when it cannot be read */
/* Unmounts the mount whose root is open: as root by the system call, otherwise by fusermount3.
 * Closes that root, unless it is lazy. is_lazy: the mount may be in use; it ends when its last user
 * does. 0 or -errno. -EBUSY: it is in use. -ESTALE: something else is under the name now. -EIO:
 * fusermount3 failed and has written the reason to standard error. */
int mountpoint_unmount(struct mountpoint *place, bool is_lazy);

/* Identifies the FUSE mount of the device, which is the same one as a bind mount, in another mount
 * namespace, and detached and in use. The kernel has an entry with the device's number in /sys
 * while the mount exists anywhere. The next mount may get the number as soon as this one has ended,
 * but its entry is another inode. Asks no daemon. 0: there is no such mount, or no /sys. */
ino_t mountpoint_identify(dev_t device);

#endif
