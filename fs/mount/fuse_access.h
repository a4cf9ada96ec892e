/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_FUSE_ACCESS_H
#define FS_MOUNT_FUSE_ACCESS_H
/* Checks whether this process may mount with FUSE, before anything is created. One thread. */
#include <stdbool.h>

/* 0; or EXIT_MOUNTING, after one line that says what is missing and how to get it. What only
 * libfuse or fusermount3 can check is reported when the mount fails. */
int fuse_access_check(bool allows_others);
/* What to do when the mount itself has failed: static text. */
const char *fuse_access_advice(void);

#endif
