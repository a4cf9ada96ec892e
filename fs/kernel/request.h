/* SPDX-License-Identifier: MIT */
#ifndef FS_KERNEL_REQUEST_H
#define FS_KERNEL_REQUEST_H
/* One FUSE request that may need the service: the process that sent it, its deadline, whether it
 * was interrupted, and its reply if it fails. It is on the handler's stack and is used by one
 * thread. Elsewhere in the program an errno is negative; the replies here change the sign, because
 * FUSE takes positive ones. */
#define FUSE_USE_VERSION 312
#include "fs/file_system.h"

#include <fuse_lowlevel.h>

/* The maximum of callers that wait for the service. It is less than the 1,024 threads, so that some
 * threads stay free to read interrupts. The limit for one table is lower: if the service does not
 * answer for this table, callers of other tables still have room. Likewise the limit for one user
 * leaves room to other users, and that for one user and one table leaves room to the user's callers
 * of other tables.
 */
#define REQUEST_MAX_WAITING               1000
#define REQUEST_MAX_WAITING_OF_TABLE      960
#define REQUEST_MAX_WAITING_OF_USER       900
#define REQUEST_MAX_WAITING_OF_USER_TABLE 860

struct request {
    fuse_req_t req;
    struct file_system *fs;
    const char *operation; /* for the log: "lookup" */
    const struct fuse_ctx *context;
    struct process process;
    int64_t interrupted_ms; /* for an unknown caller: when its interrupt was noticed; 0: none was */
    struct caller caller;
    _Atomic int *counted[4]; /* the counters of fs->waiting in which it is counted */
    int process_error;       /* -errno: /proc could not be read; the request fails */
    /* The request is for a handle, not for a path: the file was open, so -ENOENT is logged. */
    bool is_of_handle;
    bool is_one_of_many; /* a program may fail so for each file: see failure_log.h */
};

/* Every request_begin is followed by one request_end, after the reply. */
void request_begin(struct request *request, fuse_req_t req, const char *operation);
/* The same for RELEASE, which the kernel sends for no process. */
void request_begin_release(struct request *request, fuse_req_t req);
/* The same for FLUSH of a file that the process `opener` has opened: see process_id.h. */
void request_begin_flush(struct request *request, fuse_req_t req, uint64_t opener);
/* Called by handlers during which the kernel locks a directory. Other callers wait for that
 * directory, so the handler takes no longer than this, even if the service answers page after page.
 */
#define REQUEST_DIRECTORY_MS 30000
void request_lock_directory(struct request *request);
/* Called before a call for the place that may need the service. 0; -EBUSY: too many callers are
 * waiting; -ENFILE: the process of the mount has no descriptor left; or -ENOMEM. A request that
 * calls this again is counted once. */
int request_may_wait(struct request *request, const struct place *place);
void request_end(struct request *request);

/* Adds the failure to the failure log, with its place (may be NULL), and replies with the error. A
 * handler replies with an error in another way only in three cases: -ESTALE after which the kernel
 * looks the name up and repeats the request; an unknown inode; a failure that was reported already.
 * Errors that a local disk returns, too, are not logged: EINTR; for a path ENOENT; and, unless the
 * service caused them, EEXIST, EXDEV, and ENOTEMPTY without advice. A failure without a reason gets
 * the system's text for its errno; -ENOMEM needs none. */
void request_fail(struct request *request, int error, const struct place *place);
/* As request_fail, without the reply. */
void request_note(struct request *request, int error, const struct place *place);

/* The name cannot be created (new_place.h): makes `reason` and the name the failure of the request.
 * Returns `error`. */
int request_refuse_name(struct request *request, struct bytes name, int error, const char *reason);

/* The caller of an OPEN or LOOKUP, for fs/tree/stale_opens. */
static inline struct opener request_opener(const struct request *request, const struct inode *inode)
{
    return (struct opener){request->context->pid, inode->parent, inode_name(inode)};
}

static inline struct file_system *request_fs(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

static inline void reply_error(fuse_req_t req, int error) /* 0 or -errno */
{
    (void)fuse_reply_err(req, -error);
}

#endif
