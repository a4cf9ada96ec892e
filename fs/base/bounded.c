/* SPDX-License-Identifier: MIT */
#include "fs/base/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child ends with its parent. If it hangs in the kernel all the same, the parent's output is
 * closed, so that a reader of that output sees its end. */
static void answer_from_child(bounded_function *function, const void *context, int fd, void *answer)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int output = STDIN_FILENO; output <= STDERR_FILENO; output++)
        if (output != fd)
            (void)close(output);
    size_t size = function(context, answer);
    _exit(write(fd, answer, size) == (ssize_t)size ? 0 : 1);
}

/* The child ends after its answer, so that the end of the pipe follows. */
static bool await_answer(int fd, int64_t limit_ms, char *ret, size_t size)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    size_t taken = 0;
    int n;
    do {
        n = poll(&pollfd, 1, (int)limit_ms);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    for (ssize_t more = 1; more > 0 && taken < size; taken += (size_t)MAX(more, 0))
        more = read(fd, ret + taken, size - taken);
    return taken > 0;
}

int bounded_call(bounded_function *function, const void *context, int64_t limit_ms, void *ret,
                 size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t child = fork();
    int error = child < 0 ? -errno : 0;
    if (child == 0)
        answer_from_child(function, context, ends[1], ret);
    (void)close(ends[1]);
    bool is_answered = error == 0 && await_answer(ends[0], limit_ms, ret, size);
    (void)close(ends[0]);
    if (error < 0)
        return error;
    if (!is_answered)
        (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, is_answered ? 0 : WNOHANG);
    return is_answered ? 0 : -ETIMEDOUT;
}
