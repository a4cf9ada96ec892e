/* SPDX-License-Identifier: MIT */
#include "fs/ops/lock_ops.h"

#include <fcntl.h>
#include <sys/file.h>

static bool is_interrupted(void *waiter)
{
    return fuse_req_interrupted(waiter);
}

static void answer(void *waiter, int error)
{
    reply_error(waiter, error);
}

const struct lock_waiters lock_ops_waiters = {is_interrupted, answer};

static void on_interrupt(fuse_req_t req, void *locks)
{
    locks_interrupt(locks, req);
}

static struct open_file *file_of(const struct fuse_file_info *info)
{
    return (struct open_file *)(uintptr_t)info->fh;
}

/* Replies that no lock is available, with the reason. */
static void refuse(fuse_req_t req, fuse_ino_t id, int error)
{
    struct request request;
    request_begin(&request, req, "lock");
    const struct inode *inode = inode_table_find(request.fs->inodes, id);
    if (error != -ENOMEM)
        (void)call_fail(&request.caller.call, error,
                        "there are %zu locks already, or the long key of the file is not known yet",
                        LOCKS_MAX);
    request_fail(&request, error, inode ? &inode->place : NULL);
    request_end(&request);
}

static void set(fuse_req_t req, fuse_ino_t id, const struct open_file *file,
                const struct lock *lock, bool waits)
{
    struct locks *locks = request_fs(req)->locks;
    if (!file->locked) {
        refuse(req, id, -ENOLCK);
        return;
    }
    if (waits) /* before it waits: then the thread that ends the lock may reply at any time */
        fuse_req_interrupt_func(req, on_interrupt, locks);
    int r = locks_set(locks, file->locked, (uintptr_t)file, lock, waits ? req : NULL);
    if (r == -ENOLCK || r == -ENOMEM)
        refuse(req, id, r);
    else if (r <= 0)
        reply_error(req, r);
}

/* The kernel has made it absolute, and SEEK_SET. */
static struct lock lock_of(const struct fuse_file_info *info, const struct flock *lock)
{
    uint64_t first = (uint64_t)lock->l_start;
    return (struct lock){.type = lock->l_type,
                         .owner = info->lock_owner,
                         .first = first,
                         .last = lock->l_len == 0 ? UINT64_MAX : first + (uint64_t)lock->l_len - 1,
                         .pid = lock->l_pid};
}

void lock_ops_getlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, struct flock *lock)
{
    const struct open_file *file = file_of(info);
    struct lock wanted = lock_of(info, lock);
    if (!file->locked) {
        refuse(req, id, -ENOLCK);
        return;
    }
    struct lock found = locks_test(request_fs(req)->locks, file->locked, &wanted);
    struct flock reply = {.l_type = (short)found.type, .l_whence = SEEK_SET, .l_pid = found.pid};
    if (found.type != F_UNLCK) {
        reply.l_start = (off_t)found.first;
        reply.l_len = found.last == UINT64_MAX ? 0 : (off_t)(found.last - found.first + 1);
    }
    (void)fuse_reply_lock(req, &reply);
}

void lock_ops_setlk(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, struct flock *lock,
                    int waits)
{
    struct lock wanted = lock_of(info, lock);
    set(req, id, file_of(info), &wanted, waits);
}

void lock_ops_flock(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info, int operation)
{
    const struct open_file *file = file_of(info);
    bool is_shared = operation & LOCK_SH, is_exclusive = operation & LOCK_EX;
    const struct lock wanted = {.is_flock = true,
                                .type = is_shared      ? F_RDLCK
                                        : is_exclusive ? F_WRLCK
                                                       : F_UNLCK,
                                .owner = (uintptr_t)file,
                                .last = UINT64_MAX};
    set(req, id, file, &wanted, !(operation & LOCK_NB));
}

struct address lock_ops_address_of_number(const uint64_t *number)
{
    return (struct address){"", {(const char *)number, sizeof(*number)}};
}

void lock_ops_opened(struct file_system *fs, const struct inode *inode, struct open_file *file)
{
    bool is_entity = inode->place.kind == PLACE_ENTITY;
    struct address address =
        is_entity ? place_address(&inode->place) : lock_ops_address_of_number(&inode->number);
    if (!is_entity || !place_is_unsettled(&inode->place))
        (void)locks_open(fs->locks, address, &file->locked);
}

void lock_ops_flushed(struct file_system *fs, const struct open_file *file, uint64_t owner)
{
    if (file->locked)
        locks_flush(fs->locks, file->locked, owner);
}

void lock_ops_closed(struct file_system *fs, struct open_file *file)
{
    if (file->locked)
        locks_close(fs->locks, file->locked, (uintptr_t)file);
    file->locked = NULL;
}
