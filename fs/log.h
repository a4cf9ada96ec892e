#ifndef FS_LOG_H
#define FS_LOG_H
/* Messages for the person who mounted: standard error while in the foreground (and until the mount
 * is ready), the system's log afterwards. Any thread. Never holds a credential: nothing below fs/
 * logs, and errors carry none. */
#include <stdbool.h>

struct log {
    bool is_syslog;
};

void log_message(const struct log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
