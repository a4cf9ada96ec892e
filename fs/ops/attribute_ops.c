/* SPDX-License-Identifier: MIT */
#include "fs/ops/attribute_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/open_file.h"
#include "fs/ops/scratch_ops.h"
#include "fs/ops/used_path.h"

#define BLOCK_SIZE  4096
#define FREE_BLOCKS ((fsblkcnt_t)1 << 38) /* 1 PiB */
#define FREE_FILES  ((fsfilcnt_t)1000000000)

/* This sends no request. */
void attribute_ops_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)info;
    struct file_system *fs = request_fs(req);
    const struct inode *inode = inode_table_find(fs->inodes, id);
    struct stat stat;
    /* The kernel may have a renamed file's node under any later name of the file. It then looks up
     * that name, and the answer has the number that an OPEN would show. */
    bool has_other_name =
        inode && inode_is_renamed(inode) && !inode_table_is_open(fs->inodes, inode->id);
    if (!inode || has_other_name) {
        reply_error(req, -ESTALE);
        return;
    }
    entry_attributes(fs, inode, &stat);
    (void)fuse_reply_attr(req, &stat, entry_attributes_sec(inode));
}

static struct writer_handle *handle_of(const struct fuse_file_info *info)
{
    return info ? ((struct open_file *)(uintptr_t)info->fh)->writer : NULL;
}

static int set_size(struct request *request, uint64_t size, struct writer_handle *handle,
                    struct stat *stat)
{
    if (!handle)
        return call_fail(&request->caller.call, -EINVAL,
                         "a size can only be set through an open file: no part of an entity's text "
                         "is an entity");
    int r = writer_resize(handle->writer, &request->caller, size);
    stat->st_size = (off_t)writer_size(handle->writer);
    return r;
}

/* Sets the time to now: that of the service. */
static int touch(struct request *request, const struct inode *inode, struct stat *stat)
{
    struct file_system *fs = request->fs;
    _cleanup_(entity_finish) struct entity entity = {0};
    struct node_file *file = inode_table_file(fs->inodes, inode->id);
    if (file) {
        struct writer *writer = writer_of_node_file(file);
        int r = writer_touch(writer, &request->caller);
        writer_unref(writer);
        entry_attributes(fs, inode, stat);
        return r;
    }
    if (inode_is_renamed(inode))
        return -ESTALE;
    int r = account_touch(fs->account, &request->caller, place_address(&inode->place),
                          BYTES_LITERAL(""), NULL, &entity);
    if (r == 0)
        attributes_of_file(&fs->attributes, inode_table_number(fs->inodes, inode), inode->size,
                           version_of_entity(&entity).timestamp, stat);
    return r;
}

static int set_attributes(struct request *request, const struct inode *inode, int to_set,
                          struct writer_handle *handle, struct stat *stat)
{
    uint64_t size = (uint64_t)stat->st_size;
    int r = 0;
    if (inode->place.kind == PLACE_SCRATCH)
        return scratch_ops_set_attributes(request, inode, to_set, stat);
    entry_attributes(request->fs, inode, stat);
    if (!request->fs->writers)
        return -EROFS;
    if (inode->place.kind == PLACE_CONTROL_FILE && (to_set & FUSE_SET_ATTR_SIZE))
        return call_fail(&request->caller.call, -EROFS, CONTROL_IS_READ);
    if (inode->place.kind != PLACE_ENTITY)
        return 0;
    if (to_set & (FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME_NOW))
        r = request_may_wait(request, &inode->place);
    if (r == 0 && (to_set & FUSE_SET_ATTR_SIZE))
        r = set_size(request, size, handle, stat);
    if (r == 0 && (to_set & FUSE_SET_ATTR_MTIME_NOW))
        r = touch(request, inode, stat);
    /* After ESTALE the kernel sends the request again, after a LOOKUP, which finds a renamed file
     * under its new name. */
    return r == -ESTALE && !inode_is_renamed(inode) ? -EBUSY : r;
}

/* The reason of a refused text is not in the call: the file's release reports it, as after an
 * fsync. */
static bool is_left_to_release(const struct request *request, const struct inode *inode)
{
    return inode && inode->place.kind == PLACE_ENTITY && request->caller.call.failure.error == 0;
}

void attribute_ops_setattr(fuse_req_t req, fuse_ino_t id, struct stat *stat, int to_set,
                           struct fuse_file_info *info)
{
    struct request request;
    request_begin(&request, req, "setattr");
    const struct inode *inode = inode_table_find(request.fs->inodes, id);
    used_path_note(&request, inode);
    int r = inode ? set_attributes(&request, inode, to_set, handle_of(info), stat) : -ENOENT;
    bool is_own = r == -ESTALE || r == -EBUSY || r == -EROFS; /* not that of a text */
    if (r == -ESTALE || (r < 0 && !is_own && is_left_to_release(&request, inode)))
        reply_error(req, r);
    else if (r < 0)
        request_fail(&request, r, inode ? &inode->place : NULL);
    else
        (void)fuse_reply_attr(req, stat, entry_attributes_sec(inode));
    request_end(&request);
}

/* The service reports neither the size of an account nor its limit, so the numbers are constants. A
 * read-only mount has no free space. A writable mount has FREE_BLOCKS free blocks, which is enough
 * for programs that check the free space before they copy. One block is in use: df leaves out file
 * systems of 0 blocks. In a read-only mount the number of inodes is 0: df shows it as "-". */
void attribute_ops_statfs(fuse_req_t req, fuse_ino_t id)
{
    (void)id;
    struct statvfs statvfs = {
        .f_bsize = BLOCK_SIZE, .f_frsize = BLOCK_SIZE, .f_blocks = 1, .f_namemax = NAME_MAX_BYTES};
    if (request_fs(req)->writers) {
        statvfs.f_bfree = statvfs.f_bavail = FREE_BLOCKS;
        statvfs.f_blocks += FREE_BLOCKS;
        statvfs.f_files = statvfs.f_ffree = statvfs.f_favail = FREE_FILES;
    }
    (void)fuse_reply_statfs(req, &statvfs);
}
