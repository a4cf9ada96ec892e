#include "fs/session.h"
#include "fs/channel.h"
#include "fs/ops/attribute_ops.h"
#include "fs/ops/change_ops.h"
#include "fs/ops/directory_ops.h"
#include "fs/ops/file_ops.h"
#include "fs/ops/lookup_ops.h"
#include "fs/ops/open_ops.h"
#include "fs/ops/rename_ops.h"

#include <linux/fuse.h>
#include <stdatomic.h>

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    (void)userdata;
    channel_want(connection);
}

static const struct fuse_lowlevel_ops operations = {
    .init = on_init,
    .lookup = lookup_ops_lookup,
    .forget = lookup_ops_forget,
    .forget_multi = lookup_ops_forget_multi,
    .getattr = attribute_ops_getattr,
    .setattr = attribute_ops_setattr,
    .statfs = attribute_ops_statfs,
    .mkdir = change_ops_mkdir,
    .rmdir = change_ops_rmdir,
    .unlink = change_ops_unlink,
    .rename = rename_ops_rename,
    .symlink = change_ops_symlink,
    .link = change_ops_link,
    .mknod = change_ops_mknod,
    .opendir = directory_ops_opendir,
    .readdir = directory_ops_readdir,
    .readdirplus = directory_ops_readdirplus,
    .releasedir = directory_ops_releasedir,
    .fsyncdir = directory_ops_fsyncdir,
    .open = open_ops_open,
    .create = open_ops_create,
    .read = file_ops_read,
    .write = file_ops_write,
    .flush = file_ops_flush,
    .release = file_ops_release,
    .fsync = file_ops_fsync,
};

/* The first reply of a session is the one to INIT, because the kernel sends INIT before any other
 * request. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
    struct file_system *fs = userdata;
    bool is_init = !atomic_exchange(&fs->is_answering, true);
    const struct fuse_out_header *header = iov[0].iov_base;
    bool is_accepted = header->error == 0;
    ssize_t n = channel_write(fd, iov, count, is_init);
    if (!is_init)
        return n;
    if (is_accepted && n >= 0)
        atomic_store(&fs->is_ready, true);
    if (!atomic_load(&fs->is_ready) || !fs->ready(fs->ready_context))
        fuse_session_exit(fs->session); /* libfuse does not for each kind of refusal */
    return n;
}

/* libfuse's messages begin with "fuse: "; ours name the program. Its debug output comes in pieces.
 */
__attribute__((format(printf, 2, 0))) static void write_message(enum fuse_log_level level,
                                                                const char *format, va_list list)
{
    static const char prefix[] = "fuse: ";
    if (level != FUSE_LOG_DEBUG && strncmp(format, prefix, strlen(prefix)) == 0) {
        (void)fputs("tablefuse: ", stderr);
        format += strlen(prefix);
    }
    (void)vfprintf(stderr, format, list);
}

int session_create(struct file_system *fs, struct fuse_args *args)
{
    fuse_set_log_func(write_message);
    fs->session = fuse_session_new(args, &operations, sizeof(operations), fs);
    return fs->session ? 0 : -EINVAL;
}

int session_run(struct file_system *fs, const char *mountpoint)
{
    static const struct fuse_custom_io channel = {.writev = write_reply, .read = channel_read};
    if (fuse_session_mount(fs->session, mountpoint) != 0)
        return -EIO;
    int r = -EIO;
    if (fuse_session_custom_io(fs->session, &channel, fuse_session_fd(fs->session)) == 0 &&
        fuse_set_signal_handlers(fs->session) == 0) {
        r = channel_serve(fs->session);
        fuse_remove_signal_handlers(fs->session);
    }
    fuse_session_unmount(fs->session);
    return atomic_load(&fs->is_ready) ? r : -EIO;
}

bool session_is_ending(const struct file_system *fs)
{
    return fuse_session_exited(fs->session);
}

void session_destroy(struct file_system *fs)
{
    if (fs->session)
        fuse_session_destroy(fs->session);
    fs->session = NULL;
}
