/* SPDX-License-Identifier: MIT */
#ifndef FS_KERNEL_NODE_KEEPER_H
#define FS_KERNEL_NODE_KEEPER_H
/* Keeps the number of nodes below the limit of the inode table, if the kernel forgets them, and
 * gives the memory of forgotten nodes back to the system. It has a thread of its own, because the
 * kernel may send requests, which need a thread, before it accepts a notification. */
#include "fs/file_system.h"

struct node_keeper;
/* Created when the session is mounted, and destroyed before it is unmounted. Without
 * fs->prunes_nodes it does not prune nodes. 0 or -errno. */
int node_keeper_create(struct file_system *fs, struct node_keeper **ret);
void node_keeper_destroy(struct node_keeper *keeper); /* takes NULL */

#endif
