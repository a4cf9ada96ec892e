/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_LOG_H
#define FS_BASE_LOG_H
/* The log: messages for the user of the mount. They go to standard error until the mount is in the
 * background, and to syslog afterwards. With -f they stay on standard error. Each begins with the
 * mount point, because the system's log has the lines of all mounts. On standard error each has its
 * time, too:
 *
 *   2026-11-22T10:00:00.000Z tablefuse: /mnt/tables: the service answers again, after 4 s
 *
 * THE LOG STOPS NOTHING. Its reader may be slow or have stopped: a pipe is full then, and a write
 * blocks. So a thread writes the lines, and no other thread waits for it. LOG_WAITING_MAX_BYTES
 * wait for it at most; lines beyond that are left out, and a line in their place tells how many.
 *
 * No message holds a credential: only fs/ logs, and failures carry no credentials. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#define LOG_WAITING_MAX_BYTES ((size_t)64 << 10)
#define LOG_END_MS            1000

struct log;
/* mountpoint: absolute; of a command without a mount its source. 0 or -ENOMEM. */
int log_create(const char *mountpoint, struct log **ret);
int log_rename(struct log *log, const char *mountpoint); /* the same, before it is used */
/* The last call; takes NULL. Waits until all lines are written, but at most LOG_END_MS. The thread
 * may be in a write by then that does not return: it keeps its memory, and ends with the process.
 */
void log_destroy(struct log *log);
/* Starts the thread: after the process has forked. Until then the caller writes its own lines.
 * 0 or -errno. */
int log_start(struct log *log);

/* May one more line about a failure be written? At most LOG_LINES are written in a period of
 * LOG_PAUSE_MS, because a recursive read of a failing service causes a failure for each file. The
 * first line that is refused in a period is replaced by a hint to the errors file. */
#define LOG_LINES    20
#define LOG_PAUSE_MS 10000
bool log_has_room(struct log *log, int64_t now_ms);

/* Of a command that shows its progress: at a terminal a message takes the place of the line that is
 * there, as progress_clear does. Before the first message. */
void log_over_progress(struct log *log);
/* From now on messages go to syslog. */
void log_to_syslog(struct log *log);
/* Writes one line, which is made printable (client/text/printable.h). */
void log_message(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
