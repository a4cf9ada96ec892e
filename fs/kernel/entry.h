/* SPDX-License-Identifier: MIT */
#ifndef FS_KERNEL_ENTRY_H
#define FS_KERNEL_ENTRY_H
/* The entry for a name in the replies to LOOKUP and READDIRPLUS: its node, its attributes, and how
 * long the kernel may cache them. Any thread. */
#include "fs/kernel/request.h"

/* Finds or creates the node of `name` in the node `parent`, counts one more lookup of it, and fills
 * *ret. Takes *place on success. entity: NULL if the place is a directory (also `.tablefuse/drop`).
 * valid_ms: how long the kernel may cache the name. While the entity is open for writing, the name
 * is not cached: so every process sees the new text as soon as it is stored. 0 or -ENOMEM. */
int entry_make(struct file_system *fs, uint64_t parent, struct bytes name, struct place *place,
               const struct entity *entity, int64_t valid_ms, struct fuse_entry_param *ret);
/* The same for a new file that is not stored yet: the node of its writer. */
int entry_make_writer(struct file_system *fs, uint64_t parent, struct bytes name,
                      struct place *place, struct writer *writer, struct fuse_entry_param *ret);
/* The same for a file of `.tablefuse` with this text. */
int entry_make_control(struct file_system *fs, uint64_t parent, struct bytes name,
                       struct place *place, struct control_text *text,
                       struct fuse_entry_param *ret);
/* The same for a scratch file. */
int entry_make_scratch(struct file_system *fs, struct place *place, struct scratch_file *file,
                       struct fuse_entry_param *ret);
/* The scratch file was renamed to the entity's name, and stored as that entity. Moves its node to
 * that name. The node keeps its st_ino; nodes that later LOOKUPs make have the st_ino of the
 * entity's address. */
void entry_rename_scratch(struct file_system *fs, struct scratch_file *file, uint64_t parent,
                          struct bytes name);
/* The entry of a node. */
void entry_of(const struct file_system *fs, const struct inode *inode, int64_t valid_ms,
              struct fuse_entry_param *ret);
void entry_attributes(const struct file_system *fs, const struct inode *inode, struct stat *ret);
/* How long the kernel may cache the attributes, in seconds. 0 for a writer, a scratch file, and a
 * node that was renamed. Any other node is one version, so its attributes do not change. The kernel
 * sees a newer version after the time for which it caches the name (valid_ms): then it looks the
 * name up again and gets another node. */
double entry_attributes_sec(const struct inode *inode);

#endif
