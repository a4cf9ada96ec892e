#ifndef FS_FILE_SYSTEM_H
#define FS_FILE_SYSTEM_H
/* What the handlers work on: FUSE's user data. Filled by fs/command before the session runs,
 * read-only afterwards but for the atomics; each part has its own lock. */
#include "cache/account.h"
#include "fs/files/control_dir.h"
#include "fs/log.h"
#include "fs/process_id.h"
#include "fs/tree/attributes.h"
#include "fs/tree/failed_lookups.h"
#include "fs/tree/inode.h"
#include "fs/tree/stale_opens.h"

struct fuse_session;

struct file_system {
    struct account *account;
    struct inode_table *inodes;
    struct stale_opens *stale_opens;
    struct failed_lookups *failed_lookups;
    struct process_ids *processes;
    struct control_dir *control;
    struct attributes attributes;
    const struct clock *clock;
    struct log log;
    struct fuse_session *session;
    _Atomic int waiting;          /* callers that may be waiting for the service */
    _Atomic bool is_ready;        /* FUSE's init succeeded, and the kernel knows */
    _Atomic bool is_answering;    /* the first reply, to FUSE's init, was begun */
    bool (*ready)(void *context); /* called once it was taken; false: unmount again */
    void *ready_context;
};

#endif
