#include "client/base.h"
#include "fs/mountpoint.h"
#include "fs/verb.h"

#include <getopt.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DAEMON_END_MS 30000 /* how long to wait for the daemon's end */

static int open_pidfd(pid_t pid)
{
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Waits until the daemon has ended, so that the next command finds nothing of it. */
static int await_daemon(int pidfd)
{
    struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, DAEMON_END_MS);
    } while (n < 0 && errno == EINTR);
    (void)close(pidfd);
    if (n > 0)
        return 0;
    (void)fprintf(stderr, "tablefuse: unmounted, but the process of the mount has not ended yet\n");
    return EXIT_MOUNTING;
}

static int unmount_directory(const char *directory, bool is_lazy)
{
    _cleanup_(freep) char *path = NULL;
    int r = mountpoint_resolve(directory, &path);
    if (r < 0 || !mountpoint_is_tablefuse(path)) {
        (void)fprintf(stderr, "tablefuse: %s is not a tablefuse mount%s%s\n", directory,
                      r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
        return EXIT_NOT_FOUND;
    }
    /* No wait: after a lazy unmount the daemon ends with its last user; a dead mount has none. */
    int pidfd = is_lazy || mountpoint_is_dead(path) ? -1 : open_pidfd(mountpoint_daemon(path));
    r = mountpoint_unmount(path, is_lazy);
    if (r == 0)
        return pidfd < 0 ? 0 : await_daemon(pidfd);
    if (pidfd >= 0)
        (void)close(pidfd);
    if (r != -EIO) /* fusermount3 has written its reason */
        (void)fprintf(stderr, "tablefuse: cannot unmount %s: %s%s\n", directory, strerror(-r),
                      r == -EBUSY ? " -- end the processes that use it, or use unmount -z" : "");
    return EXIT_MOUNTING;
}

static int run_unmount(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    static const struct option no_long_options[] = {{0}};
    bool is_lazy = false;
    (void)decorate;
    for (int option; (option = getopt_long(argc, argv, ":z", no_long_options, NULL)) != -1;) {
        if (option != 'z')
            return verb_refuse_option(verb, option, argv);
        is_lazy = true;
    }
    if (argc == optind)
        return verb_refuse(verb, "no directory to unmount");
    if (argc > optind + 1)
        return verb_refuse(verb, "unexpected operand %s behind DIR", argv[optind + 1]);
    return unmount_directory(argv[optind], is_lazy);
}

const struct verb verb_unmount = {
    .name = "unmount",
    .usage = "[-z] DIR",
    .purpose = "Unmounts the tablefuse mount at DIR and waits for the end of its process.",
    .help = "  -z                 unmount even if in use; the mount ends with its last user\n",
    .run = run_unmount,
};
