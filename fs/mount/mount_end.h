/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNT_END_H
#define FS_MOUNT_MOUNT_END_H
/* What is done when a mount has ended, because it was unmounted or by a signal: open files are
 * released, and scratch files go to lost+found. One thread, after the session. It may wait for the
 * service. */
#include "fs/base/exit_report.h"
#include "fs/file_system.h"

/* An exit code. What was lost is logged, and appended to `words` for `tablefuse unmount`. */
int mount_end(struct file_system *fs, char words[EXIT_REPORT_MAX_BYTES]);

#endif
