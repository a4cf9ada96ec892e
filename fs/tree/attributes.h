#ifndef FS_TREE_ATTRIBUTES_H
#define FS_TREE_ATTRIBUTES_H
/* What stat answers: sizes and times from the entity, owner and mode from the mount. Pure. */
#include "client/base.h"

#include <sys/stat.h>

#define ATTRIBUTES_VALID_SEC 86400.0 /* of what does not change */

struct attributes { /* the mount's, for every node */
    uid_t uid;
    gid_t gid;
    mode_t umask;
    int64_t mounted_at_100ns; /* a directory's times */
};

void attributes_of_file(const struct attributes *attributes, uint64_t number, uint64_t size,
                        int64_t timestamp_100ns, struct stat *ret);
void attributes_of_directory(const struct attributes *attributes, uint64_t number,
                             struct stat *ret);

#endif
