#ifndef FS_SESSION_H
#define FS_SESSION_H
/* The FUSE session: INIT, threads, signals, the end. Used by one thread. */
#include "fs/file_system.h"

struct fuse_args;

/* Checks FUSE's own options; mounts nothing. -EINVAL: an option that FUSE does not know (it has
 * said so on standard error). */
int session_create(struct file_system *fs, struct fuse_args *args);
/* Mounts, serves until it is unmounted or SIGINT, SIGTERM or SIGHUP comes, and unmounts. fs->ready
 * is called when the kernel has FUSE's init. 0, or -EIO: not mounted (libfuse has said why on
 * standard error), or the loop failed. */
int session_run(struct file_system *fs, const char *mountpoint);
void session_destroy(struct file_system *fs);

#endif
