#include "fs/exit_report.h"
#include "client/base.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_WAITING 1000 /* connections, also of processes that have ended since */

struct report { /* in one packet, which is cut behind the message's NUL */
    int exit_code;
    char message[EXIT_REPORT_MAX_BYTES];
};

/* The name begins with a NUL and is not ended by one. */
static socklen_t name_of(pid_t process, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "tablefuse-exit-%d", process);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

static int open_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

static int close_failed(int fd, int error)
{
    (void)close(fd);
    return error;
}

int exit_report_offer(void)
{
    struct sockaddr_un name;
    socklen_t size = name_of(getpid(), &name);
    int fd = open_socket();
    if (fd < 0)
        return fd;
    if (bind(fd, (const struct sockaddr *)&name, size) < 0 || listen(fd, MAX_WAITING) < 0)
        return close_failed(fd, -errno);
    return fd;
}

void exit_report_tell(int offer, int exit_code, const char *message)
{
    struct report report = {.exit_code = exit_code};
    (void)snprintf(report.message, sizeof(report.message), "%s", message);
    size_t size = offsetof(struct report, message) + strlen(report.message) + 1;
    if (offer < 0)
        return;
    for (int fd; (fd = accept4(offer, NULL, NULL, SOCK_CLOEXEC)) >= 0; (void)close(fd))
        (void)send(fd, &report, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(offer);
}

/* Does the socket belong to the process? Another one could have taken its name. */
static bool is_of(int fd, pid_t process)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == process;
}

int exit_report_await(pid_t process)
{
    struct sockaddr_un name;
    socklen_t size = name_of(process, &name);
    int fd = open_socket();
    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&name, size) < 0)
        return close_failed(fd, -errno);
    return is_of(fd, process) ? fd : close_failed(fd, -EPERM);
}

static int take(int fd, int64_t limit_ms, struct report *ret)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, (int)limit_ms);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -ETIMEDOUT;
    ssize_t size = recv(fd, ret, sizeof(*ret), 0);
    if (size < 0)
        return -errno;
    return (size_t)size > offsetof(struct report, message) ? 0 : -ENODATA;
}

int exit_report_read(int report, int64_t limit_ms, char *ret_message)
{
    struct report told = {0};
    int r = take(report, limit_ms, &told);
    (void)close(report);
    if (r < 0)
        return r;
    told.message[sizeof(told.message) - 1] = '\0';
    memcpy(ret_message, told.message, sizeof(told.message));
    return told.exit_code;
}
