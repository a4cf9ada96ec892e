/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CONTROL_OPS_H
#define FS_OPS_CONTROL_OPS_H
/* What LOOKUP and OPEN do for the files of `.tablefuse/`. Any thread. */
#include "fs/kernel/request.h"
#include "fs/ops/open_file.h"

/* Finds or makes the node of a file with its present text; takes *place on success. 0 or -errno. */
int control_ops_look_up(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place, struct fuse_entry_param *ret);
/* Opens the control file. 0 or -errno. -ESTALE: the node has the text that another user may see. */
int control_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret);

#endif
