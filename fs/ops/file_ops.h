/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_FILE_OPS_H
#define FS_OPS_FILE_OPS_H
/* The handlers of READ, WRITE, FLUSH, FSYNC and RELEASE, on files that fs/ops/open_ops has opened.
 * Any thread. */
#include "fs/kernel/request.h"
#include "fs/ops/open_file.h"

void file_ops_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                   struct fuse_file_info *info);
void file_ops_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t offset,
                    struct fuse_file_info *info);
void file_ops_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void file_ops_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *info);
void file_ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
/* Called after a reply to OPEN that the kernel did not accept, for example because the process was
 * killed: frees the file. */
void file_ops_drop(struct request *request, uint64_t id, struct open_file *file);

#endif
