/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOCKS_H
#define FS_TEXT_LOCKS_H
/* flock and fcntl locks, between the processes that use this mount. A lock is on an entity or a
 * scratch file, whichever of its nodes a descriptor has open, and moves with it in a rename. A file
 * that is replaced or removed keeps its locks while it is open.
 *
 * A lock ends by an unlock of its owner; an fcntl lock also by the FLUSH of any of the owner's
 * handles of the file. At the latest a lock ends when the handle that took it is closed. Deadlocks
 * are not detected.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks. A caller that must wait is put into a
 * queue, and gets its answer from the thread that ends the lock. Callbacks run without the mutex,
 * except is_interrupted. */
#include "cache/address.h"

#include <sys/types.h>

/* In a mount, waiting ones included: each call visits all locks of its file. */
#define LOCKS_MAX ((size_t)10000)

struct locks;       /* all locks of a mount */
struct locked_file; /* a file that may be locked; handles hold references */

struct lock {
    bool is_flock;        /* false: of fcntl. The two kinds do not conflict with each other */
    int type;             /* F_RDLCK, F_WRLCK, F_UNLCK */
    uint64_t owner;       /* of fcntl: the kernel's lock_owner; of flock: the handle */
    uint64_t first, last; /* bytes; for flock the whole file: 0 and UINT64_MAX */
    pid_t pid;
};

struct lock_waiters { /* a waiter is a FUSE request */
    bool (*is_interrupted)(void *waiter);
    void (*answer)(void *waiter, int error); /* 0 or -errno */
};

int locks_create(const struct lock_waiters *waiters, struct locks **ret); /* 0 or -errno */
void locks_destroy(struct locks *locks); /* takes NULL; after locks_end */
/* Answers all waiters with -ENOTCONN. No other call may be under way, and only closes may follow.
 */
void locks_end(struct locks *locks);

/* The file with that address, for a new handle. The address is copied. A scratch file has the table
 * "", and its st_ino as position. 0 or -ENOMEM. */
int locks_open(struct locks *locks, struct address address, struct locked_file **ret);
/* Ends the locks that the handle took, and the flock locks that it owns. */
void locks_close(struct locks *locks, struct locked_file *file, uint64_t handle);
/* The file with address `from` has the address `to` from now on, and a file that had `to` has none.
 * to.table NULL, or no memory: `from` has none from now on. */
void locks_move(struct locks *locks, struct address from, struct address to);

/* Takes or ends a lock. 0; -EAGAIN: another owner has a conflicting lock, and waiter is NULL. With
 * a waiter: 1: the waiter is queued, and is answered later; -EINTR: it is already interrupted.
 * -ENOLCK: there are LOCKS_MAX locks; -ENOMEM. */
int locks_set(struct locks *locks, struct locked_file *file, uint64_t handle,
              const struct lock *lock, void *waiter);
/* The lock that conflicts with this one; F_UNLCK as type: none does. */
struct lock locks_test(struct locks *locks, struct locked_file *file, const struct lock *lock);
/* Ends all fcntl locks of the owner. */
void locks_flush(struct locks *locks, struct locked_file *file, uint64_t owner);
/* The waiter was interrupted: if it is still queued, it is answered with -EINTR. */
void locks_interrupt(struct locks *locks, void *waiter);

DEFINE_CLEANUP(struct locks *, locks_destroy);

#endif
