/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNT_DIRECTORY_H
#define FS_MOUNT_MOUNT_DIRECTORY_H
/* The directory on which `tablefuse mount` mounts. If something is wrong with it, these functions
 * write that and what to do to standard error. For programs with one thread (mountpoint.h). */
#include "fs/mount/mountpoint.h"

/* Opens the directory, removes a dead tablefuse mount there, and checks that a mount would hide
 * nothing that must stay visible. place: as of mountpoint_open, but with its root closed, because a
 * child may mount there. 0, or an exit code. The caller calls mountpoint_finish. */
int mount_directory_prepare(const char *directory, struct mountpoint *place);
/* Called after the child that should mount there was killed: removes the dead mount that it may
 * have left. */
void mount_directory_clean_up(struct mountpoint *place);

#endif
