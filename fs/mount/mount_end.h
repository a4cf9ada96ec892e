/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNT_END_H
#define FS_MOUNT_MOUNT_END_H
/* The end of a mount, after it was unmounted or a signal arrived: releases open files, moves
 * scratch files to lost+found, and sends what is queued. One thread, after the session. It may wait
 * for the service. */
#include "fs/base/exit_report.h"
#include "fs/file_system.h"

/* Returns an exit code. What was lost is logged, and written to `words` for `tablefuse unmount`. */
int mount_end(struct file_system *fs, char words[EXIT_REPORT_MAX_BYTES]);

#endif
