#ifndef FS_REQUEST_H
#define FS_REQUEST_H
/* One FUSE request that may ask the service: who asks, how long it may take, when it is
 * interrupted, and how a failure is told. On the handler's stack, one thread. Every errno below is
 * negative; the sign flips here, in the replies. */
#define FUSE_USE_VERSION 312
#include "fs/file_system.h"

#include <fuse_lowlevel.h>

#define REQUEST_PATIENCE_MS 60000 /* an operation without progress for so long has failed */
#define REQUEST_MAX_WAITING 960   /* callers; of 1,024 threads some stay free to read interrupts */

struct request {
    fuse_req_t req;
    struct file_system *fs;
    const char *operation;
    const struct fuse_ctx *context;
    struct process process;
    struct caller caller;
    bool is_waiting; /* counted among those who may wait */
};

void request_begin(struct request *request, fuse_req_t req, const char *operation);
/* Before the service is asked: 0, or -EBUSY when too many callers wait. Once a request. */
int request_may_wait(struct request *request);
void request_end(struct request *request);

/* Notes the failure in the log, with the place it is about (NULL: none), and answers it. What is
 * not there, what was interrupted, and names that no file can have are ordinary and not noted. */
void request_fail(struct request *request, int error, const struct place *place);
/* without the reply */
void request_note(struct request *request, int error, const struct place *place);

static inline struct file_system *request_fs(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

static inline void reply_error(fuse_req_t req, int error) /* negative */
{
    (void)fuse_reply_err(req, -error);
}

#endif
