/* SPDX-License-Identifier: MIT */
#include "fs/mount/background.h"
#include "fs/base/say.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int reap(pid_t child, int otherwise)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return otherwise;
    return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : otherwise;
}

/* Waits for the child, which writes a byte when it is ready and closes the pipe when it ends. */
static int await_child(pid_t child, int fd, int64_t limit_ms, int otherwise)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, (int)limit_ms);
    } while (n < 0 && errno == EINTR);
    char byte;
    if (n > 0 && read(fd, &byte, 1) == 1)
        return 0;
    if (n <= 0) {
        say("tablefuse: the mount was not ready within %d s and was stopped -- try again; "
            "mount -f shows its messages\n",
            (int)(limit_ms / 1000));
        (void)kill(child, SIGKILL);
    }
    return reap(child, otherwise);
}

static void close_between(int after, int before) /* neither of these two */
{
    int first = MAX(after, STDERR_FILENO) + 1;
    if (first < before)
        (void)close_range((unsigned)first, (unsigned)before - 1, 0);
}

/* Closes inherited descriptors. Otherwise the daemon would keep them, and locks on them, for as
 * long as the mount exists. */
static void close_all_but(int one, int other)
{
    close_between(STDERR_FILENO, MIN(one, other));
    close_between(MIN(one, other), MAX(one, other));
    close_between(MAX(one, other), INT_MAX);
}

int background_fork(int64_t limit_ms, int otherwise, int kept, struct background *ret,
                    int *ret_exit_code)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    if (child < 0) {
        int error = -errno;
        (void)close(ends[0]);
        (void)close(ends[1]);
        return error;
    }
    if (child == 0) {
        (void)close(ends[0]);
        close_all_but(ends[1], kept);
        ret->pipe = ends[1];
        return 0;
    }
    (void)close(ends[1]);
    *ret_exit_code = await_child(child, ends[0], limit_ms, otherwise);
    (void)close(ends[0]);
    return 1;
}

bool background_ready(struct background *background)
{
    if (background->pipe < 0)
        return true;
    (void)setsid();
    int r = chdir("/"); /* another directory would stay busy; every path is absolute */
    (void)r;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    if (null > STDERR_FILENO)
        (void)close(null);
    bool is_awaited = write(background->pipe, "", 1) == 1;
    (void)close(background->pipe);
    background->pipe = -1;
    return is_awaited;
}
