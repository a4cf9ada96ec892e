/* SPDX-License-Identifier: MIT */
#include "fs/mount/session.h"
#include "fs/base/say.h"
#include "fs/kernel/channel.h"
#include "fs/kernel/node_keeper.h"
#include "fs/mount/fuse_access.h"
#include "fs/ops/attribute_ops.h"
#include "fs/ops/change_ops.h"
#include "fs/ops/directory_ops.h"
#include "fs/ops/file_ops.h"
#include "fs/ops/lock_ops.h"
#include "fs/ops/lookup_ops.h"
#include "fs/ops/open_ops.h"
#include "fs/ops/rename_ops.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/lib-names.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
    struct file_system *fs = userdata;
    atomic_store(&fs->prunes_nodes, connection->proto_minor >= CHANNEL_PRUNE_MINOR);
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
    .getlk = lock_ops_getlk,
    .setlk = lock_ops_setlk,
    .flock = lock_ops_flock,
};

#define LIBFUSE_LINE_SIZE 1024

/* Where libfuse's messages go from the reply to INIT on. It passes no context. */
static struct log *_Atomic libfuse_log;

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
    if (is_accepted && n >= 0) {
        atomic_store(&libfuse_log, fs->log);
        atomic_store(&fs->is_ready, true);
    }
    if (!atomic_load(&fs->is_ready) || !fs->ready(fs->ready_context))
        fuse_session_exit(fs->session); /* libfuse does not for each kind of refusal */
    return n;
}

/* libfuse does not say that memory is short, nor which limit was reached. Its buffers and the
 * stacks of its threads are large, but mostly unused, so a limit of addresses is reached long
 * before a limit of memory. Returns "" if the message is not about memory or this process has no
 * such limit. */
static const char *explain_memory(const char *format)
{
    struct rlimit limit;
    bool is_of_memory = strstr(format, "failed to allocate") || strstr(format, "creating thread");
    if (!is_of_memory || getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return "";
    return " -- `ulimit -v` limits the addresses of this process: mount without it, and limit "
           "memory by a cgroup";
}

/* The next step after a message of libfuse, which itself names none. */
static const char *explain(const char *format)
{
    return strstr(format, "unsupported protocol version")
               ? " -- the kernel is too old: `uname -r` shows which one it is"
               : explain_memory(format);
}

/* libfuse's messages begin with "fuse: "; ours name the program. Its debug output is in pieces,
 * which are written at once. */
__attribute__((format(printf, 2, 0))) static void write_message(enum fuse_log_level level,
                                                                const char *format, va_list list)
{
    static const char prefix[] = "fuse: ";
    char line[LIBFUSE_LINE_SIZE];
    struct log *log = atomic_load(&libfuse_log);
    if (level == FUSE_LOG_DEBUG) {
        say_list(stderr, "", format, list);
        return;
    }
    (void)vsnprintf(line, sizeof(line), format, list);
    line[strcspn(line, "\n")] = '\0';
    bool has_prefix = strncmp(line, prefix, strlen(prefix)) == 0;
    if (log)
        log_message(log, "%s%s", line, explain(format));
    else
        say("%s%s%s\n", has_prefix ? "tablefuse: " : "", line + (has_prefix ? strlen(prefix) : 0),
            explain(format));
}

int session_create(struct file_system *fs, struct fuse_args *args)
{
    fuse_set_log_func(write_message);
    fs->session = fuse_session_new(args, &operations, sizeof(operations), fs);
    return fs->session ? 0 : -EINVAL;
}

/* SIGQUIT ends the session as SIGTERM does: libfuse's handler is for any signal. */
static void handle_quit(void)
{
    struct sigaction quit, terminate;
    if (sigaction(SIGQUIT, NULL, &quit) == 0 && quit.sa_handler == SIG_DFL &&
        sigaction(SIGTERM, NULL, &terminate) == 0)
        (void)sigaction(SIGQUIT, &terminate, NULL);
}

/* The session ends, and what is queued is sent: a second signal must not stop that. libfuse's
 * handlers need the session, and are removed where they are still set. */
static void ignore_ending_signals(struct fuse_session *session)
{
    static const int ending[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
        (void)signal(ending[i], SIG_IGN);
    fuse_remove_signal_handlers(session);
}

static int serve_and_keep(struct file_system *fs)
{
    /* At the end libfuse cancels its threads. The C library loads this one for the first thread,
     * and aborts the process if there is no memory for it by then: what is queued would be lost. */
    if (!dlopen(LIBGCC_S_SO, RTLD_NOW))
        return -ENOMEM;
    struct node_keeper *keeper;
    int r = node_keeper_create(fs, &keeper);
    if (r < 0)
        return r;
    r = channel_serve(fs->session);
    locks_end(fs->locks);
    node_keeper_destroy(keeper);
    return r;
}

static int serve(struct file_system *fs)
{
    static const struct fuse_custom_io channel = {.writev = write_reply, .read = channel_read};
    struct fuse_session *session = fs->session;
    if (fuse_session_custom_io(session, &channel, fuse_session_fd(session)) != 0 ||
        fuse_set_signal_handlers(session) != 0)
        return -EIO;
    handle_quit();
    int r = serve_and_keep(fs);
    atomic_store(&libfuse_log, NULL);
    ignore_ending_signals(session);
    return r;
}

/* Does the mount exist, here or elsewhere? */
static bool is_connected(int fd)
{
    struct pollfd pollfd = {.fd = fd};
    return poll(&pollfd, 1, 0) >= 0 && !(pollfd.revents & POLLERR);
}

/* Unmounts what session_run has mounted, unless that has happened. Another mount may have taken its
 * place since, and fuse_session_unmount would unmount that one, so it is not used. The number of a
 * device is used again when its mount has ended: so the device of `found` is this mount's only if
 * that still exists when `found` is open. */
static void end_mount(struct fuse_session *session, const char *path, dev_t device)
{
    _cleanup_(mountpoint_finish) struct mountpoint found = MOUNTPOINT_NONE;
    int fd = fuse_session_fd(session);
    bool is_own = mountpoint_open(path, &found) == 0 && found.device == device && is_connected(fd);
    /* Ends the connection: otherwise an unmount may wait for replies that are never sent. The
     * number of the descriptor remains in use, because fuse_session_destroy closes it. */
    (void)dup2(STDERR_FILENO, fd);
    if (is_own)
        (void)mountpoint_unmount(&found, true);
}

/* libfuse follows the path that it gets. So it gets that of the working directory, which is the
 * mount point meanwhile. */
static int mount_here(struct fuse_session *session, int directory)
{
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (before < 0)
        return -errno;
    int r = fchdir(directory) < 0 ? -errno : 0;
    bool is_mounted = r == 0 && fuse_session_mount(session, ".") == 0;
    if (fchdir(before) < 0 && chdir("/") < 0)
        r = -errno;
    (void)close(before);
    return r < 0 || is_mounted ? r : -EIO;
}

/* -EIO: libfuse has written why. *ret_device: of the mount. */
static int mount_at(struct fuse_session *session, struct mountpoint *place, dev_t *ret_device)
{
    int r = mountpoint_check(place);
    if (r == 0)
        r = mount_here(session, place->root);
    if (r < 0)
        say("tablefuse: cannot mount at %s%s%s -- %s\n", place->path, r == -EIO ? "" : ": ",
            r == -EIO ? "" : strerror(-r), fuse_access_advice());
    if (r == 0)
        r = mountpoint_check(place);
    *ret_device = place->device;
    mountpoint_close(place); /* they would keep its file system busy */
    return r;
}

int session_run(struct file_system *fs, struct mountpoint *place)
{
    dev_t device;
    if (mount_at(fs->session, place, &device) < 0)
        return -EIO;
    int r = serve(fs);
    end_mount(fs->session, place->path, device);
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
