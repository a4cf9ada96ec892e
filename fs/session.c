#include "fs/session.h"
#include "fs/ops/directory_ops.h"
#include "fs/ops/file_ops.h"
#include "fs/ops/lookup_ops.h"

#include <linux/fuse.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

/* Made when needed. With every thread busy an interrupt is not even read, so more than may wait
 * (fs/request.h). */
#define MAX_THREADS      1024
#define MAX_IDLE_THREADS 16

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    (void)userdata;
    connection->want |= connection->capable &
                        (FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                         FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC);
    /* a node is one version, so its pages never need to be dropped */
    connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = lookup_ops_lookup,
    .forget = lookup_ops_forget,
    .forget_multi = lookup_ops_forget_multi,
    .getattr = lookup_ops_getattr,
    .statfs = lookup_ops_statfs,
    .opendir = directory_ops_opendir,
    .readdir = directory_ops_readdir,
    .readdirplus = directory_ops_readdirplus,
    .releasedir = directory_ops_releasedir,
    .fsyncdir = file_ops_fsync,
    .open = file_ops_open,
    .read = file_ops_read,
    .flush = file_ops_flush,
    .release = file_ops_release,
    .fsync = file_ops_fsync,
};

static ssize_t channel_read(int fd, void *buffer, size_t size, void *userdata)
{
    (void)userdata;
    return read(fd, buffer, size);
}

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)
/* FIXME: drop when libfuse 3.17 is the oldest: before it, libfuse never tells the kernel that
 * lookups and reads of one directory may run in parallel, though it is asked to (libfuse pull
 * request 861). So the flag is set in its reply. */
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

/* The first reply of a session is that to INIT: the kernel sends nothing else before it. */
static ssize_t channel_writev(int fd, struct iovec *iov, int count, void *userdata)
{
    struct file_system *fs = userdata;
    bool is_init = !atomic_exchange(&fs->is_answering, true);
    if (is_init)
        allow_parallel_directory_operations(iov, count);
    const struct fuse_out_header *header = iov[0].iov_base;
    bool is_accepted = header->error == 0;
    ssize_t n = writev(fd, iov, count);
    if (is_init && is_accepted && n >= 0) {
        atomic_store(&fs->is_ready, true);
        if (!fs->ready(fs->ready_context))
            fuse_session_exit(fs->session);
    }
    return n;
}

int session_create(struct file_system *fs, struct fuse_args *args)
{
    fs->session = fuse_session_new(args, &operations, sizeof(operations), fs);
    return fs->session ? 0 : -EINVAL;
}

static int serve(struct file_system *fs)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
    fuse_loop_cfg_set_idle_threads(config, MAX_IDLE_THREADS);
    int r = fuse_session_loop_mt(fs->session, config);
    fuse_loop_cfg_destroy(config);
    return r < 0 ? r : 0; /* > 0: a signal ended it, as it should */
}

int session_run(struct file_system *fs, const char *mountpoint)
{
    static const struct fuse_custom_io channel = {.writev = channel_writev, .read = channel_read};
    if (fuse_session_mount(fs->session, mountpoint) != 0)
        return -EIO;
    int r = -EIO;
    if (fuse_session_custom_io(fs->session, &channel, fuse_session_fd(fs->session)) == 0 &&
        fuse_set_signal_handlers(fs->session) == 0) {
        r = serve(fs);
        fuse_remove_signal_handlers(fs->session);
    }
    fuse_session_unmount(fs->session);
    return atomic_load(&fs->is_ready) ? r : -EIO;
}

void session_destroy(struct file_system *fs)
{
    if (fs->session)
        fuse_session_destroy(fs->session);
    fs->session = NULL;
}
