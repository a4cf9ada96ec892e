#include "fs/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <syslog.h>

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

void log_message(const struct log *log, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (log->is_syslog) {
        vsyslog(LOG_DAEMON | LOG_NOTICE, format, list);
    } else {
        char line[1024];
        (void)vsnprintf(line, sizeof(line), format, list);
        (void)fprintf(stderr, "tablefuse: %s\n", line); /* one call, so threads do not mix lines */
    }
    va_end(list);
}
