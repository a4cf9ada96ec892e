/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOCKS_H
#define FS_TEXT_LOCKS_H
/* flock and fcntl locks, between the processes that use this mount. A lock belongs to an entity or
 * a scratch file, whichever node a descriptor has, and moves with it by a rename. What is replaced
 * or removed keeps its locks for those who have it open.
 *
 * A lock ends when its owner says so: by an unlock, or by the FLUSH of any of the owner's handles
 * of the file (fcntl). At the latest it ends with the handle that took it. Deadlocks are not found.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks. A caller that is to wait is kept in a
 * queue, and answered by the thread that ends the lock. Callbacks run without the mutex, but for
 * is_interrupted. */
#include "cache/address.h"

#include <sys/types.h>

#define LOCKS_MAX                                                                                  \
    ((size_t)10000) /* of a mount, with those that wait: each call looks at all of a file */

struct locks;       /* all locks of a mount */
struct locked_file; /* what may be locked; counted by handles */

struct lock {
    bool is_flock;        /* else of fcntl: the two kinds know nothing of each other */
    int type;             /* F_RDLCK, F_WRLCK, F_UNLCK */
    uint64_t owner;       /* of fcntl: the kernel's; of flock: the handle */
    uint64_t first, last; /* bytes; of flock all: 0 and UINT64_MAX */
    pid_t pid;
};

struct lock_waiters { /* what waits: a FUSE request */
    bool (*is_interrupted)(void *waiter);
    void (*answer)(void *waiter, int error); /* 0 or -errno */
};

int locks_create(const struct lock_waiters *waiters, struct locks **ret); /* 0 or -errno */
void locks_destroy(struct locks *locks); /* takes NULL; after locks_end */
/* Answers -ENOTCONN to all that wait: no other call is under way, and none follows but closes. */
void locks_end(struct locks *locks);

/* The file of that address, for a new handle; copied. A file without a table has its st_ino as
 * position. 0 or -ENOMEM. */
int locks_open(struct locks *locks, struct address address, struct locked_file **ret);
/* Ends the locks that the handle took, and those of flock, whose owner it is. */
void locks_close(struct locks *locks, struct locked_file *file, uint64_t handle);
/* The file `from` has the address `to` now, and a file that had it has none. to.table NULL: `from`
 * has none, as without memory. */
void locks_move(struct locks *locks, struct address from, struct address to);

/* Takes or ends a lock. 0; -EAGAIN: another owner has a lock in the range. waiter not NULL: then
 * waits, and 1; -EINTR: it is interrupted. -ENOLCK: there are LOCKS_MAX; -ENOMEM. */
int locks_set(struct locks *locks, struct locked_file *file, uint64_t handle,
              const struct lock *lock, void *waiter);
/* The lock that stands in the way, or one of F_UNLCK. */
struct lock locks_test(struct locks *locks, struct locked_file *file, const struct lock *lock);
/* Ends all locks of an owner of fcntl. */
void locks_flush(struct locks *locks, struct locked_file *file, uint64_t owner);
/* The waiter was interrupted. If it still waits, it is answered -EINTR. */
void locks_interrupt(struct locks *locks, void *waiter);

DEFINE_CLEANUP(struct locks *, locks_destroy);

#endif
