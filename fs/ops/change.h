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
    struct place place; /* what the name stands for; zero: nothing */
    struct buffer etag; /* of the version that the user saw; empty: not known */
};
void child_init(struct child *child, const struct inode *parent, struct bytes name);
void child_finish(struct child *child);
/* Finds what the name stands for; the kernel has looked it up before. The node of that LOOKUP has
 * the version that the user saw and, for a cut name, the long key. If there is no such node, the
 * key of a cut name is searched for. -EPERM: the name is a part of the mount; -ENOENT: it stands
 * for nothing. */
int child_find(struct request *request, struct child *child);
/* Finds what the name would stand for if it were created. As new_place_child, with the reason in
 * the call. The key of a cut name is settled if this mount has shown the name before. */
int child_find_new(struct request *request, struct child *child, bool is_directory);
/* How a whole text is to be stored at `to`, which depends on whether an entity exists there: an
 * enum edit_begin, or -errno. If it exists: -EEXIST with is_exclusive, -EINVAL with is_empty. */
int change_edit_begin(struct request *request, struct address to, bool is_exclusive, bool is_empty);

struct change {
    struct request request;
    struct child child;
    struct directory_path path;
    struct directory *steps; /* of the path, owned */
};
/* Replies to a request that no mount of tablefuse can fulfil: -errno with the reason. */
void change_refuse(fuse_req_t req, const char *operation, fuse_ino_t parent, const char *name,
                   int error, const char *reason);
/* Begins the request. One of the two change_end functions must follow, which reply. -ESTALE: the
 * node of the parent is unknown. */
int change_begin(struct change *change, fuse_req_t req, const char *operation, fuse_ino_t parent,
                 const char *name);
/* Called before a call of the account: fills `path`, from `child` up; NULL: from the parent up. */
int change_prepare(struct change *change, const struct place *child);
/* r: 0 or -errno. If the parent is known, -ESTALE becomes -EBUSY, because upon ESTALE the kernel
 * would send the request again. */
void change_end_with_entry(struct change *change, int r, const struct fuse_entry_param *entry);
void change_end_without_entry(struct change *change, int r);
int change_refuse_taken(struct request *request); /* something has the name: returns -EEXIST */

#endif
