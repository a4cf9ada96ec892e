/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_SESSION_H
#define FS_MOUNT_SESSION_H
/* The FUSE session: mounts, serves requests with its own threads, and unmounts. Its functions are
 * called by one thread, except session_is_ending. */
#include "fs/file_system.h"
#include "fs/mount/mountpoint.h"

struct fuse_args;

/* Creates fs->session and checks FUSE's own options. Mounts nothing. 0, or -EINVAL: libfuse does
 * not know an option and has written that to standard error. */
int session_create(struct file_system *fs, struct fuse_args *args);
/* Mounts on the directory `place`, and closes its descriptors. Serves requests until the mount is
 * unmounted or SIGINT, SIGTERM, SIGHUP or SIGQUIT arrives; then unmounts this mount and no other at
 * the same place. Afterwards these signals are ignored. The standard descriptors must be open.
 * Calls fs->ready when the kernel has the reply to INIT. 0 or -errno. -EIO: the mount failed
 * (libfuse has written why to standard error), or INIT did not succeed. */
int session_run(struct file_system *fs, struct mountpoint *place);
void session_destroy(struct file_system *fs);
/* While session_run serves, any thread: has the mount been unmounted, or a signal arrived? */
bool session_is_ending(const struct file_system *fs);

#endif
