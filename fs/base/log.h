/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_LOG_H
#define FS_BASE_LOG_H
/* The log: messages for the user of the mount. They go to standard error until the mount is in the
 * background, and to syslog afterwards; with -f always to standard error. Each message begins with
 * the mount point, because the system's log has the lines of all mounts. On standard error it has
 * the time, too:
 *
 *   2026-11-22T10:00:00.000Z tablefuse: /mnt/tables: the service answers again, after 4 s
 *
 * THE LOG NEVER BLOCKS. If the reader of a pipe is slow or has stopped, the pipe is full and a
 * write blocks. So a thread of the log writes the lines, and no other thread waits for it. At most
 * LOG_WAITING_MAX_BYTES of lines wait to be written; further lines are dropped, and one line in
 * their place says how many.
 *
 * No message holds a credential: only fs/ logs, and failures carry no credentials. Any thread. */
#include <stdbool.h>
#include <stdint.h>

#define LOG_WAITING_MAX_BYTES ((size_t)64 << 10)
#define LOG_END_MS            1000

struct log;
/* mountpoint: an absolute path; for a command without a mount its source instead. 0 or -ENOMEM. */
int log_create(const char *mountpoint, struct log **ret);
int log_rename(struct log *log, const char *mountpoint); /* before the first message */
/* The last call; takes NULL. Waits until all lines are written, but at most LOG_END_MS. If the
 * thread is then still in a write that blocks, its memory is not freed, and it ends with the
 * process.
 */
void log_destroy(struct log *log);
/* Starts the thread; called after the process has forked. Until then each caller of log_message
 * writes its own line. 0 or -errno. */
int log_start(struct log *log);

/* May one more line about a failure be written? At most LOG_LINES are in each period of
 * LOG_PAUSE_MS, because a recursive read of a failing service causes a failure for each file.
 * Instead of the first refused line of a period a hint to the errors file is written. */
#define LOG_LINES    20
#define LOG_PAUSE_MS 10000
bool log_has_room(struct log *log, int64_t now_ms);

/* For a command that shows its progress: at a terminal each message first clears the progress line,
 * as progress_clear does. Called before the first message. */
void log_over_progress(struct log *log);
/* From now on messages go to syslog. */
void log_to_syslog(struct log *log);
/* Writes one line, which is made printable (client/text/printable.h). */
void log_message(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
