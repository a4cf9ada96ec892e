#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H
/* Mount points as the kernel knows them. One thread; blocks for as long as the kernel takes. */
#include "client/base.h"

#include <sys/types.h>

/* The path without links and dots; works where a dead mount stands (every access to it fails). 0 or
 * -errno; *ret is freed by the caller. */
int mountpoint_resolve(const char *directory, char **ret);
bool mountpoint_is_tablefuse(const char *path); /* the mount on top here is ours, dead or alive */
bool mountpoint_is_dead(const char *path);      /* its daemon is gone (ENOTCONN) */
/* Unmounts: as root by the system call, else by fusermount3. `is_lazy`: even when it is in use. 0;
 * -EBUSY; -EIO: fusermount3 has said why on standard error. */
int mountpoint_unmount(const char *path, bool is_lazy);
pid_t mountpoint_daemon(const char *path); /* as the mount says in .tablefuse/version; 0: unknown */

#endif
