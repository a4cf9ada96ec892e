/* SPDX-License-Identifier: MIT */
#ifndef FS_KERNEL_CHANNEL_H
#define FS_KERNEL_CHANNEL_H
/* The connection to the kernel: its capabilities, its reads and writes, and the loop that serves
 * its requests. The in-memory file system of tests/bench uses it too, so that a comparison measures
 * the same connection. */
#define FUSE_USE_VERSION 312
#include "client/base/base.h"

#include <fuse_lowlevel.h>

/* Called by the init handler: requests the capabilities. */
void channel_want(struct fuse_conn_info *connection);
/* For fuse_custom_io. is_init: the message is the reply to INIT, the first of a session. libfuse
 * before 3.17 omits a flag in this reply; channel_write adds it. */
ssize_t channel_read(int fd, void *buffer, size_t size, void *userdata);
ssize_t channel_write(int fd, struct iovec *iov, int count, bool is_init);
/* Since this minor version of the FUSE protocol (Linux 6.18) the kernel supports channel_prune. */
#define CHANNEL_PRUNE_MINOR 45
#define CHANNEL_PRUNE_MAX   1000
/* Makes the kernel forget nodes, at most CHANNEL_PRUNE_MAX. The kernel begins with the last one,
 * and sends a FORGET for each. It skips nodes in use: open or mapped files, working directories,
 * and directories with nodes that it still has. It locks no directory for this. (For
 * fuse_lowlevel_notify_inval_entry it locks one, and so waits until a slow LOOKUP in it ends.) Any
 * thread, not under a lock. 0 or -errno. */
int channel_prune(int fd, const uint64_t *ids, size_t count);
/* Serves requests until the file system is unmounted or the session is to exit, for example by a
 * signal. Creates threads when they are needed. 0 or -errno. */
int channel_serve(struct fuse_session *session);

#endif
