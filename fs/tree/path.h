/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_PATH_H
#define FS_TREE_PATH_H
/* The path by which a process has reached a directory, in terms of keys (struct directory_path).
 * Every change of a name in the directory needs it. Any thread. */
#include "fs/tree/inode.h"

/* Makes the path from `child`, which is in the directory of the node, up to the table's directory.
 * child NULL: from the node's directory. The path has views of the child and of nodes; these stay
 * valid, because the kernel keeps the nodes above a node that it uses. ret->steps is ret_steps,
 * which the caller frees. 0 or -ENOMEM.
 */
int path_make(struct inode_table *inodes, const struct inode *inode, const struct place *child,
              struct directory **ret_steps, struct directory_path *ret);

#endif
