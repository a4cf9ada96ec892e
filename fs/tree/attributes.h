/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_ATTRIBUTES_H
#define FS_TREE_ATTRIBUTES_H
/* The attributes that stat returns. Size and times are the entity's, owner and mode the mount's.
 * Pure. */
#include "client/base/base.h"

#include <sys/stat.h>

/* How long the kernel may keep attributes that never change. */
#define ATTRIBUTES_VALID_SEC 86400.0

struct attributes { /* of the mount, the same for every node */
    uid_t uid;
    gid_t gid;
    mode_t umask;
    int64_t mounted_at_100ns; /* the times of all directories; 100 ns since 1970 */
};

/* number: the st_ino. */
void attributes_of_file(const struct attributes *attributes, uint64_t number, uint64_t size,
                        int64_t timestamp_100ns, struct stat *ret);
void attributes_of_directory(const struct attributes *attributes, uint64_t number,
                             struct stat *ret);

#endif
