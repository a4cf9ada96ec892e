#include "fs/ops/directory_ops.h"
#include "fs/files/directory_handle.h"

static struct directory_handle *handle_of(const struct fuse_file_info *info)
{
    return (struct directory_handle *)(uintptr_t)info->fh;
}

/* A request is begun for a failure alone: OPENDIR costs nothing. */
static void refuse_open(fuse_req_t req, const struct inode *inode, int error)
{
    struct request request;
    request_begin(&request, req, "opendir");
    (void)call_fail(&request.caller.call, error, "out of memory");
    request_fail(&request, error, &inode->place);
    request_end(&request);
}

void directory_ops_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    struct file_system *fs = request_fs(req);
    const struct inode *inode = inode_table_find(fs->inodes, id);
    struct directory_handle *handle;
    if (!inode) {
        reply_error(req, -ESTALE);
        return;
    }
    int r = directory_handle_create(fs, inode, &handle);
    if (r < 0) {
        refuse_open(req, inode, r);
        return;
    }
    info->fh = (uintptr_t)handle;
    if (fuse_reply_open(req, info) < 0)
        directory_handle_destroy(handle); /* interrupted: the kernel sends no RELEASEDIR */
}

static void read_directory(fuse_req_t req, size_t size, off_t cookie, struct fuse_file_info *info,
                           bool is_plus)
{
    struct request request;
    request_begin(&request, req, "readdir");
    directory_handle_read(handle_of(info), &request, size, cookie, is_plus);
    request_end(&request);
}

void directory_ops_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                           struct fuse_file_info *info)
{
    (void)id;
    read_directory(req, size, cookie, info, false);
}

void directory_ops_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                               struct fuse_file_info *info)
{
    (void)id;
    read_directory(req, size, cookie, info, true);
}

/* There is nothing to do: every change is made before it is answered. */
void directory_ops_fsyncdir(fuse_req_t req, fuse_ino_t id, int datasync,
                            struct fuse_file_info *info)
{
    (void)id;
    (void)datasync;
    (void)info;
    reply_error(req, 0);
}

void directory_ops_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    directory_handle_destroy(handle_of(info));
    reply_error(req, 0);
}
