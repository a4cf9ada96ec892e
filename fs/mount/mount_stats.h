/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_MOUNT_STATS_H
#define FS_MOUNT_MOUNT_STATS_H
/* The text of .tablefuse/stats: the counters of the parts of a mount, and what the process uses, in
 * Prometheus's exposition format. Names and units are those of its conventions, which `promtool
 * check metrics` checks. Any thread. */
#include "fs/file_system.h"
#include "fs/source/mount_source.h"

/* 0 or -errno. A value that the system does not provide has no line. */
int mount_stats_append(struct mount_source *source, const struct file_system *fs,
                       struct buffer *ret);

#endif
