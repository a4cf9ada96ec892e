/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CHANGE_H
#define FS_OPS_CHANGE_H
/* A request that changes a name in a directory, for the handlers that do so (change_ops,
 * rename_ops): what the name stands for, and the reply. On the handler's stack; one thread. */
#include "fs/kernel/request.h"
#include "fs/tree/path.h"

struct child { /* a name in a directory */
    const struct inode *parent;
    struct bytes name;
    struct place place; /* what the name stands for; empty: nothing */
    struct buffer etag; /* of the version that was shown; empty: not known */
};
void child_init(struct child *child, const struct inode *parent, struct bytes name);
void child_finish(struct child *child);
/* What stands for the name, which the kernel has looked up. From the kernel's node of it come the
 * version that was shown and, for a short name, the long key; there may be no such node, and then
 * the key is looked for. -EPERM: a part of the mount; -ENOENT: no name of anything. */
int child_find(struct request *request, struct child *child);
/* What the name would stand for if it were created. As new_place_child; the reason is told. It is
 * settled if the name was given out before. */
int child_find_new(struct request *request, struct child *child, bool is_directory);
/* How a whole text is stored at `to`, by what is there now. An enum edit_begin or -errno. -EEXIST:
 * is_exclusive, and there is an entity. -EINVAL: is_empty, and there is one. */
int change_edit_begin(struct request *request, struct address to, bool is_exclusive, bool is_empty);

struct change {
    struct request request;
    struct child child;
    struct directory_path path;
    struct directory *steps; /* of the path, owned */
};
/* A request to do what no mount does: it fails with -errno and the reason. */
void change_refuse(fuse_req_t req, const char *operation, fuse_ino_t parent, const char *name,
                   int error, const char *reason);
/* Followed by one of the two ends below, which reply. -ESTALE: the node of the parent is not known.
 */
int change_begin(struct change *change, fuse_req_t req, const char *operation, fuse_ino_t parent,
                 const char *name);
/* Before the account is asked. The path begins with `child`; NULL: with the parent. */
int change_prepare(struct change *change, const struct place *child);
/* r: 0 or -errno. -ESTALE of a known parent becomes -EBUSY: the kernel would send it again. */
void change_end_with_entry(struct change *change, int r, const struct fuse_entry_param *entry);
void change_end_without_entry(struct change *change, int r);
int change_refuse_taken(struct request *request); /* answers -EEXIST */

#endif
