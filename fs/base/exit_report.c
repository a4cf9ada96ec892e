/* SPDX-License-Identifier: MIT */
#include "fs/base/exit_report.h"
#include "client/base/base.h"
#include "client/base/clock.h"
#include "client/base/thread.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_PREFIX  "tablefuse-exit-"
#define NAME_SIZE    (sizeof(NAME_PREFIX) + 32)
#define MAX_ACCEPTED 64 /* this user's own, or root's */
#define MAX_WAITING  64 /* until the thread runs; then a connection waits for room */
#define PAUSE_MS     100

struct exit_report {
    int listener;
    char name[NAME_SIZE];
    _Atomic bool is_ending;
    pthread_t thread; /* accepts; the following is its own until it has ended */
    int accepted[MAX_ACCEPTED];
    size_t count;
};

struct report { /* in one packet, which is cut after the message's NUL */
    int exit_code;
    char message[EXIT_REPORT_MAX_BYTES];
};

/* The address begins with a NUL and is not ended by one. False: the name is too long. */
static bool make_address(const char *name, struct sockaddr_un *ret, socklen_t *ret_size)
{
    size_t size = strlen(name);
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (size >= sizeof(ret->sun_path))
        return false;
    memcpy(ret->sun_path + 1, name, size);
    *ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    return true;
}

static int make_name(char ret[NAME_SIZE])
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    (void)snprintf(ret, NAME_SIZE, NAME_PREFIX "%016llx%016llx", (unsigned long long)random[0],
                   (unsigned long long)random[1]);
    return 0;
}

static int open_listener(const char *name)
{
    struct sockaddr_un address;
    socklen_t size;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (make_address(name, &address, &size) &&
        bind(fd, (const struct sockaddr *)&address, size) == 0 && listen(fd, MAX_WAITING) == 0)
        return fd;
    int error = -errno;
    (void)close(fd);
    return error;
}

static bool get_peer(int fd, struct ucred *ret)
{
    socklen_t size = sizeof(*ret);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) == 0;
}

/* The connections of processes that have ended make room. */
static void drop_closed(struct exit_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->count; i++) {
        struct pollfd pollfd = {.fd = report->accepted[i]};
        if (poll(&pollfd, 1, 0) > 0)
            (void)close(report->accepted[i]);
        else
            report->accepted[kept++] = report->accepted[i];
    }
    report->count = kept;
}

static void accept_one(struct exit_report *report, int fd)
{
    struct ucred peer;
    bool may_know = get_peer(fd, &peer) && (peer.uid == geteuid() || peer.uid == 0);
    if (may_know && report->count == MAX_ACCEPTED)
        drop_closed(report);
    if (may_know && report->count < MAX_ACCEPTED)
        report->accepted[report->count++] = fd;
    else
        (void)close(fd);
}

/* Until the listener was shut down and has no more connections: then accept fails. */
static void *accept_all(void *context)
{
    struct exit_report *report = context;
    for (;;) {
        int fd = accept4(report->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            accept_one(report, fd);
        else if (report->is_ending)
            return NULL;
        else if (errno != EINTR && errno != ECONNABORTED) /* no descriptor, no memory */
            clock_system.sleep_ms(clock_system.context, PAUSE_MS);
    }
}

int exit_report_offer(struct exit_report **ret)
{
    _cleanup_(freep) struct exit_report *report = calloc(1, sizeof(*report));
    if (!report)
        return -ENOMEM;
    int r = make_name(report->name);
    report->listener = r < 0 ? r : open_listener(report->name);
    if (report->listener < 0)
        return report->listener;
    r = -thread_create(&report->thread, accept_all, report);
    if (r < 0) {
        (void)close(report->listener);
        return r;
    }
    *ret = TAKE_PTR(report);
    return 0;
}

const char *exit_report_socket(const struct exit_report *report)
{
    return report ? report->name : "";
}

void exit_report_send(struct exit_report *report, int exit_code, const char *message)
{
    struct report packet = {.exit_code = exit_code};
    (void)snprintf(packet.message, sizeof(packet.message), "%s", message);
    size_t size = offsetof(struct report, message) + strlen(packet.message) + 1;
    if (!report)
        return;
    report->is_ending = true;
    (void)shutdown(report->listener, SHUT_RD); /* no connection is made any more */
    (void)pthread_join(report->thread, NULL);
    for (size_t i = 0; i < report->count; i++) {
        (void)send(report->accepted[i], &packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(report->accepted[i]);
    }
    (void)close(report->listener);
    free(report);
}

static struct timeval time_of(int64_t ms)
{
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

int exit_report_await(const char *socket_name, pid_t process, int64_t limit_ms)
{
    struct sockaddr_un address;
    struct ucred peer;
    socklen_t size;
    struct timeval limit = time_of(MAX(limit_ms, 1)); /* 0 would be none */
    if (!socket_name[0] || !make_address(socket_name, &address, &size))
        return -ENOENT;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int r = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (r == 0)
        r = connect(fd, (const struct sockaddr *)&address, size);
    r = r < 0 ? -errno : get_peer(fd, &peer) && peer.pid == process ? 0 : -EPERM;
    if (r < 0)
        (void)close(fd);
    return r < 0 ? r : fd;
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
    struct report packet = {0};
    int r = take(report, limit_ms, &packet);
    (void)close(report);
    if (r < 0)
        return r;
    if (packet.exit_code < 0 || packet.exit_code > UINT8_MAX)
        return -EPROTO;
    packet.message[sizeof(packet.message) - 1] = '\0';
    memcpy(ret_message, packet.message, sizeof(packet.message));
    return packet.exit_code;
}
