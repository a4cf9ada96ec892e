/* SPDX-License-Identifier: MIT */
#include "client/base/base.h"
#include "client/base/clock.h"
#include "fs/base/exit_report.h"
#include "fs/base/say.h"
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "fs/mount/mountpoint.h"

#include <getopt.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The process of a mount sends what is queued for up to its timeout, and then reports what it could
 * not send. The report is waited for, too. */
#define DEFAULT_LIMIT_MS (OPTIONS_DEFAULT_TIMEOUT_MS + 30000)
_Static_assert(DEFAULT_LIMIT_MS == 90000, "as the help says");

static const char advice_silent[] =
    " -- unmount -z detaches the mount; its process stays until it runs again or is killed";

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

struct end {    /* of the daemon */
    int pidfd;  /* -1: none */
    int report; /* see exit_report_await */
    bool is_read_only;
};

/* Without a report it is not known what was not stored. A read-only mount stores nothing. */
static int report_unknown(const struct end *end)
{
    if (end->is_read_only)
        return 0;
    say("tablefuse: unmounted, but how its process ended is not known\n");
    return EXIT_MOUNTING;
}

/* Prints the report of the daemon, which has ended. An exit code. */
static int report_end(const struct end *end)
{
    char message[EXIT_REPORT_MAX_BYTES];
    int code = end->report < 0 ? end->report : exit_report_read(end->report, 0, message);
    if (code < 0)
        return report_unknown(end);
    if (code > 0)
        say("tablefuse: unmounted, but %s\n", message);
    return code;
}

/* Waits until the daemon has ended, so that the next command finds nothing of it. An exit code. */
static int await_daemon(const struct end *end, const struct patience *patience)
{
    struct pollfd pollfd = {.fd = end->pidfd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, remaining_ms(patience));
    } while (n < 0 && errno == EINTR);
    (void)close(end->pidfd);
    if (n > 0)
        return report_end(end);
    say("tablefuse: unmounted, but the process of the mount has not ended within %g s\n",
        limit_sec(patience));
    return EXIT_MOUNTING;
}

/* The mount was not the last one of its process, which does not end. */
static int report_others(void)
{
    say("tablefuse: unmounted; the process of the mount goes on for others: a bind "
        "mount, or another mount namespace\n");
    return 0;
}

static int report_elsewhere(void)
{
    say("tablefuse: unmounted; the process of the mount runs in another PID namespace: "
        "its end was not waited for, and its log shows what could not be stored\n");
    return 0;
}

/* `shown` is a path that is there, or what verb_printable returns, here and below. */
static int refuse_silent(const char *shown, const char *what, const struct patience *patience,
                         const char *advice)
{
    say("tablefuse: cannot unmount %s: %s has not answered within %g s%s\n", shown, what,
        limit_sec(patience), advice);
    return EXIT_MOUNTING;
}

static int refuse(const char *shown, int error)
{
    say("tablefuse: cannot unmount %s: %s%s\n", shown,
        error == -ESTALE ? "something else is there now" : strerror(-error),
        error == -EBUSY ? " -- end the processes that use it, or use unmount -z" : "");
    return EXIT_MOUNTING;
}

static int refuse_other(const char *shown, int error)
{
    say("tablefuse: %s is not a tablefuse mount%s%s\n", shown, error < 0 ? ": " : "",
        error < 0 ? strerror(-error) : "");
    return EXIT_NOT_FOUND;
}

/* Finds the mount. 0 or an exit code. */
static int find_mount(const char *directory, const struct patience *patience,
                      struct mountpoint *ret)
{
    _cleanup_(freep) char *path = NULL;
    int r = mountpoint_resolve(directory, remaining_ms(patience), &path);
    if (r == -ETIMEDOUT)
        return refuse_silent(verb_printable(directory), "the file system that it lies in", patience,
                             "");
    if (r == 0)
        r = mountpoint_open(path, ret);
    if (r == -ENOENT || r == -ENOTDIR)
        return refuse_other(verb_printable_path(directory), r);
    if (r < 0)
        return refuse(verb_printable_path(directory), r);
    return ret->is_tablefuse ? 0 : refuse_other(directory, 0);
}

/* Unmounts, and waits for the daemon that has answered. An exit code. */
static int unmount_and_await(const char *directory, struct mountpoint *place,
                             const struct mountpoint_daemon *daemon,
                             const struct patience *patience)
{
    struct end end = {.pidfd = open_pidfd(daemon->process), .report = -1};
    end.is_read_only = place->is_read_only;
    if (end.pidfd >= 0)
        end.report =
            exit_report_await(daemon->exit_socket, daemon->process, remaining_ms(patience));
    ino_t mount = mountpoint_identify(place->device);
    int r = mountpoint_unmount(place, false);
    if (r == -EIO) /* fusermount3 has written its reason */
        return EXIT_MOUNTING;
    if (r < 0)
        return refuse(directory, r);
    if (mount != 0 && mountpoint_identify(place->device) == mount)
        return report_others();
    if (daemon->process == MOUNTPOINT_DAEMON_ELSEWHERE)
        return report_elsewhere();
    return end.pidfd < 0 ? report_unknown(&end) : await_daemon(&end, patience);
}

/* Nothing is waited for: after a lazy unmount the daemon ends with its last user; a dead mount has
 * none. */
static int unmount_only(const char *directory, struct mountpoint *place, bool is_lazy)
{
    int r = mountpoint_unmount(place, is_lazy);
    return r == 0 ? 0 : r == -EIO ? EXIT_MOUNTING : refuse(directory, r);
}

/* What its daemon had queued when it was killed was not stored. */
static int unmount_dead(const char *directory, struct mountpoint *place)
{
    int code = unmount_only(directory, place, false);
    if (code != 0 || place->is_read_only)
        return code;
    say("tablefuse: unmounted, but its process was killed before: what was queued then is lost\n");
    return EXIT_MOUNTING;
}

static int unmount_directory(const char *directory, bool is_lazy, const struct patience *patience)
{
    _cleanup_(mountpoint_finish) struct mountpoint place = MOUNTPOINT_NONE;
    struct mountpoint_daemon daemon;
    int code = find_mount(directory, patience, &place);
    if (code != 0)
        return code;
    if (is_lazy)
        return unmount_only(directory, &place, true);
    int state = mountpoint_query(&place, remaining_ms(patience), &daemon);
    if (state < 0)
        return refuse(directory, state);
    if (state == MOUNTPOINT_SILENT)
        return refuse_silent(directory, "the process of the mount", patience, advice_silent);
    if (state == MOUNTPOINT_DEAD)
        return unmount_dead(directory, &place);
    return unmount_and_await(directory, &place, &daemon, patience);
}

static int run_unmount(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    static const struct option no_long_options[] = {{0}};
    bool is_lazy = false;
    int64_t limit_ms = DEFAULT_LIMIT_MS;
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
        return verb_refuse(verb, "unexpected operand %s after DIR",
                           verb_printable(argv[optind + 1]));
    const struct patience patience = {limit_ms, clock_now_ms(&clock_system) + limit_ms};
    return unmount_directory(argv[optind], is_lazy, &patience);
}

const struct verb verb_unmount = {
    .name = "unmount",
    .usage = "[-z] [-t SECONDS] DIR",
    .purpose = "Unmounts the tablefuse mount at DIR and waits for the end of its process.",
    .help = "  -z                 unmount even if in use; the mount ends with its last user\n"
            "  -t SECONDS         how long to wait for the process of the mount (90)\n",
    .codes = {{EXIT_ABANDONED, "a file or a queued change was not stored: see lost+found"},
              {EXIT_MOUNTING, "another failure, or how the mount ended is not known"}},
    .run = run_unmount,
};
