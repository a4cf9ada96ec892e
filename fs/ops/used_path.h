/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_USED_PATH_H
#define FS_OPS_USED_PATH_H
/* Tells the account by which path the caller uses a partition (account_use_path). */
#include "fs/kernel/request.h"

/* The node is a directory, or a file, whose directory counts. Nothing is told of what is in no
 * partition, in a read-only mount, and without memory. */
void used_path_note(struct request *request, const struct inode *inode);

#endif
