#ifndef FS_LOG_H
#define FS_LOG_H
/* Messages for the person who mounted: standard error while in the foreground (and until the mount
 * is ready), the system's log afterwards. Any thread. Never holds a credential: nothing below fs/
 * logs, and errors carry none. */
#include <stdbool.h>
#include <stdint.h>

struct log {
    _Atomic bool is_syslog;
    _Atomic int64_t period; /* of LOG_PAUSE_MS: the one whose lines are counted */
    _Atomic int lines;
};

/* May one more line about a failure be told? A walk into a wall makes a hundred thousand of them:
 * at most LOG_LINES in LOG_PAUSE_MS, and one line that says where the others are. */
#define LOG_LINES    20
#define LOG_PAUSE_MS 10000
bool log_has_room(struct log *log, int64_t now_ms);

void log_message(const struct log *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
