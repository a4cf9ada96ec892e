#ifndef FS_OPS_FILE_OPS_H
#define FS_OPS_FILE_OPS_H
/* The handlers of OPEN, READ, RELEASE, FLUSH and FSYNC. FSYNC is for files and directories. Kernels
 * since 5.16 send no FLUSH, because the reply to OPEN says that there is nothing to flush. */
#include "fs/request.h"

void file_ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void file_ops_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                   struct fuse_file_info *info);
void file_ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void file_ops_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info);
void file_ops_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *info);

#endif
