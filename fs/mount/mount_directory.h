/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNT_DIRECTORY_H
#define FS_MOUNT_MOUNT_DIRECTORY_H
/* The directory that `tablefuse mount` mounts on. What is wrong with it is written to standard
 * error, with what to do about it. For programs with one thread: mountpoint.h. */
#include "fs/mount/mountpoint.h"

/* Opens the directory, removes a dead tablefuse mount there, and checks that a mount hides nothing
 * that must be seen. place: as of mountpoint_open, with its root closed: a mount is made under its
 * name, perhaps by a child. 0, or an exit code. The caller calls mountpoint_finish. */
int mount_directory_prepare(const char *directory, struct mountpoint *place);
/* The child that was to mount there was killed: removes the dead mount that it may have left. */
void mount_directory_clean_up(struct mountpoint *place);

#endif
