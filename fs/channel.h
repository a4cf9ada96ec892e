#ifndef FS_CHANNEL_H
#define FS_CHANNEL_H
/* What a session agrees on with the kernel, and how its requests are served. Also that of the file
 * system in memory that this one is measured against (tests/bench). */
#define FUSE_USE_VERSION 312
#include "client/base.h"

#include <fuse_lowlevel.h>

/* For the init handler: the capabilities that are wanted. */
void channel_want(struct fuse_conn_info *connection);
/* For fuse_custom_io. `is_init`: it is the reply to INIT, the first of a session; the flag that
 * libfuse forgets is set in it. */
ssize_t channel_read(int fd, void *buffer, size_t size, void *userdata);
ssize_t channel_write(int fd, struct iovec *iov, int count, bool is_init);
/* Serves, by threads that are made when needed, until the session is unmounted or told to end, by a
 * signal too. 0 or -errno. */
int channel_serve(struct fuse_session *session);

#endif
