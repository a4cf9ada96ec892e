/* SPDX-License-Identifier: MIT */
#include "fs/ops/file_ops.h"
#include "fs/ops/lock_ops.h"
#include "fs/ops/scratch_ops.h"

#include <fcntl.h>

static struct open_file *file_of(const struct fuse_file_info *info)
{
    return (struct open_file *)(uintptr_t)info->fh;
}

/* Starts a request on a writer's handle, which may wait for the service. 0 or -errno. */
static int continue_request(struct request *request, fuse_ino_t id, const struct inode **ret)
{
    request->is_of_handle = true;
    *ret = inode_table_find(request->fs->inodes, id);
    return *ret ? request_may_wait(request, &(*ret)->place) : -EBADF;
}

static int begin(struct request *request, fuse_req_t req, fuse_ino_t id, const char *operation,
                 const struct inode **ret)
{
    request_begin(request, req, operation);
    return continue_request(request, id, ret);
}

/* Logs a failure once. After a failed write many programs write or flush the same text again when
 * they close the file: that returns the same errno, without a reason in the call. */
static void fail(struct request *request, int error, const struct inode *inode)
{
    if (inode && request->caller.call.failure.error == error)
        request_fail(request, error, &inode->place);
    else
        reply_error(request->req, error);
}

static void read_writer(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                        struct writer_handle *handle)
{
    struct request request;
    const struct inode *inode;
    _cleanup_(buffer_finish) struct buffer text = {.max = size};
    int r = begin(&request, req, id, "read", &inode);
    if (r == 0)
        r = writer_read(handle, &request.caller, (uint64_t)offset, size, &text);
    if (r < 0)
        fail(&request, r, inode);
    else
        (void)fuse_reply_buf(req, text.data, text.size);
    request_end(&request);
}

void file_ops_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                   struct fuse_file_info *info)
{
    const struct open_file *file = file_of(info);
    if (file->writer) {
        read_writer(req, id, size, offset, file->writer);
        return;
    }
    if (file->scratch) {
        scratch_ops_read(req, file->scratch, size, offset);
        return;
    }
    struct bytes text = open_file_read(file, offset, size);
    (void)fuse_reply_buf(req, text.data, text.size);
}

void file_ops_write(fuse_req_t req, fuse_ino_t id, const char *data, size_t size, off_t offset,
                    struct fuse_file_info *info)
{
    struct request request;
    const struct inode *inode;
    bool is_append = info->flags & O_APPEND; /* the kernel's end of the file may be outdated */
    const struct open_file *file = file_of(info);
    struct writer_handle *handle = file->writer;
    if (file->scratch) {
        scratch_ops_write(req, id, file->scratch, (struct bytes){data, size}, info, offset);
        return;
    }
    int r = begin(&request, req, id, "write", &inode);
    if (r < 0)
        writer_miss_write(handle);
    else
        r = writer_write(handle, &request.caller, (struct bytes){data, size},
                         is_append ? WRITER_AT_END : (uint64_t)offset);
    if (r < 0)
        fail(&request, r, inode);
    else
        (void)fuse_reply_write(req, size);
    request_end(&request);
}

static void end_flush(struct request *request, int r, const struct inode *inode)
{
    if (r < 0)
        fail(request, r, inode);
    else
        reply_error(request->req, 0);
    request_end(request);
}

void file_ops_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    struct request request;
    const struct inode *inode;
    const struct open_file *file = file_of(info);
    if (!file->writer || file->is_reader) {
        lock_ops_flushed(request_fs(req), file, info->lock_owner);
        reply_error(req, 0);
        return;
    }
    request_begin_flush(&request, req, file->writer->opener);
    int r = continue_request(&request, id, &inode);
    if (r == 0)
        r = writer_flush(file->writer, &request.caller);
    lock_ops_flushed(request.fs, file, info->lock_owner);
    end_flush(&request, r, inode);
}

/* Also for a file that is only read, as `sync FILE` opens it: its text may be queued. */
void file_ops_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *info)
{
    struct request request;
    const struct inode *inode;
    const struct open_file *file = file_of(info);
    (void)datasync;
    if (file->scratch || (!file->writer && !file->entity.page)) {
        reply_error(req, 0);
        return;
    }
    int r = begin(&request, req, id, "fsync", &inode);
    if (r == 0 && file->writer && !file->is_reader)
        r = writer_sync(file->writer, &request.caller);
    if (r == 0)
        r = account_sync_entity(request.fs->account, &request.caller, place_address(&inode->place));
    end_flush(&request, r, inode);
}

static void free_file(struct file_system *fs, uint64_t id, struct open_file *file)
{
    lock_ops_closed(fs, file);
    if (file->entity.page)
        inode_table_closed(fs->inodes, id);
    open_file_destroy(file);
}

/* Stores what is not stored yet, or gives it up, even if too many callers wait already. */
static void close_writer(fuse_req_t req, fuse_ino_t id, struct open_file *file)
{
    struct request request;
    const struct inode *inode;
    request_begin_release(&request, req);
    (void)continue_request(&request, id, &inode);
    request.caller.call.failure = (struct failure){0};
    request.caller.call.is_cancelled = NULL; /* also when the mount ends */
    request.caller.call.command = file->command;
    struct writer *writer = writer_ref(file->writer->writer);
    writer_close_handle(file->writer, &request.caller);
    if (writer_has_ended(writer)) /* the kernel may keep the node for long */
        inode_table_drop_file(request.fs->inodes, id, writer_node_file(writer));
    writer_unref(writer);
    request_end(&request);
}

void file_ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    struct open_file *file = file_of(info);
    if (file->writer)
        close_writer(req, id, file);
    free_file(request_fs(req), id, file);
    reply_error(req, 0);
}

void file_ops_drop(struct request *request, uint64_t id, struct open_file *file)
{
    request->caller.call.is_cancelled = NULL; /* with the reply libfuse has freed request->req */
    if (file->writer)
        writer_drop_handle(file->writer, &request->caller);
    free_file(request->fs, id, file);
}
