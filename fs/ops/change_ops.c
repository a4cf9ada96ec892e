#include "fs/ops/change_ops.h"
#include "fs/entry.h"
#include "fs/ops/scratch_ops.h"
#include "fs/tree/new_place.h"
#include "fs/tree/path.h"

#include <linux/fs.h>

#define ETAG_MAX_BYTES ((size_t)64 << 10)

/* A name in a directory, which a request changes. */
struct change {
    struct request request;
    const struct inode *parent;
    struct bytes name;
    struct place place; /* what the name stands for; empty: nothing */
    struct buffer etag; /* of the version that was shown; empty: not known */
    struct directory_path path;
    struct directory *steps; /* of the path, owned */
};

/* -ESTALE: the node of the parent is not known. */
static int begin(struct change *change, fuse_req_t req, const char *operation, fuse_ino_t parent,
                 const char *name)
{
    *change = (struct change){.name = bytes_of(name), .etag = {.max = ETAG_MAX_BYTES}};
    request_begin(&change->request, req, operation);
    request_lock_directory(&change->request);
    change->parent = inode_table_find(change->request.fs->inodes, parent);
    return change->parent ? 0 : -ESTALE;
}

static void end(struct change *change)
{
    request_end(&change->request);
    place_finish(&change->place);
    buffer_finish(&change->etag);
    free(change->steps);
}

static void fail(struct change *change, int error)
{
    if (!change->parent)
        reply_error(change->request.req, error);
    else
        request_fail(&change->request, error == -ESTALE ? -EBUSY : error,
                     change->place.text ? &change->place : &change->parent->place);
}

static void end_with_entry(struct change *change, int r, const struct fuse_entry_param *entry)
{
    if (r < 0)
        fail(change, r);
    else if (fuse_reply_entry(change->request.req, entry) < 0)
        inode_table_forget(change->request.fs->inodes, entry->ino, 1); /* no reply was taken */
    end(change);
}

static void end_without_entry(struct change *change, int r)
{
    if (r < 0)
        fail(change, r);
    else
        reply_error(change->request.req, 0);
    end(change);
}

static int lack_memory(struct change *change)
{
    return call_fail(&change->request.caller.call, -ENOMEM, "out of memory");
}

/* Before the account is asked. The path begins with the child, else with the parent. */
static int prepare(struct change *change, const struct place *child)
{
    struct request *request = &change->request;
    int r = request_may_wait(request, child ? child : &change->parent->place);
    if (r < 0)
        return r;
    r = path_make(request->fs->inodes, change->parent, child, &change->steps, &change->path.n);
    change->path.steps = change->steps;
    return r < 0 ? lack_memory(change) : 0;
}

static int make_directory(struct change *change, struct fuse_entry_param *ret)
{
    struct request *request = &change->request;
    const char *reason = NULL;
    int r =
        new_place_child(&change->parent->place, change->name, true, NULL, &change->place, &reason);
    if (r < 0)
        return request_refuse_name(request, change->name, r, reason);
    r = prepare(change, &change->place);
    if (r == 0)
        r = account_make_directory(request->fs->account, &request->caller, &change->path);
    if (r < 0)
        return r;
    r = entry_make(request->fs, change->parent->id, change->name, &change->place, NULL,
                   request->caller.valid_ms, ret);
    return r < 0 ? lack_memory(change) : 0;
}

void change_ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct change change;
    struct fuse_entry_param entry = {0};
    (void)mode; /* that of the mount */
    int r = begin(&change, req, "mkdir", parent, name);
    if (r == 0)
        r = make_directory(&change, &entry);
    end_with_entry(&change, r, &entry);
}

/* What stands for the name, which the kernel has looked up. -EPERM: a part of the mount. */
static int find_place(struct change *change)
{
    const struct place *parent = &change->parent->place;
    int r = place_child(parent, change->name, &change->place);
    if (r < 0)
        return r == -ENOMEM ? lack_memory(change) : r;
    return change->place.is_given ? -EPERM : 0;
}

/* What the kernel's node of the name tells: which long key has this short name, and which version
 * was shown. There may be none of a version: then a short name is not known. */
static int learn_from_node(struct change *change)
{
    struct file_system *fs = change->request.fs;
    const struct place *parent = &change->parent->place;
    _cleanup_(buffer_finish) struct buffer buffer;
    buffer_init(&buffer, POSITION_MAX_BYTES);
    int r = inode_table_named(fs->inodes, change->parent->id, change->name, &buffer, &change->etag);
    if (r < 0)
        return lack_memory(change);
    if (!change->place.is_cut)
        return 0;
    if (r == 0)
        return -ENOENT;
    struct bytes position = buffer_bytes(&buffer);
    bool is_row = parent->directory_kind == DIRECTORY_ENTITIES;
    place_finish(&change->place);
    r = place_of_key(parent, is_row ? position_row_key(position) : position_partition_key(position),
                     &change->place);
    return r < 0 ? lack_memory(change) : 0;
}

static int check_no_file_of_mount(struct change *change)
{
    struct file_system *fs = change->request.fs;
    struct directory directory = place_directory(&change->place);
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, POSITION_MAX_BYTES);
    if (fs->writers && writers_next_new(fs->writers, &directory, (struct bytes){0}, &position))
        return call_fail(&change->request.caller.call, -ENOTEMPTY,
                         "a new file that is not stored yet is in it");
    if (fs->scratch && scratch_has_below(fs->scratch, &directory))
        return call_fail(&change->request.caller.call, -ENOTEMPTY,
                         "a file with a temporary name is in it");
    return position.error < 0 ? lack_memory(change) : 0;
}

static int remove_directory(struct change *change)
{
    struct request *request = &change->request;
    int r = find_place(change);
    if (r == 0)
        r = learn_from_node(change);
    if (r == 0)
        r = check_no_file_of_mount(change);
    if (r == 0)
        r = prepare(change, &change->place);
    if (r == 0)
        r = account_remove_directory(request->fs->account, &request->caller, &change->path);
    if (r == 0)
        inode_table_remove_name(request->fs->inodes, change->parent->id, change->name);
    return r;
}

void change_ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct change change;
    int r = begin(&change, req, "rmdir", parent, name);
    if (r == 0)
        r = remove_directory(&change);
    end_without_entry(&change, r);
}

static int delete_stored(struct change *change, struct address address)
{
    struct account *account = change->request.fs->account;
    struct caller *caller = &change->request.caller;
    _cleanup_(entity_finish) struct entity stored = {0};
    struct bytes etag = buffer_bytes(&change->etag);
    if (etag.size == 0) {
        int r = account_find(account, caller, address, &stored);
        if (r < 0)
            return r;
        etag = page_etag(stored.page, stored.row);
    }
    return account_unlink(account, caller, address, etag, &change->path);
}

/* Is a file of the name open here that is not stored yet? */
static bool is_new_file(struct file_system *fs, struct address address)
{
    struct writer *new_file = writers_find_new(fs->writers, address);
    writer_unref(new_file);
    return new_file != NULL;
}

/* No writer of the name stores meanwhile. Of a new file that cannot be stored nothing is sent. If
 * the answer to a store of it was lost, the service may have it. It has one, too, where an entity
 * of the name is known: the file was created by a path by which the kernel still knew the name to
 * be absent. */
static int delete_held(struct change *change, struct held_writers *held, struct address address)
{
    bool is_new = is_new_file(change->request.fs, address);
    int r =
        writers_held_is_unstored(held) ? account_knows(change->request.fs->account, address) : 1;
    if (r <= 0)
        return r < 0 ? lack_memory(change) : 0;
    r = delete_stored(change, address);
    return r == -ENOENT && is_new ? 0 : r;
}

static int unlink_file(struct change *change)
{
    struct file_system *fs = change->request.fs;
    struct call *call = &change->request.caller.call;
    struct held_writers *held = NULL;
    int r = find_place(change);
    if (r == -ENOENT)
        return scratch_ops_unlink(&change->request, change->parent, change->name);
    if (r == 0 && !fs->writers)
        r = -EROFS;
    if (r == 0)
        r = learn_from_node(change);
    if (r == 0)
        r = prepare(change, NULL);
    if (r < 0)
        return r;
    struct address address = place_address(&change->place);
    r = writers_hold(fs->writers, address, call, &held);
    if (r < 0)
        return r;
    r = delete_held(change, held, address);
    writers_let_go(held, r == 0);
    if (r == 0)
        inode_table_remove_name(fs->inodes, change->parent->id, change->name);
    return r;
}

void change_ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct change change;
    int r = begin(&change, req, "unlink", parent, name);
    if (r == 0)
        r = unlink_file(&change);
    end_without_entry(&change, r);
}

void change_ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                       const char *new_name, unsigned flags)
{
    struct change change;
    int r = begin(&change, req, "rename", parent, name);
    const struct inode *to = inode_table_find(change.request.fs->inodes, new_parent);
    if (r == 0 && (flags & ~(unsigned)RENAME_NOREPLACE))
        r = call_fail(&change.request.caller.call, -EINVAL, "names cannot be exchanged");
    if (r == 0)
        r = to ? find_place(&change) : -ESTALE;
    if (r == -ENOENT)
        r = scratch_ops_rename(&change.request, change.parent, change.name, to, bytes_of(new_name),
                               flags & RENAME_NOREPLACE);
    else if (r == 0 || r == -EPERM)
        r = -EXDEV;
    end_without_entry(&change, r);
}

void change_ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    (void)target;
    (void)parent;
    (void)name;
    reply_error(req, -EPERM);
}

void change_ops_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t new_parent, const char *new_name)
{
    (void)id;
    (void)new_parent;
    (void)new_name;
    reply_error(req, -EPERM);
}

/* A file without a handle. Nothing will be written to an entity, so it is stored at once, as one
 * without properties. */
static int make_file(struct change *change, mode_t mode, struct fuse_entry_param *ret)
{
    struct request *request = &change->request;
    struct file_system *fs = request->fs;
    _cleanup_(entity_finish) struct entity entity = {0};
    const char *reason = NULL;
    int r = new_place_child(&change->parent->place, change->name, false, fs->scratch_globs,
                            &change->place, &reason);
    if (r < 0)
        return request_refuse_name(request, change->name, r, reason);
    if (!fs->writers)
        return -EROFS;
    if (change->place.kind == PLACE_SCRATCH)
        return scratch_ops_make(request, &change->place, change->name, mode, ret);
    struct edit edit = {.address = place_address(&change->place),
                        .begin = EDIT_EXCLUSIVE,
                        .text = BYTES_LITERAL("{}")};
    if (is_new_file(fs, edit.address)) /* by another path */
        return -EEXIST;
    r = request_may_wait(request, &change->place);
    if (r == 0)
        r = account_store(fs->account, &request->caller, &edit, &entity);
    if (r < 0)
        return r;
    r = entry_make(fs, change->parent->id, change->name, &change->place, &entity, 0, ret);
    return r < 0 ? lack_memory(change) : 0;
}

void change_ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      dev_t device)
{
    struct change change;
    struct fuse_entry_param entry = {0};
    (void)device;
    int r = begin(&change, req, "mknod", parent, name);
    if (r == 0)
        r = S_ISREG(mode) ? make_file(&change, mode, &entry) : -EPERM;
    end_with_entry(&change, r, &entry);
}
