/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CHANGE_OPS_H
#define FS_OPS_CHANGE_OPS_H
/* The handlers of MKDIR, RMDIR and UNLINK, of MKNOD of a regular file, and of what no table
 * can hold: symbolic and hard links, devices, sockets and pipes get EPERM. Without a handler
 * libfuse would answer ENOSYS. CREATE is in open_ops, RENAME in rename_ops.
 *
 * The kernel locks a directory while one of them runs, so none takes longer than 30 s. A change is
 * not cancelled once it is sent. The only ESTALE is for a parent node that is unknown, because upon
 * ESTALE the kernel sends the change again. */
#include "fs/kernel/request.h"

void change_ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void change_ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void change_ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void change_ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void change_ops_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t new_parent, const char *new_name);
void change_ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      dev_t device);

#endif
