/* SPDX-License-Identifier: MIT */
#ifndef FS_FILE_SYSTEM_H
#define FS_FILE_SYSTEM_H
/* The state of a mount: the user data of the FUSE session. fs/verbs/mount fills it before the
 * session runs. Afterwards only its atomic fields change; each object in it has a lock of its own.
 */
#include "cache/account.h"
#include "client/base/lane.h"
#include "fs/base/log.h"
#include "fs/base/process_id.h"
#include "fs/scratch/scratch_opens.h"
#include "fs/text/control_dir.h"
#include "fs/text/locks.h"
#include "fs/text/text_sink.h"
#include "fs/tree/attributes.h"
#include "fs/tree/failed_lookups.h"
#include "fs/tree/inode.h"
#include "fs/tree/long_names.h"
#include "fs/tree/stale_opens.h"

struct fuse_session;

struct waiting { /* callers that may be waiting for the service; see fs/kernel/request.h */
    _Atomic int all;
    /* of these: for each table, for each user, and for each pair of a user and a table; indexed by
     * the lanes of client/base/lane.h */
    _Atomic int of_table[LANES], of_user[LANES], of_both[LANES];
};

struct file_system {
    struct account *account;
    struct inode_table *inodes;
    struct stale_opens *stale_opens;
    struct failed_lookups *failed_lookups;
    struct long_names *long_names;
    struct process_ids *processes;
    struct control_dir *control;
    struct locks *locks;
    /* NULL in a read-only mount: */
    struct lost_and_found *lost;
    struct writers *writers;
    struct text_sink texts; /* of writers */
    struct settler settler;
    struct scratch *scratch;
    struct scratch_opens *scratch_opens;
    const char *scratch_globs; /* of the option; NULL: none */
    struct attributes attributes;
    const struct clock *clock;
    int64_t timeout_ms; /* an operation fails after this time without progress */
    struct log *log;
    struct fuse_session *session;
    struct waiting waiting;
    bool allows_updatedb;               /* option allow_updatedb: updatedb may read directories */
    _Atomic bool has_reported_unseen;   /* the log has a line that a caller is unknown */
    _Atomic bool has_reported_updatedb; /* the log has a line that updatedb is refused */
    _Atomic bool is_ready;              /* the kernel has accepted a successful reply to INIT */
    _Atomic bool prunes_nodes;          /* the kernel supports channel_prune */
    _Atomic bool is_answering;          /* the first reply, the one to INIT, has begun */
    bool (*ready)(void *context);       /* called when is_ready is set; false: unmount again */
    void *ready_context;
};

#endif
