/* SPDX-License-Identifier: MIT */
#ifndef FS_KERNEL_NODE_KEEPER_H
#define FS_KERNEL_NODE_KEEPER_H
/* Holds the number of nodes near the limit of the inode table, and gives the memory of forgotten
 * nodes back to the system. It has a thread of its own, because the kernel may send requests before
 * it has taken a notification. */
#include "fs/file_system.h"

struct node_keeper;
/* To be created when the session is mounted, and destroyed before it is unmounted. Older kernels
 * than fs->prunes_nodes says are not asked to forget anything. 0 or -errno. */
int node_keeper_create(struct file_system *fs, struct node_keeper **ret);
void node_keeper_destroy(struct node_keeper *keeper); /* takes NULL */

#endif
