#include "fs/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

void log_message(const struct log *log, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (log->is_syslog) {
        vsyslog(LOG_DAEMON | LOG_NOTICE, format, list);
    } else {
        char line[1024];
        (void)vsnprintf(line, sizeof(line), format, list);
        (void)fprintf(stderr, "tablefuse: %s\n", line); /* one write: lines of threads do not mix */
    }
    va_end(list);
}
