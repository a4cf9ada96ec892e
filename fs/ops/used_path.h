/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_USED_PATH_H
#define FS_OPS_USED_PATH_H
/* Reports to the account by which path the caller uses a partition (account_use_path). */
#include "fs/kernel/request.h"

/* The caller uses the node, a directory; or a file, which is a use of its directory. Does nothing
 * if that is not in a partition, in a read-only mount, and without memory. */
void used_path_note(struct request *request, const struct inode *inode);

#endif
