#ifndef FS_LOG_H
#define FS_LOG_H
/* The log: messages for the user of the mount. They go to standard error until the mount is in the
 * background, and to syslog afterwards. With -f they stay on standard error. Each begins with the
 * mount point, because the system's log has the lines of all mounts.
 *
 * No message holds a credential: only fs/ logs, and failures carry no credentials. Any thread. */
#include <stdbool.h>
#include <stdint.h>

struct log {
    const char *mountpoint; /* absolute; in its owner's memory */
    _Atomic bool is_syslog;
    _Atomic int64_t period; /* number of the current period of LOG_PAUSE_MS */
    _Atomic int lines;      /* about failures, in this period */
};

/* May one more line about a failure be written? At most LOG_LINES are written in a period of
 * LOG_PAUSE_MS, because a recursive read of a failing service causes a failure for each file. The
 * first line that is refused in a period is replaced by a hint to the errors file. */
#define LOG_LINES    20
#define LOG_PAUSE_MS 10000
bool log_has_room(struct log *log, int64_t now_ms);

/* From now on messages go to syslog. */
void log_to_syslog(struct log *log);
/* Writes one line, which is made printable (client/text/printable.h). */
void log_message(const struct log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
