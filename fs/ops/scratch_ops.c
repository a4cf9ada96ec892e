/* SPDX-License-Identifier: MIT */
#include "fs/ops/scratch_ops.h"
#include "fs/kernel/entry.h"
#include "fs/tree/new_place.h"
#include "fs/tree/scratch_name.h"

#include <fcntl.h>

#define PERMISSIONS 07777

static int64_t now_of(const struct request *request)
{
    return clock_utc_100ns(request->fs->clock);
}

/* Gives the errno its reason. */
static int complain(struct request *request, int error)
{
    struct call *call = &request->caller.call;
    if (error == -ENOSPC)
        return call_fail(call, error, "the files with temporary names have more than %zu MiB",
                         SCRATCH_MAX_BYTES >> 20);
    if (error == -ESTALE)
        return call_fail(call, error,
                         "the file got an entity's name and is stored: open it by that name");
    return error;
}

static struct scratch_file *find_in(const struct file_system *fs, const struct place *directory,
                                    struct bytes name)
{
    return scratch_find(fs->scratch, place_scratch_directory(directory), name);
}

struct scratch_file *scratch_ops_find(struct request *request, const struct place *directory,
                                      struct bytes name)
{
    struct file_system *fs = request->fs;
    struct address seen = place_address(directory);
    if (!fs->scratch || !place_holds_scratch(directory))
        return NULL;
    struct scratch_file *file = find_in(fs, directory, name);
    if (file || !position_is_unsettled(seen.position))
        return file;
    (void)settler_settle(&fs->settler, &request->caller, seen, NULL);
    return find_in(fs, directory, name); /* the directory may have got its key meanwhile */
}

static struct scratch_file *file_of(struct request *request, const struct inode *inode)
{
    return scratch_of_node_file(inode_table_file(request->fs->inodes, inode->id));
}

/* As scratch_ops_find. If the thread's last OPEN was answered ESTALE, the file is kept until its
 * next OPEN. */
static struct scratch_file *find_for_open(struct request *request, const struct place *directory,
                                          struct bytes name)
{
    struct file_system *fs = request->fs;
    for (;;) {
        struct scratch_file *file = scratch_ops_find(request, directory, name);
        if (!fs->scratch || scratch_opens_looked_up(fs->scratch_opens, request->context->pid, file,
                                                    clock_now_ms(fs->clock)) == 0)
            return file;
        scratch_file_unref(file); /* it has ended: the name is another file's now, or none's */
    }
}

static int enter_directory(struct request *request, const struct inode *parent, struct bytes name,
                           struct fuse_entry_param *ret)
{
    _cleanup_(place_finish) struct place place = {0};
    int r = place_of_scratch_directory(&parent->place, name, &place);
    if (r == 0)
        r = entry_make(request->fs, parent->id, name, &place, NULL, 0, ret);
    return complain(request, r);
}

int scratch_ops_look_up(struct request *request, const struct inode *parent, struct bytes name,
                        struct fuse_entry_param *ret)
{
    struct file_system *fs = request->fs;
    _cleanup_(place_finish) struct place place = {0};
    _cleanup_(scratch_file_unrefp) struct scratch_file *file =
        find_for_open(request, &parent->place, name);
    bool is_possible =
        fs->scratch &&
        (parent->place.kind == PLACE_SCRATCH_DIRECTORY ||
         (place_lies_in_partition(&parent->place) && scratch_name_is_possible(name)));
    request->caller.valid_ms = is_possible ? 0 : INT32_MAX;
    if (!file)
        return -ENOENT;
    if (scratch_file_is_directory(file))
        return enter_directory(request, parent, name, ret);
    int r = place_of_scratch(&parent->place, &place);
    if (r == 0)
        r = entry_make_scratch(fs, &place, file, ret);
    return complain(request, r);
}

/* The directory may have got its key before the file was added to it. */
static void settle_made(struct request *request, const struct place *place)
{
    if (place_is_unsettled(place))
        (void)settler_settle(&request->fs->settler, &request->caller, place_address(place), NULL);
}

/* -EISDIR: it is a directory. */
static int find_made(struct scratch *scratch, struct address directory, struct bytes name,
                     struct scratch_file **ret)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *found =
        scratch_find(scratch, directory, name);
    if (!found)
        return -ENOENT;
    if (scratch_file_is_directory(found))
        return -EISDIR;
    *ret = TAKE_PTR(found);
    return 0;
}

/* A new file; is_exclusive: false: or one that is there. Referenced. */
static int make(struct request *request, const struct place *place, struct bytes name, mode_t mode,
                bool is_exclusive, struct scratch_file **ret)
{
    struct file_system *fs = request->fs;
    struct address directory = place_scratch_directory(place);
    for (;;) {
        const struct scratch_attributes attributes = {.number =
                                                          inode_table_count_number(fs->inodes),
                                                      .mode = mode & PERMISSIONS,
                                                      .uid = request->context->uid,
                                                      .gid = request->context->gid,
                                                      .mtime_100ns = now_of(request)};
        int r = scratch_make(fs->scratch, directory, name, &attributes, ret);
        if (r == 0)
            settle_made(request, place);
        if (r != -EEXIST || is_exclusive)
            return complain(request, r);
        r = find_made(fs->scratch, directory, name, ret);
        if (r != -ENOENT) /* else it was removed meanwhile */
            return r;
    }
}

/* Makes the handle for an OPEN of the file, which it takes. */
static int make_handle(struct request *request, struct scratch_file *file,
                       struct fuse_file_info *info, struct open_file **ret)
{
    int r = open_file_create_scratch(file, ret);
    if (r < 0) {
        scratch_file_close(file);
        return complain(request, r);
    }
    if ((info->flags & O_TRUNC) && scratch_file_resize(file, 0, now_of(request)) < 0) {
        open_file_destroy(TAKE_PTR(*ret));
        return call_fail(&request->caller.call, -EBUSY, "the file is being renamed");
    }
    info->keep_cache = 1; /* the file has one node */
    info->noflush = (info->flags & O_ACCMODE) == O_RDONLY;
    return 0;
}

/* -ESTALE: the file was removed meanwhile. */
static int create_once(struct request *request, struct place *place, struct bytes name, mode_t mode,
                       struct fuse_file_info *info, struct fuse_entry_param *ret,
                       struct open_file **ret_file)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    _cleanup_(open_file_destroyp) struct open_file *handle = NULL;
    int r = make(request, place, name, mode, info->flags & O_EXCL, &file);
    if (r == 0)
        r = scratch_file_open(file);
    if (r == 0)
        r = make_handle(request, file, info, &handle);
    if (r == 0)
        r = complain(request, entry_make_scratch(request->fs, place, file, ret));
    if (r == 0)
        *ret_file = TAKE_PTR(handle);
    return r;
}

int scratch_ops_create(struct request *request, struct place *place, struct bytes name, mode_t mode,
                       struct fuse_file_info *info, struct fuse_entry_param *ret,
                       struct open_file **ret_file)
{
    int r;
    do {
        r = create_once(request, place, name, mode, info, ret, ret_file);
    } while (r == -ESTALE);
    scratch_opens_end(request->fs->scratch_opens, request->context->pid);
    return r;
}

int scratch_ops_make(struct request *request, struct place *place, struct bytes name, mode_t mode,
                     struct fuse_entry_param *ret)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    int r = make(request, place, name, mode, true, &file);
    if (r == 0)
        r = complain(request, entry_make_scratch(request->fs, place, file, ret));
    return r;
}

int scratch_ops_make_directory(struct request *request, const struct inode *parent,
                               struct bytes name, struct fuse_entry_param *ret)
{
    _cleanup_(place_finish) struct place place = {0};
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    int r = place_of_scratch_directory(&parent->place, name, &place);
    if (r < 0)
        return complain(request, r);
    const struct scratch_attributes attributes = {.number = place_number(&place),
                                                  .is_directory = true};
    r = scratch_make(request->fs->scratch, place_scratch_directory(&parent->place), name,
                     &attributes, &file);
    if (r < 0)
        return complain(request, r);
    settle_made(request, &parent->place);
    return enter_directory(request, parent, name, ret);
}

int scratch_ops_remove_directory(struct request *request, const struct inode *parent,
                                 struct bytes name)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file =
        scratch_ops_find(request, &parent->place, name);
    if (!file)
        return -ENOENT;
    return scratch_file_is_directory(file) ? complain(request, scratch_unlink(file)) : -ENOTDIR;
}

int scratch_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    struct file_system *fs = request->fs;
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = file_of(request, inode);
    int r =
        scratch_opens_open(fs->scratch_opens, request->context->pid, file, clock_now_ms(fs->clock));
    return r < 0 ? r : make_handle(request, file, info, ret);
}

/* Replies with the failure of an operation on a handle. */
static void fail(fuse_req_t req, fuse_ino_t id, const char *operation, int error)
{
    struct request request;
    request_begin(&request, req, operation);
    request.is_of_handle = true;
    const struct inode *inode = inode_table_find(request.fs->inodes, id);
    request_fail(&request, complain(&request, error), inode ? &inode->place : NULL);
    request_end(&request);
}

void scratch_ops_read(fuse_req_t req, struct scratch_file *file, size_t size, off_t offset)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = size};
    int r = scratch_file_read(file, (uint64_t)offset, size, &text);
    if (r < 0)
        reply_error(req, r);
    else
        (void)fuse_reply_buf(req, text.data, text.size);
}

void scratch_ops_write(fuse_req_t req, fuse_ino_t id, struct scratch_file *file, struct bytes bytes,
                       const struct fuse_file_info *info, off_t offset)
{
    /* A page of a mapping is written where it belongs. */
    bool is_append = (info->flags & O_APPEND) && !info->writepage;
    int r = scratch_file_write(file, bytes, (uint64_t)offset, is_append,
                               clock_utc_100ns(request_fs(req)->clock));
    if (r < 0)
        fail(req, id, "write", r);
    else
        (void)fuse_reply_write(req, bytes.size);
}

/* Rounds the time to the nearest multiple of 100 ns. */
static int64_t ticks_of(const struct timespec *time)
{
    int64_t ticks;
    if (__builtin_mul_overflow((int64_t)time->tv_sec, TICKS_PER_SEC, &ticks) ||
        __builtin_add_overflow(ticks, time->tv_nsec / 100, &ticks))
        return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ticks;
}

int scratch_ops_set_attributes(struct request *request, const struct inode *inode, int to_set,
                               struct stat *stat)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = file_of(request, inode);
    int r = 0;
    if (to_set & FUSE_SET_ATTR_SIZE)
        r = scratch_file_resize(file, (uint64_t)stat->st_size, now_of(request));
    if (r == 0 && (to_set & FUSE_SET_ATTR_MODE))
        scratch_file_set_mode(file, stat->st_mode & PERMISSIONS);
    if (r == 0 && (to_set & FUSE_SET_ATTR_MTIME_NOW))
        scratch_file_set_mtime(file, now_of(request));
    else if (r == 0 && (to_set & FUSE_SET_ATTR_MTIME))
        scratch_file_set_mtime(file, ticks_of(&stat->st_mtim));
    entry_attributes(request->fs, inode, stat);
    return complain(request, r);
}

int scratch_ops_rename(struct request *request, struct scratch_file *file,
                       const struct place *directory, struct bytes name, bool is_exclusive)
{
    int r = scratch_rename(file, place_scratch_directory(directory), name, is_exclusive);
    if (r == 0)
        settle_made(request, directory);
    return complain(request, r);
}

int scratch_ops_make_backup(struct request *request, const struct place *directory,
                            const struct entity *entity, uint64_t number, struct scratch_file **ret)
{
    struct file_system *fs = request->fs;
    int64_t mtime = page_timestamp(entity->page, entity->row);
    struct stat stat;
    attributes_of_file(&fs->attributes, number, 0, mtime, &stat);
    const struct scratch_attributes attributes = {.number = stat.st_ino,
                                                  .mode = stat.st_mode & PERMISSIONS,
                                                  .uid = stat.st_uid,
                                                  .gid = stat.st_gid};
    char name[48];
    (void)snprintf(name, sizeof(name), ".tablefuse-rename-%llu", (unsigned long long)number);
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    int r = scratch_make(fs->scratch, place_scratch_directory(directory), bytes_of(name),
                         &attributes, &file);
    if (r < 0)
        return complain(request, r);
    r = scratch_file_write(file, page_text(entity->page, entity->row), 0, false, mtime);
    if (r < 0) {
        (void)scratch_unlink(file);
        return complain(request, r);
    }
    *ret = TAKE_PTR(file);
    return 0;
}
