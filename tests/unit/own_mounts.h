/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_OWN_MOUNTS_H
#define TESTS_UNIT_OWN_MOUNTS_H
/* A mount namespace for a child process of a test: its mounts end with it.
 *
 * A new namespace has a copy of each mount, also of those of mount tests that run at the same time.
 * The process of a mount goes on while there is a copy, and `tablefuse unmount` reports that. So
 * the copies are removed here, under the lock that mount tests use for the same reason:
 * `copying_mounts` of tests/mount/harness.py. */
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <unistd.h>

#define COPIES_LOCK TEST_DATA "/../../mount/harness.py"

/* One after another: an unmount moves the lines that follow. */
static inline int detach_one_copy(void)
{
    struct mntent *entry;
    int detached = 0;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    if (!mounts)
        return 0;
    while (!detached && (entry = getmntent(mounts)))
        detached = strncmp(entry->mnt_type, "fuse.", 5) == 0 &&
                   umount2(entry->mnt_dir, MNT_DETACH | UMOUNT_NOFOLLOW) == 0;
    (void)endmntent(mounts);
    return detached;
}

/* 0; 77: this user may not mount. */
static inline int enter_own_mounts(void)
{
    int r = 77, lock = open(COPIES_LOCK, O_RDONLY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX) < 0)
        return -1;
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0) {
        while (detach_one_copy())
            ;
        r = 0;
    }
    (void)close(lock);
    return r;
}

#endif
