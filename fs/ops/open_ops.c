/* SPDX-License-Identifier: MIT */
#include "fs/ops/open_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/control_ops.h"
#include "fs/ops/cut_name.h"
#include "fs/ops/file_ops.h"
#include "fs/ops/lock_ops.h"
#include "fs/ops/open_file.h"
#include "fs/ops/open_writer.h"
#include "fs/ops/scratch_ops.h"
#include "fs/ops/used_path.h"
#include "fs/tree/new_place.h"

#include <fcntl.h>

/* How an open for reading gets its text. A node is one version. If the entity has another version
 * by now, the open is answered ESTALE. The kernel then looks the name up again by itself, which
 * makes a new node, and opens that. The user sees no error if this second open succeeds. Therefore
 * it gets the text that the LOOKUP has found, whatever has changed meanwhile (fs/tree/stale_opens).
 * A thread that opens again without a LOOKUP (an open of /proc/self/fd/N) gets the text that is
 * open there (fs/tree/inode). */

/* The entity has another version than the node, or another name. The first open is answered ESTALE.
 * A thread that opens the node again gets the text that is open there. */
static int open_outdated(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = request_opener(request, inode);
    int64_t now_ms = clock_now_ms(fs->clock);
    if (stale_opens_has_begun(fs->stale_opens, &opener, now_ms) &&
        inode_table_open_text(fs->inodes, inode->id, ret))
        return 0;
    return stale_opens_begin(fs->stale_opens, &opener, now_ms) < 0 ? -ENOMEM : -ESTALE;
}

/* Finds the text of the node's version. For a writer's node, which the LOOKUP of another thread may
 * return (fs/ops/open_writer.h), finds the present version. 0 or -errno. */
static int find_text(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = request_opener(request, inode);
    if (stale_opens_take_text(fs->stale_opens, &opener, inode->id, clock_now_ms(fs->clock), ret))
        return 0;
    if (inode_is_removed(inode) && inode_table_open_text(fs->inodes, inode->id, ret))
        return 0;                /* by the descriptor of a handle */
    if (inode_is_renamed(inode)) /* the kernel has it under its new name */
        return open_outdated(request, inode, ret);
    _cleanup_(entity_finish) struct entity stored = {0};
    int r = request_may_wait(request, &inode->place);
    if (r == 0)
        r = account_find(fs->account, &request->caller, place_address(&inode->place), &stored);
    if (r < 0)
        return r;
    struct version version = version_of_entity(&stored);
    if (inode_kind(inode) == NODE_VERSION && !inode_is_version(inode, &version))
        return open_outdated(request, inode, ret);
    *ret = stored;
    stored.page = NULL;
    return 0;
}

static int open_text(struct request *request, const struct inode *inode, struct open_file **ret)
{
    struct file_system *fs = request->fs;
    _cleanup_(entity_finish) struct entity entity = {0};
    struct opener opener = request_opener(request, inode);
    int r = find_text(request, inode, &entity);
    if (r < 0)
        return r;
    r = account_check_readable(&request->caller, &entity);
    if (r < 0) {
        stale_opens_end(fs->stale_opens, &opener);
        return r;
    }
    r = open_file_create_entity(&entity, ret);
    if (r == 0) {
        r = inode_table_opened(fs->inodes, inode->id, &(*ret)->entity);
        if (r < 0)
            open_file_destroy(TAKE_PTR(*ret));
    }
    if (r < 0)
        return r;
    stale_opens_end(fs->stale_opens, &opener);
    if (fs->writers)
        account_opened(fs->account, &request->caller, place_address(&inode->place), &entity);
    return 0;
}

/* Makes the file of a writer's handle, which it takes in any case. */
static int create_writer_file(struct request *request, struct writer_handle *handle,
                              struct fuse_file_info *info, struct open_file **ret)
{
    bool is_reader = !open_writer_is_needed(info->flags);
    int r = open_file_create_writer(handle, is_reader, request->process.command, ret);
    if (r < 0) {
        writer_drop_handle(handle, &request->caller);
        return r;
    }
    info->direct_io = 1; /* no pages are kept: the text changes */
    info->noflush = is_reader;
    return 0;
}

static int open_entity(struct request *request, const struct inode *inode,
                       struct fuse_file_info *info, struct open_file **ret)
{
    bool is_version = inode_kind(inode) == NODE_VERSION;
    struct writer_handle *handle = NULL;
    int r = -ESTALE;
    if (open_writer_is_needed(info->flags)) {
        r = request->fs->writers ? open_writer(request, inode, info->flags, &handle) : -EROFS;
        return r < 0 ? r : create_writer_file(request, handle, info, ret);
    }
    if (!is_version)
        r = open_writer_read(request, inode, &handle);
    if (r == 0)
        return create_writer_file(request, handle, info, ret);
    if (r != -ESTALE)
        return r;
    info->noflush = 1; /* there is nothing to flush; this saves a request for each close */
    info->keep_cache = is_version; /* a node is one version, so the kernel's pages stay valid */
    info->direct_io = !is_version;
    return open_text(request, inode, ret);
}

void open_ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    struct request request;
    struct open_file *file = NULL;
    request_begin(&request, req, "open");
    const struct inode *inode = inode_table_find(request.fs->inodes, id);
    used_path_note(&request, inode);
    int r = !inode ? -ESTALE
            : inode->place.kind == PLACE_CONTROL_FILE
                ? control_ops_open(&request, inode, info, &file)
            : inode->place.kind == PLACE_SCRATCH ? scratch_ops_open(&request, inode, info, &file)
                                                 : open_entity(&request, inode, info, &file);
    if (r == -ESTALE) {
        reply_error(req, r);
    } else if (r < 0) {
        request_fail(&request, r, &inode->place);
    } else {
        lock_ops_opened(request.fs, inode, file);
        info->fh = (uintptr_t)file;
        if (fuse_reply_open(req, info) < 0)
            file_ops_drop(&request, id, file); /* interrupted: the kernel sends no RELEASE */
    }
    request_end(&request);
}

/* Is it created as mkstemp does (fs/tree/scratch_name.h)? The kernel has applied the umask. */
static bool is_temporary(int flags, mode_t mode)
{
    return (flags & O_ACCMODE) == O_RDWR && (flags & O_EXCL) && (mode & 07777) == 0600;
}

/* Begins the writer of a new file, or makes a scratch file, and makes its node. */
static int create(struct request *request, const struct inode *parent, struct bytes name,
                  mode_t mode, struct place *place, struct fuse_file_info *info,
                  struct fuse_entry_param *ret, struct open_file **ret_file)
{
    struct file_system *fs = request->fs;
    struct opener opener = {request->context->pid, parent->id, name};
    struct writer_handle *handle;
    const char *reason = NULL;
    if (!fs->writers)
        return -EROFS;
    enum new_kind kind = is_temporary(info->flags, mode) ? NEW_TEMPORARY_FILE : NEW_FILE;
    int r = new_place_child(&parent->place, name, kind, fs->scratch_globs, place, &reason);
    if (r < 0)
        return request_refuse_name(request, name, r, reason);
    r = settler_settle_place(&fs->settler, &request->caller, place, NULL);
    if (r < 0)
        return r;
    if (place->kind == PLACE_SCRATCH)
        return scratch_ops_create(request, place, name, mode, info, ret, ret_file);
    r = open_writer_new(request, place_address(place), info->flags, &handle);
    if (r < 0)
        return r;
    r = settler_settle_place(&fs->settler, &request->caller, place, NULL);
    if (r == 0)
        r = entry_make_writer(fs, parent->id, name, place, handle->writer, ret);
    if (r < 0) {
        writer_drop_handle(handle, &request->caller);
        return r;
    }
    r = create_writer_file(request, handle, info, ret_file);
    if (r < 0)
        inode_table_forget(fs->inodes, ret->ino, 1);
    else
        stale_opens_end_writer(fs->stale_opens, &opener);
    return r;
}

void open_ops_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                     struct fuse_file_info *info)
{
    struct request request;
    struct fuse_entry_param entry = {0};
    struct open_file *file = NULL;
    _cleanup_(place_finish) struct place place = {0};
    request_begin(&request, req, "create");
    request_lock_directory(&request);
    const struct inode *directory = inode_table_find(request.fs->inodes, parent);
    used_path_note(&request, directory);
    int r = directory
                ? create(&request, directory, bytes_of(name), mode, &place, info, &entry, &file)
                : -ENOENT;
    if (r < 0) {
        request_fail(&request, r, directory ? &directory->place : NULL);
    } else {
        const struct inode *made = inode_table_find(request.fs->inodes, entry.ino);
        cut_name_settle_node(&request, made);
        lock_ops_opened(request.fs, made, file);
        info->fh = (uintptr_t)file;
        if (fuse_reply_create(req, &entry, info) < 0) {
            inode_table_forget(request.fs->inodes, entry.ino, 1);
            file_ops_drop(&request, entry.ino, file);
        }
    }
    request_end(&request);
}
