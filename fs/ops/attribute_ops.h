/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_ATTRIBUTE_OPS_H
#define FS_OPS_ATTRIBUTE_OPS_H
/* The handlers of GETATTR, SETATTR and STATFS. Any thread. */
#include "fs/kernel/request.h"

void attribute_ops_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
/* A scratch file keeps all attributes that are set, except the owner. For any other file only the
 * size can be set, through an open file, and the time to now. Modes, owners and other times are
 * accepted and ignored, because tools that copy files set them. */
void attribute_ops_setattr(fuse_req_t req, fuse_ino_t id, struct stat *stat, int to_set,
                           struct fuse_file_info *info);
void attribute_ops_statfs(fuse_req_t req, fuse_ino_t id);

#endif
