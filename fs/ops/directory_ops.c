/* SPDX-License-Identifier: MIT */
#include "fs/ops/directory_ops.h"
#include "fs/ops/directory_handle.h"
#include "fs/ops/used_path.h"

#include <stdatomic.h>

static struct directory_handle *handle_of(const struct fuse_file_info *info)
{
    return (struct directory_handle *)(uintptr_t)info->fh;
}

/* A request is begun for a failure alone: OPENDIR costs nothing. */
static void refuse_open(fuse_req_t req, const struct inode *inode, int error, const char *reason)
{
    struct request request;
    request_begin(&request, req, "opendir");
    if (reason)
        (void)call_fail(&request.caller.call, error, "%s", reason);
    request_fail(&request, error, &inode->place);
    request_end(&request);
}

/* The program that collects file names for locate(1) runs as root every night. It would read each
 * account as a whole. The kernel cuts its name. */
static bool is_updatedb(fuse_req_t req)
{
    static const char *const names[] = {"updatedb", "updatedb.plocat", "updatedb.mlocat"};
    const struct fuse_ctx *context = fuse_req_ctx(req);
    struct process process;
    if (context->uid != 0 ||
        process_ids_find(request_fs(req)->processes, context->pid, &process) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(process.command, names[i]) == 0)
            return true;
    return false;
}

/* Reported once in a mount: updatedb tries again every night. */
static void refuse_updatedb(fuse_req_t req, const struct inode *inode)
{
    if (atomic_exchange(&request_fs(req)->has_reported_updatedb, true))
        reply_error(req, -EACCES);
    else
        refuse_open(
            req, inode, -EACCES,
            "updatedb would read the whole account; mount with -o allow_updatedb if it may");
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
    if (inode->place.kind == PLACE_DROPPED_TABLE) { /* mv must not take it for empty */
        refuse_open(req, inode, -EACCES, "this name is for rmdir, which drops the table");
        return;
    }
    if (inode->place.kind == PLACE_FILTERS) { /* rm -r of it must not take it for empty */
        refuse_open(req, inode, -EPERM, ".filter cannot be listed: a filter follows it");
        return;
    }
    if (!fs->allows_updatedb && is_updatedb(req)) {
        refuse_updatedb(req, inode);
        return;
    }
    int r = directory_handle_create(fs, inode, &handle);
    if (r < 0) {
        refuse_open(req, inode, r, NULL);
        return;
    }
    info->fh = (uintptr_t)handle;
    if (fuse_reply_open(req, info) < 0)
        directory_handle_destroy(handle); /* interrupted: the kernel sends no RELEASEDIR */
}

static void read_directory(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                           struct fuse_file_info *info, bool is_plus)
{
    struct request request;
    request_begin(&request, req, "readdir");
    used_path_note(&request, inode_table_find(request.fs->inodes, id));
    directory_handle_read(handle_of(info), &request, size, cookie, is_plus);
    request_end(&request);
}

void directory_ops_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                           struct fuse_file_info *info)
{
    read_directory(req, id, size, cookie, info, false);
}

void directory_ops_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t cookie,
                               struct fuse_file_info *info)
{
    read_directory(req, id, size, cookie, info, true);
}

static int sync_directory(struct request *request, const struct place *place)
{
    struct directory directory = place_directory(place);
    return account_sync(request->fs->account, &request->caller, directory.table, directory.range);
}

/* Sends the changes that are queued below the directory, and reports those that failed. */
void directory_ops_fsyncdir(fuse_req_t req, fuse_ino_t id, int datasync,
                            struct fuse_file_info *info)
{
    struct request request;
    const struct inode *inode = inode_table_find(request_fs(req)->inodes, id);
    (void)datasync;
    (void)info;
    request_begin(&request, req, "fsync");
    int r = inode ? request_may_wait(&request, &inode->place) : -ESTALE;
    if (r == 0 && inode->place.kind == PLACE_DIRECTORY)
        r = sync_directory(&request, &inode->place);
    if (r < 0)
        request_fail(&request, r, inode ? &inode->place : NULL);
    else
        reply_error(req, 0);
    request_end(&request);
}

void directory_ops_releasedir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    directory_handle_destroy(handle_of(info));
    reply_error(req, 0);
}
