/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_DIRECTORY_OPS_H
#define FS_OPS_DIRECTORY_OPS_H
/* The handlers of OPENDIR, READDIR, READDIRPLUS, FSYNCDIR and RELEASEDIR. */
#include "fs/kernel/request.h"

void directory_ops_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void directory_ops_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                           struct fuse_file_info *info);
void directory_ops_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                               struct fuse_file_info *info);
void directory_ops_fsyncdir(fuse_req_t req, fuse_ino_t id, int datasync,
                            struct fuse_file_info *info);
void directory_ops_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);

#endif
