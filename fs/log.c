#include "fs/log.h"
#include "client/text/printable.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>

#define LINE_SIZE (PATH_MAX + 2048) /* of a failure and the mount point */

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

void log_to_syslog(struct log *log)
{
    openlog("tablefuse", LOG_PID, LOG_DAEMON); /* however the program was called */
    atomic_store(&log->is_syslog, true);
}

void log_message(const struct log *log, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list list;
    int n = snprintf(line, sizeof(line), "%s: ", log->mountpoint);
    va_start(list, format);
    if (n > 0 && (size_t)n < sizeof(line))
        (void)vsnprintf(line + n, sizeof(line) - (size_t)n, format, list);
    va_end(list);
    printable_replace_string(line); /* a mount point may have any name */
    if (log->is_syslog)
        syslog(LOG_NOTICE, "%s", line);
    else
        (void)fprintf(stderr, "tablefuse: %s\n", line); /* one call, so threads do not mix lines */
}
