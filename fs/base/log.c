/* SPDX-License-Identifier: MIT */
#include "fs/base/log.h"
#include "client/base/bytes.h"
#include "client/base/clock.h"
#include "client/base/monitor.h"
#include "client/base/thread.h"
#include "client/text/edm_datetime.h"
#include "client/text/printable.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <syslog.h>
#include <unistd.h>

#define LINE_SIZE (PATH_MAX + 2048) /* of a failure and the mount point */

struct log {
    char *mountpoint;
    const char *line_start; /* of standard error */
    _Atomic bool is_syslog;
    _Atomic int64_t period; /* number of the current period of LOG_PAUSE_MS */
    _Atomic int lines;      /* about failures, in this period */
    bool has_thread;
    pthread_t thread;
    struct monitor monitor; /* guards the rest */
    struct buffer waiting;  /* lines, each with a NUL after it */
    struct buffer taken;    /* the same, of the thread. Both have their memory from the start */
    uint64_t left_out;      /* lines after those that wait */
    bool is_ending;
};

int log_create(const char *mountpoint, struct log **ret)
{
    struct log *log = calloc(1, sizeof(*log));
    char *copy = strdup(mountpoint);
    if (!log || !copy) {
        free(log);
        free(copy);
        return -ENOMEM;
    }
    monitor_init(&log->monitor);
    log->mountpoint = copy;
    log->line_start = "";
    buffer_init(&log->waiting, LOG_WAITING_MAX_BYTES);
    buffer_init(&log->taken, LOG_WAITING_MAX_BYTES);
    *ret = log;
    return 0;
}

int log_rename(struct log *log, const char *mountpoint)
{
    char *copy = strdup(mountpoint);
    if (!copy)
        return -ENOMEM;
    free(log->mountpoint);
    log->mountpoint = copy;
    return 0;
}

bool log_has_room(struct log *log, int64_t now_ms)
{
    int64_t period = now_ms / LOG_PAUSE_MS;
    if (atomic_exchange(&log->period, period) != period)
        atomic_store(&log->lines, 0);
    int line = atomic_fetch_add(&log->lines, 1);
    if (line == LOG_LINES)
        log_message(log, "more failures are not logged here -- see .tablefuse/errors in the mount");
    return line < LOG_LINES;
}

void log_over_progress(struct log *log)
{
    if (isatty(STDERR_FILENO))
        log->line_start = "\r\033[K";
}

void log_to_syslog(struct log *log)
{
    openlog("tablefuse", LOG_PID, LOG_DAEMON); /* however the program was called */
    atomic_store(&log->is_syslog, true);
}

/* The line as it is written, but for its end. */
__attribute__((format(printf, 3, 0))) static void
compose(const struct log *log, char line[LINE_SIZE], const char *format, va_list list)
{
    char at[EDM_DATETIME_SIZE + 1] = "";
    if (!log->is_syslog)
        edm_datetime_write(clock_utc_100ns(&clock_system), at);
    int n = log->is_syslog ? snprintf(line, LINE_SIZE, "%s: ", log->mountpoint)
                           : snprintf(line, LINE_SIZE, "%.23sZ tablefuse: %s: ", at, /* of 1 ms */
                                      log->mountpoint);
    if (n > 0 && n < LINE_SIZE)
        (void)vsnprintf(line + n, (size_t)(LINE_SIZE - n), format, list);
    printable_replace_string(line); /* a mount point may have any name */
}

/* One call for a line, so that it does not mix with what other programs write. A line that cannot
 * be written is lost. */
static void write_stderr(struct bytes line)
{
    while (line.size > 0) {
        ssize_t n = write(STDERR_FILENO, line.data, line.size);
        if (n >= 0)
            line = bytes_skip(line, (size_t)n);
        else if (errno == EAGAIN) /* another program has made the descriptor so */
            (void)poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        else if (errno != EINTR)
            return;
    }
}

/* The NUL becomes a line end. */
static void write_line(const struct log *log, char *line)
{
    size_t size = strlen(line);
    if (log->is_syslog) {
        syslog(LOG_NOTICE, "%s", line);
        return;
    }
    line[size] = '\n';
    write_stderr(bytes_of(log->line_start));
    write_stderr((struct bytes){line, size + 1});
}

__attribute__((format(printf, 2, 3))) static void write_message(const struct log *log,
                                                                const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;
    va_start(list, format);
    compose(log, line, format, list);
    va_end(list);
    write_line(log, line);
}

/* Lines that begin after one that was left out are left out, too: so the order is right. */
static void add(struct log *log, const char *line)
{
    struct bytes bytes = {line, strlen(line) + 1};
    INSIDE(&log->monitor);
    if (log->left_out > 0 || buffer_ensure(&log->waiting, log->waiting.size + bytes.size) < 0)
        log->left_out++;
    else
        (void)buffer_append(&log->waiting, bytes);
    monitor_notify(&log->monitor);
}

void log_message(struct log *log, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;
    va_start(list, format);
    compose(log, line, format, list);
    va_end(list);
    if (log->has_thread)
        add(log, line);
    else
        write_line(log, line);
}

/* Waits for lines and takes all of them. False: the log ends. */
static bool take(struct log *log, uint64_t *ret_left_out)
{
    buffer_clear(&log->taken);
    INSIDE(&log->monitor);
    while (log->waiting.size == 0 && log->left_out == 0 && !log->is_ending)
        monitor_wait_for(&log->monitor, -1);
    buffer_swap(&log->taken, &log->waiting);
    *ret_left_out = log->left_out;
    log->left_out = 0;
    return log->taken.size > 0 || *ret_left_out > 0;
}

static void *write_lines(void *context)
{
    struct log *log = context;
    uint64_t left_out;
    while (take(log, &left_out)) {
        for (size_t at = 0, size; at < log->taken.size; at += size + 1) {
            size = strlen(log->taken.data + at);
            write_line(log, log->taken.data + at);
        }
        if (left_out > 0)
            write_message(log, "%llu %s left out here, because the log was not read",
                          (unsigned long long)left_out, left_out == 1 ? "line was" : "lines were");
    }
    return NULL;
}

int log_start(struct log *log)
{
    int r = buffer_ensure(&log->waiting, LOG_WAITING_MAX_BYTES);
    if (r == 0)
        r = buffer_ensure(&log->taken, LOG_WAITING_MAX_BYTES);
    if (r == 0)
        r = -thread_create(&log->thread, write_lines, log);
    log->has_thread = r == 0;
    return r;
}

static bool end_thread(struct log *log)
{
    struct timespec until;
    monitor_enter(&log->monitor);
    log->is_ending = true;
    monitor_notify(&log->monitor);
    monitor_leave(&log->monitor);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOG_END_MS / 1000;
    return pthread_timedjoin_np(log->thread, NULL, &until) == 0;
}

void log_destroy(struct log *log)
{
    if (!log || (log->has_thread && !end_thread(log)))
        return;
    monitor_finish(&log->monitor);
    buffer_finish(&log->waiting);
    buffer_finish(&log->taken);
    free(log->mountpoint);
    free(log);
}
