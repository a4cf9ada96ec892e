#include "client/base.h"
#include "client/clock.h"
#include "fs/mountpoint.h"
#include "fs/options.h"
#include "fs/verb.h"

#include <getopt.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_pidfd(pid_t pid)
{
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

struct patience { /* for all that is waited for together */
    int64_t limit_ms, end_ms;
};

static int remaining_ms(const struct patience *patience)
{
    return (int)MAX(patience->end_ms - clock_now_ms(&clock_system), 0);
}

static double limit_sec(const struct patience *patience)
{
    return (double)patience->limit_ms / 1000;
}

/* Waits until the daemon has ended, so that the next command finds nothing of it. */
static int await_daemon(int pidfd, const struct patience *patience)
{
    struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, remaining_ms(patience));
    } while (n < 0 && errno == EINTR);
    (void)close(pidfd);
    if (n > 0)
        return 0;
    (void)fprintf(stderr,
                  "tablefuse: unmounted, but the process of the mount has not ended within %g s\n",
                  limit_sec(patience));
    return EXIT_MOUNTING;
}

static int refuse_silent(const char *directory, const struct patience *patience)
{
    (void)fprintf(stderr,
                  "tablefuse: cannot unmount %s: the process of the mount has not answered within "
                  "%g s -- use unmount -z\n",
                  verb_printable(directory), limit_sec(patience));
    return EXIT_MOUNTING;
}

static int refuse(const char *directory, int error)
{
    (void)fprintf(stderr, "tablefuse: cannot unmount %s: %s%s\n", verb_printable(directory),
                  strerror(-error),
                  error == -EBUSY ? " -- end the processes that use it, or use unmount -z" : "");
    return EXIT_MOUNTING;
}

static int unmount_directory(const char *directory, bool is_lazy, const struct patience *patience)
{
    _cleanup_(freep) char *path = NULL;
    int r = mountpoint_resolve(directory, &path);
    if (r < 0 || !mountpoint_is_tablefuse(path)) {
        (void)fprintf(stderr, "tablefuse: %s is not a tablefuse mount%s%s\n",
                      verb_printable(directory), r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
        return EXIT_NOT_FOUND;
    }
    /* No wait: after a lazy unmount the daemon ends with its last user; a dead mount has none. */
    pid_t daemon = 0;
    int state =
        is_lazy ? (int)MOUNTPOINT_LIVE : mountpoint_ask(path, remaining_ms(patience), &daemon);
    if (state < 0)
        return refuse(directory, state);
    if (state == MOUNTPOINT_SILENT)
        return refuse_silent(directory, patience);
    int pidfd = open_pidfd(daemon);
    r = mountpoint_unmount(path, is_lazy);
    if (r == 0)
        return pidfd < 0 ? 0 : await_daemon(pidfd, patience);
    if (pidfd >= 0)
        (void)close(pidfd);
    if (r != -EIO) /* fusermount3 has written its reason */
        return refuse(directory, r);
    return EXIT_MOUNTING;
}

static int run_unmount(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    static const struct option no_long_options[] = {{0}};
    bool is_lazy = false;
    int64_t limit_ms = OPTIONS_DEFAULT_TIMEOUT_MS;
    (void)decorate;
    for (int option; (option = getopt_long(argc, argv, ":t:z", no_long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        if (option == 't' && !options_parse_timeout(optarg, &limit_ms))
            return verb_refuse(verb, "-t %s: expected seconds from 1 to 3600, for example 30",
                               verb_printable(optarg));
        is_lazy |= option == 'z';
    }
    if (argc == optind)
        return verb_refuse(verb, "no directory to unmount");
    if (argc > optind + 1)
        return verb_refuse(verb, "unexpected operand %s behind DIR",
                           verb_printable(argv[optind + 1]));
    const struct patience patience = {limit_ms, clock_now_ms(&clock_system) + limit_ms};
    return unmount_directory(argv[optind], is_lazy, &patience);
}

const struct verb verb_unmount = {
    .name = "unmount",
    .usage = "[-z] [-t SECONDS] DIR",
    .purpose = "Unmounts the tablefuse mount at DIR and waits for the end of its process.",
    .help = "  -z                 unmount even if in use; the mount ends with its last user\n"
            "  -t SECONDS         how long to wait for the process of the mount (60)\n",
    .run = run_unmount,
};
