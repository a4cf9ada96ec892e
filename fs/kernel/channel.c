/* SPDX-License-Identifier: MIT */
#include "fs/kernel/channel.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

/* Threads are created when needed. When all threads are busy, no thread reads an interrupt. So the
 * maximum is above REQUEST_MAX_WAITING (fs/kernel/request.h). */
#define MAX_THREADS      1024
#define MAX_IDLE_THREADS 16

void channel_want(struct fuse_conn_info *connection)
{
    connection->want |= connection->capable & (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                                               FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ATOMIC_O_TRUNC);
    /* A node is one version, so the kernel never has to drop its pages. */
    connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
    /* The kernel has at most 12 background requests under way: RELEASEs, and READs if they are
     * asynchronous. A RELEASE that stores a new file may wait for the service. A READ must not have
     * to wait for it. Nothing is lost: READs are answered from memory. */
    connection->want &= ~(unsigned)FUSE_CAP_ASYNC_READ;
}

ssize_t channel_read(int fd, void *buffer, size_t size, void *userdata)
{
    (void)userdata;
    ssize_t n = read(fd, buffer, size);
    /* The kernel has ended the connection while it sent a request, as an unmount does after
     * a process that had many files open. libfuse takes only ENODEV for the end of a mount. */
    if (n < 0 && errno == ECONNABORTED)
        errno = ENODEV;
    return n;
}

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)
/* FIXME: remove this once libfuse 3.17 is required. Older versions ignore the capability
 * FUSE_CAP_PARALLEL_DIROPS: they do not report to the kernel that lookups and reads of one
 * directory may run in parallel (libfuse pull request 861). So this sets the flag in the reply. */
static void allow_parallel_directory_operations(const struct iovec *iov, int count)
{
    struct fuse_init_out *init = count == 2 ? iov[1].iov_base : NULL;
    if (init && iov[1].iov_len >= offsetof(struct fuse_init_out, flags) + sizeof(init->flags))
        init->flags |= FUSE_PARALLEL_DIROPS;
}
#else
static void allow_parallel_directory_operations(const struct iovec *iov, int count)
{
    (void)iov;
    (void)count;
}
#endif

ssize_t channel_write(int fd, struct iovec *iov, int count, bool is_init)
{
    if (is_init)
        allow_parallel_directory_operations(iov, count);
    return writev(fd, iov, count);
}

/* FIXME: remove these two once the kernel's header of every supported system has them. Source:
 * include/uapi/linux/fuse.h of Linux 6.18. libfuse has no function for it. */
#define NOTIFY_PRUNE 9 /* FUSE_NOTIFY_PRUNE */
struct notify_prune {  /* struct fuse_notify_prune_out, and what stands after it */
    uint32_t count, padding;
    uint64_t spare;
    uint64_t ids[CHANNEL_PRUNE_MAX];
};

int channel_prune(int fd, const uint64_t *ids, size_t count)
{
    struct notify_prune prune = {.count = (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        prune.ids[i] = ids[count - 1 - i]; /* what is in a directory, then the directory */
    size_t size = offsetof(struct notify_prune, ids) + count * sizeof(prune.ids[0]);
    struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
                                     .error = NOTIFY_PRUNE};
    struct iovec message[] = {{&header, sizeof(header)}, {&prune, size}};
    return writev(fd, message, (int)ARRAY_SIZE(message)) < 0 ? -errno : 0;
}

int channel_serve(struct fuse_session *session)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
    fuse_loop_cfg_set_idle_threads(config, MAX_IDLE_THREADS);
    int r = fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
    return r < 0 ? r : 0; /* > 0: the signal that ended the loop, which is no error */
}
