/* SPDX-License-Identifier: MIT */
#include "fs/ops/change_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/change.h"
#include "fs/ops/rename_scratch.h"
#include "fs/ops/scratch_ops.h"

static int make_directory(struct change *change, struct fuse_entry_param *ret)
{
    struct request *request = &change->request;
    int r = child_find_new(request, &change->child, true);
    if (r == 0 && change->child.place.kind == PLACE_SCRATCH_DIRECTORY)
        return !request->fs->scratch ? -EROFS
                                     : scratch_ops_make_directory(request, change->child.parent,
                                                                  change->child.name, ret);
    if (r < 0)
        return r;
    r = change_prepare(change, &change->child.place);
    if (r == 0)
        r = account_make_directory(request->fs->account, &request->caller, &change->path);
    if (r == 0)
        r = settler_settle_place(&request->fs->settler, &request->caller, &change->child.place,
                                 NULL);
    if (r < 0)
        return r;
    return entry_make(request->fs, change->child.parent->id, change->child.name,
                      &change->child.place, NULL, request->caller.valid_ms, ret);
}

void change_ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    struct change change;
    struct fuse_entry_param entry = {0};
    (void)mode; /* that of the mount */
    int r = change_begin(&change, req, "mkdir", parent, name);
    if (r == 0)
        r = make_directory(&change, &entry);
    change_end_with_entry(&change, r, &entry);
}

static int check_no_file_of_mount(struct change *change)
{
    struct file_system *fs = change->request.fs;
    struct directory directory = place_directory(&change->child.place);
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES};
    if (fs->writers && writers_next_new(fs->writers, &directory, (struct bytes){0}, &position))
        return call_fail(&change->request.caller.call, -ENOTEMPTY,
                         "a new file that is not stored yet is in it");
    if (fs->scratch && scratch_has_below(fs->scratch, &directory))
        return call_fail(&change->request.caller.call, -ENOTEMPTY,
                         "a file with a temporary name is in it");
    return position.error;
}

/* rmdir in `.tablefuse/drop`, which also removes the directory of the table in the root. */
static int drop_table(struct change *change)
{
    struct request *request = &change->request;
    const char *table = place_directory(&change->child.place).table;
    int r = request_may_wait(request, &change->child.place);
    if (r == 0)
        r = account_drop_table(request->fs->account, &request->caller, table);
    if (r == 0)
        inode_table_remove_name(request->fs->inodes, FUSE_ROOT_ID, bytes_of(table));
    return r;
}

static int remove_account_directory(struct change *change)
{
    struct request *request = &change->request;
    int r = change_prepare(change, &change->child.place);
    return r < 0 ? r
                 : account_remove_directory(request->fs->account, &request->caller, &change->path);
}

/* The directory of a filter, or one in it, is another view of directories, which stay. */
static int remove_filtered(struct change *change)
{
    struct request *request = &change->request;
    const struct place *parent = &change->child.parent->place;
    struct directory directory = place_directory(&change->child.place);
    struct directory above = place_directory(parent);
    int r = request_may_wait(request, &change->child.place);
    return r < 0 ? r
                 : account_remove_filtered(request->fs->account, &request->caller, &directory,
                                           parent->kind == PLACE_FILTERS ? NULL : &above);
}

/* What rmdir names. A filter's directory is part of the mount, and can be removed nevertheless. */
static int find_removed(struct change *change)
{
    struct child *child = &change->child;
    return child->parent->place.kind == PLACE_FILTERS
               ? place_child(&child->parent->place, child->name, &child->place)
               : child_find(&change->request, child);
}

static int remove_directory(struct change *change)
{
    struct request *request = &change->request;
    int r = find_removed(change);
    if (r == -ENOENT && request->fs->scratch) {
        r = scratch_ops_remove_directory(request, change->child.parent, change->child.name);
        if (r == 0)
            inode_table_remove_name(request->fs->inodes, change->child.parent->id,
                                    change->child.name);
        return r;
    }
    bool is_filtered = r == 0 && place_directory(&change->child.place).filter;
    if (is_filtered)
        r = remove_filtered(change);
    else if (r == 0)
        r = check_no_file_of_mount(change);
    if (r == 0 && !is_filtered)
        r = change->child.place.kind == PLACE_DROPPED_TABLE ? drop_table(change)
                                                            : remove_account_directory(change);
    if (r == 0)
        inode_table_remove_name(request->fs->inodes, change->child.parent->id, change->child.name);
    return r;
}

void change_ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct change change;
    int r = change_begin(&change, req, "rmdir", parent, name);
    if (r == 0)
        r = remove_directory(&change);
    change_end_without_entry(&change, r);
}

/* While its writers are held, no writer of the name stores. A new file that cannot be stored sends
 * nothing. But the service may have the entity: the answer to a store may have been lost, or the
 * file was created by a path for which the kernel still had an absent name. */
static int delete_held(struct change *change, struct held_writers *held, struct address address)
{
    bool is_new = writers_has_new(change->request.fs->writers, address);
    if (writers_held_is_unstored(held) && !account_knows(change->request.fs->account, address))
        return 0;
    int r = account_unlink(change->request.fs->account, &change->request.caller, address,
                           buffer_bytes(&change->child.etag), &change->path);
    return r == -ENOENT && is_new ? 0 : r;
}

static int unlink_scratch(struct change *change)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file =
        scratch_ops_find(&change->request, &change->child.parent->place, change->child.name);
    if (!file)
        return -ENOENT;
    if (scratch_file_is_directory(file))
        return -EISDIR;
    int r = request_may_wait(&change->request, &change->child.parent->place);
    if (r == 0)
        r = rename_scratch_delete_original(&change->request, file);
    return r < 0 ? r : scratch_unlink(file);
}

static int unlink_held(struct change *change, struct held_writers *held)
{
    struct request *request = &change->request;
    struct place *place = &change->child.place;
    /* The name may have got its key before the hold, which is then a hold of the settled name. */
    int r = settler_settle_place(&request->fs->settler, &request->caller, place, NULL);
    if (r == 0 && place_is_unsettled(place) && !writers_held_is_unstored(held))
        r = -ENOENT;
    return r < 0 ? r : delete_held(change, held, place_address(place));
}

static int unlink_file(struct change *change)
{
    struct file_system *fs = change->request.fs;
    struct held_writers *held = NULL;
    int r = child_find(&change->request, &change->child);
    if (r == -ENOENT)
        return unlink_scratch(change);
    if (r == 0 && !fs->writers)
        r = -EROFS;
    if (r == 0)
        r = change_prepare(change, NULL);
    if (r < 0)
        return r;
    r = writers_hold(fs->writers, place_address(&change->child.place), &change->request.caller.call,
                     &held);
    if (r < 0)
        return r;
    r = unlink_held(change, held);
    if (r == 0) /* while the name cannot be created again */
        locks_move(fs->locks, place_address(&change->child.place), (struct address){0});
    writers_let_go(held, r == 0);
    if (r < 0)
        return r;
    writers_note_removed(fs->writers, place_address(&change->child.place));
    inode_table_remove_name(fs->inodes, change->child.parent->id, change->child.name);
    return 0;
}

void change_ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct change change;
    int r = change_begin(&change, req, "unlink", parent, name);
    if (r == 0)
        r = unlink_file(&change);
    change_end_without_entry(&change, r);
}

/* rsync --backup and others try to link each file, and copy or rename it after that fails. The path
 * has the name if it could be an entity's; the reason does not, so that equal failures are counted
 * in one line. */
static void refuse_link(fuse_req_t req, const char *operation, fuse_ino_t parent, const char *name)
{
    struct change change;
    int r = change_begin(&change, req, operation, parent, name);
    change.request.is_one_of_many = true;
    if (r == 0)
        (void)place_child(&change.child.parent->place, change.child.name, &change.child.place);
    if (r == 0)
        r = call_fail(&change.request.caller.call, -EPERM,
                      "the service has no symbolic or hard links");
    change_end_without_entry(&change, r);
}

#define NO_DEVICES "the service has no devices, pipes or sockets"

void change_ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    (void)target;
    refuse_link(req, "symlink", parent, name);
}

void change_ops_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t new_parent, const char *new_name)
{
    (void)id;
    refuse_link(req, "link", new_parent, new_name);
}

/* Makes a file without a handle. mknod on an entity's name gets no writes, so the entity is stored
 * at once, without properties. */
static int make_file(struct change *change, mode_t mode, struct fuse_entry_param *ret)
{
    struct request *request = &change->request;
    struct file_system *fs = request->fs;
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = child_find_new(request, &change->child, false);
    if (r < 0)
        return r;
    if (!fs->writers)
        return -EROFS;
    if (change->child.place.kind == PLACE_SCRATCH)
        return scratch_ops_make(request, &change->child.place, change->child.name, mode, ret);
    struct edit edit = {.begin = EDIT_EXCLUSIVE, .text = BYTES_LITERAL("{}"), .is_blank = true};
    const struct key_source source = {.text = edit.text, .begin = edit.begin};
    r = settler_settle_place(&fs->settler, &request->caller, &change->child.place, &source);
    if (r < 0) /* the text has no key */
        return r;
    edit.address = place_address(&change->child.place);
    if (writers_has_new(fs->writers, edit.address)) /* by another path */
        return -EEXIST;
    r = request_may_wait(request, &change->child.place);
    if (r == 0)
        r = account_store(fs->account, &request->caller, &edit, &entity);
    if (r < 0)
        return r;
    return entry_make(fs, change->child.parent->id, change->child.name, &change->child.place,
                      &entity, 0, ret);
}

void change_ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      dev_t device)
{
    struct change change;
    struct fuse_entry_param entry = {0};
    (void)device;
    if (!S_ISREG(mode)) {
        change_refuse(req, "mknod", parent, name, -EPERM, NO_DEVICES);
        return;
    }
    int r = change_begin(&change, req, "mknod", parent, name);
    if (r == 0)
        r = make_file(&change, mode, &entry);
    change_end_with_entry(&change, r, &entry);
}
