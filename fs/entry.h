#ifndef FS_ENTRY_H
#define FS_ENTRY_H
/* What LOOKUP and READDIRPLUS answer of a name: its node and attributes, and how long they hold. */
#include "fs/request.h"

#define CONTROL_VALID_MS 1000 /* so long the kernel keeps the names of control files */

/* Counts one more lookup of `name` in `parent`, with *place (taken), and fills *ret. `entity` NULL:
 * a directory or a control file. 0 or -ENOMEM. */
int entry_make(struct file_system *fs, uint64_t parent, struct bytes name, struct place *place,
               const struct entity *entity, int64_t valid_ms, struct fuse_entry_param *ret);
void entry_attributes(const struct file_system *fs, const struct inode *inode, struct stat *ret);
/* How long the kernel may keep them: a node is one version. It asks for the name's node again when
 * the name's time is over. */
double entry_attributes_sec(const struct inode *inode);

#endif
