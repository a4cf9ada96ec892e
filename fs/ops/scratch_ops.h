/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_SCRATCH_OPS_H
#define FS_OPS_SCRATCH_OPS_H
/* What the handlers of fs/ops do with scratch files (fs/scratch/scratch). None of this sends a
 * request to the service or waits. A mount that is read-only has no scratch files.
 *
 * The kernel caches the pages of a scratch file, so it can be mapped. It caches neither names nor
 * attributes. All functions: 0 or -errno, with a reason in the call if the errno needs one. Any
 * thread. */
#include "fs/kernel/request.h"
#include "fs/ops/open_file.h"

/* LOOKUP of a name that place_child does not know. -ENOENT: there is no such file. caller.valid_ms
 * is how long the kernel may cache that: long for a name that no scratch file can have. */
int scratch_ops_look_up(struct request *request, const struct inode *parent, struct bytes name,
                        struct fuse_entry_param *ret);
/* CREATE. place: from new_place_child; taken on success. If the file was just created by another
 * path, it is opened, or with O_EXCL -EEXIST. */
int scratch_ops_create(struct request *request, struct place *place, struct bytes name, mode_t mode,
                       struct fuse_file_info *info, struct fuse_entry_param *ret,
                       struct open_file **ret_file);
/* MKNOD: as above, without a handle. */
int scratch_ops_make(struct request *request, struct place *place, struct bytes name, mode_t mode,
                     struct fuse_entry_param *ret);
/* MKDIR and RMDIR of a directory of scratch files. */
int scratch_ops_make_directory(struct request *request, const struct inode *parent,
                               struct bytes name, struct fuse_entry_param *ret);
int scratch_ops_remove_directory(struct request *request, const struct inode *parent,
                                 struct bytes name);
/* -ESTALE: the file has ended, and the kernel looks the name up again. */
int scratch_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret);
/* These two send the reply, too. */
void scratch_ops_read(fuse_req_t req, struct scratch_file *file, size_t size, off_t offset);
void scratch_ops_write(fuse_req_t req, fuse_ino_t id, struct scratch_file *file, struct bytes bytes,
                       const struct fuse_file_info *info, off_t offset);
/* Sets size, mode and modification time. Owners are accepted and ignored. */
int scratch_ops_set_attributes(struct request *request, const struct inode *inode, int to_set,
                               struct stat *stat);
/* The scratch file of a name, referenced. NULL: none. */
struct scratch_file *scratch_ops_find(struct request *request, const struct place *directory,
                                      struct bytes name);
/* Gives the file another name in the directory. As scratch_rename. */
int scratch_ops_rename(struct request *request, struct scratch_file *file,
                       const struct place *directory, struct bytes name, bool is_exclusive);
/* Makes a scratch file with the text and the time of the entity, with this st_ino, and with a
 * temporary name in the directory; the caller renames it next. ret is referenced. */
int scratch_ops_make_backup(struct request *request, const struct place *directory,
                            const struct entity *entity, uint64_t number,
                            struct scratch_file **ret);

#endif
