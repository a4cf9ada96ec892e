/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_LOCK_OPS_H
#define FS_OPS_LOCK_OPS_H
/* The handlers of flock and fcntl locks (fs/text/locks). Any thread. No handler waits: if the
 * caller must wait, the reply is sent later, by the thread that ends the other lock. */
#include "fs/kernel/request.h"
#include "fs/ops/open_file.h"

/* How waiting callers get their replies; a waiter is a fuse_req_t. */
extern const struct lock_waiters lock_ops_waiters;

void lock_ops_getlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, struct flock *lock);
void lock_ops_setlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, struct flock *lock,
                    int waits);
void lock_ops_flock(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, int operation);

/* Sets file->locked of a new handle. It cannot be locked while its key is not known, or without
 * memory. */
void lock_ops_opened(struct file_system *fs, const struct inode *inode, struct open_file *file);
/* Called at FLUSH, after the text is stored. */
void lock_ops_flushed(struct file_system *fs, const struct open_file *file, uint64_t owner);
void lock_ops_closed(struct file_system *fs, struct open_file *file);
/* The address under which fs/text/locks has a file that is no entity: a view of its st_ino. */
struct address lock_ops_address_of_number(const uint64_t *number);

#endif
