/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OPEN_OPS_H
#define FS_OPS_OPEN_OPS_H
/* The handlers of OPEN and CREATE. Those for the opened files are in fs/ops/file_ops. Any thread.
 */
#include "fs/kernel/request.h"

void open_ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void open_ops_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                     struct fuse_file_info *info);

#endif
