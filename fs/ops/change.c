/* SPDX-License-Identifier: MIT */
#include "fs/ops/change.h"
#include "fs/ops/cut_name.h"
#include "fs/tree/new_place.h"

#define ETAG_MAX_BYTES ((size_t)64 << 10)

void child_init(struct child *child, const struct inode *parent, struct bytes name)
{
    *child = (struct child){.parent = parent, .name = name, .etag = {.max = ETAG_MAX_BYTES}};
}

void child_finish(struct child *child)
{
    place_finish(&child->place);
    buffer_finish(&child->etag);
}

int change_refuse_taken(struct request *request)
{
    return call_fail(&request->caller.call, -EEXIST, "there is a file of this name");
}

static int find_place(struct request *request, struct child *child)
{
    int r = place_child(&child->parent->place, child->name, &child->place);
    if (r < 0)
        return r;
    return child->place.is_given
               ? request_refuse_name(request, child->name, -EPERM, "the name is part of the mount")
               : 0;
}

static int settle(struct request *request, struct child *child)
{
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = cut_name_find_known(request, child->parent, child->name, &child->place);
    if (r != 0)
        return MIN(r, 0);
    r = request_may_wait(request, &child->parent->place);
    return r < 0 ? r : cut_name_settle(request, child->parent, child->name, &child->place, &entity);
}

/* Without a node of a version, as after a rename, the key of a short name is searched for. */
static int learn_from_node(struct request *request, struct child *child)
{
    const struct place *parent = &child->parent->place;
    _cleanup_(buffer_finish) struct buffer buffer = {.max = POSITION_MAX_BYTES};
    int r = inode_table_named(request->fs->inodes, child->parent->id, child->name, &buffer,
                              &child->etag);
    if (r < 0)
        return r;
    if (!child->place.is_cut)
        return 0;
    if (r == 0)
        return settle(request, child);
    struct bytes position = buffer_bytes(&buffer);
    bool is_row = parent->directory_kind == DIRECTORY_ENTITIES;
    place_finish(&child->place);
    return place_of_key(parent,
                        is_row ? position_row_key(position) : position_partition_key(position),
                        &child->place);
}

int child_find(struct request *request, struct child *child)
{
    int r = find_place(request, child);
    return r < 0 ? r : learn_from_node(request, child);
}

int child_find_new(struct request *request, struct child *child, bool is_directory)
{
    const char *reason = NULL;
    const char *globs = is_directory ? NULL : request->fs->scratch_globs;
    enum new_kind kind = is_directory ? NEW_DIRECTORY : NEW_FILE;
    int r =
        new_place_child(&child->parent->place, child->name, kind, globs, &child->place, &reason);
    if (r < 0)
        return request_refuse_name(request, child->name, r, reason);
    return settler_settle_place(&request->fs->settler, &request->caller, &child->place, NULL);
}

int change_edit_begin(struct request *request, struct address to, bool is_exclusive, bool is_empty)
{
    struct call *call = &request->caller.call;
    _cleanup_(entity_finish) struct entity there = {0};
    int r = account_find(request->fs->account, &request->caller, to, &there);
    if (r < 0 && r != -ENOENT)
        return r;
    call->failure = (struct failure){0};
    if (r == 0 && is_exclusive)
        return change_refuse_taken(request);
    if (r == 0 && is_empty)
        return call_fail(call, -EINVAL, "an empty file does not take the place of an entity");
    return r == 0 ? EDIT_OVER : is_exclusive ? EDIT_EXCLUSIVE : EDIT_NEW;
}

int change_begin(struct change *change, fuse_req_t req, const char *operation, fuse_ino_t parent,
                 const char *name)
{
    *change = (struct change){0};
    request_begin(&change->request, req, operation);
    request_lock_directory(&change->request);
    child_init(&change->child, inode_table_find(change->request.fs->inodes, parent),
               bytes_of(name));
    return change->child.parent ? 0 : -ESTALE;
}

int change_prepare(struct change *change, const struct place *child)
{
    struct request *request = &change->request;
    const struct inode *parent = change->child.parent;
    int r = request_may_wait(request, child ? child : &parent->place);
    if (r < 0)
        return r;
    r = path_make(request->fs->inodes, parent, child, &change->steps, &change->path);
    if (r < 0)
        return r;
    account_use_path(request->fs->account, &request->caller, &change->path);
    return 0;
}

static void end(struct change *change)
{
    request_end(&change->request);
    child_finish(&change->child);
    free(change->steps);
}

static void fail(struct change *change, int error)
{
    const struct child *child = &change->child;
    bool is_found = child->place.text || child->place.is_given;
    if (!child->parent)
        reply_error(change->request.req, error);
    else
        request_fail(&change->request, error == -ESTALE ? -EBUSY : error,
                     is_found ? &child->place : &child->parent->place);
}

void change_end_with_entry(struct change *change, int r, const struct fuse_entry_param *entry)
{
    if (r == 0)
        cut_name_settle_node(&change->request,
                             inode_table_find(change->request.fs->inodes, entry->ino));
    if (r < 0)
        fail(change, r);
    else if (fuse_reply_entry(change->request.req, entry) < 0)
        inode_table_forget(change->request.fs->inodes, entry->ino, 1); /* no reply was taken */
    end(change);
}

void change_end_without_entry(struct change *change, int r)
{
    if (r < 0)
        fail(change, r);
    else
        reply_error(change->request.req, 0);
    end(change);
}

void change_refuse(fuse_req_t req, const char *operation, fuse_ino_t parent, const char *name,
                   int error, const char *reason)
{
    struct change change;
    int r = change_begin(&change, req, operation, parent, name);
    if (r == 0)
        r = request_refuse_name(&change.request, change.child.name, error, reason);
    change_end_without_entry(&change, r);
}
