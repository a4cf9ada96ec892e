/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_FILE_IO_H
#define FS_BASE_FILE_IO_H
/* What files of this machine need beside single system calls. Any thread. */
#include "client/base/bytes.h"

/* Goes on after EINTR and after a part. 0; -errno: a part may be written. */
int file_write_all(int file, struct bytes text);
/* The names in the directory outlive a crash from now on; also of one that was opened by O_PATH.
 * 0 or -errno; 0, too, where it may not be read, or its file system has nothing to sync. */
int file_sync_directory(int directory);

#endif
