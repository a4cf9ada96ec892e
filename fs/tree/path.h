/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_PATH_H
#define FS_TREE_PATH_H
/* The path by which a directory was reached, in terms of keys: an argument of every change of a
 * name in it (struct directory_path). Any thread. */
#include "fs/tree/inode.h"

/* The directories from `child`, which is in the directory of the node, up to the table's own.
 * child NULL: from the node's directory. Views of the child and of nodes, which the kernel keeps
 * above a node that it uses. The caller frees ret_steps, which ret has as its steps. 0 or -ENOMEM.
 */
int path_make(struct inode_table *inodes, const struct inode *inode, const struct place *child,
              struct directory **ret_steps, struct directory_path *ret);

#endif
