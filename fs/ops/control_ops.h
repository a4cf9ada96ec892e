/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CONTROL_OPS_H
#define FS_OPS_CONTROL_OPS_H
/* What LOOKUP, OPEN and WRITE do on the files of `.tablefuse/`. Any thread. */
#include "fs/files/open_file.h"
#include "fs/request.h"

/* The node of a file with a text, as that is by now; takes *place on success. 0 or -errno. */
int control_ops_look_up(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place, struct fuse_entry_param *ret);
/* Opens the control file. 0 or -errno. -ESTALE: the node has the text for another user. */
int control_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret);
/* The handler of WRITE on the file `drop`. One write is one table's name, with or without a newline
 * behind it: the process confirms that it drops this table with all that is in it
 * (account_confirm_drop). -EINVAL: it is no name. -ENOENT: there is no such table. */
void control_ops_drop(fuse_req_t req, struct bytes text);

#endif
