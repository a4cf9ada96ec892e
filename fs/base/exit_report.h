/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_EXIT_REPORT_H
#define FS_BASE_EXIT_REPORT_H
/* Sends the exit code and a message of a mount's process to `tablefuse unmount`, which is not its
 * parent and so gets no exit code. The process listens on a socket in Linux's abstract namespace.
 * The socket's name has 128 random bits, so that no other process can have taken it.
 * .tablefuse/version shows the name to the user of the process and to root. `unmount` connects
 * before it unmounts, and reads when the process has ended. Nothing is left on a disk.
 *
 * /proc/net/unix shows the name to every user while the socket exists. So a thread accepts each
 * connection at once, closes those of other users, and keeps the others until the end. So no other
 * user can read the report, or fill the socket's queue. A process in another network namespace
 * cannot connect, and gets no report.
 *
 * For the main thread. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXIT_REPORT_MAX_BYTES 512 /* of a message; a longer one is cut */

/* In the process of the mount. 0 or -errno: then there is no report. */
struct exit_report;
int exit_report_offer(struct exit_report **ret);
const char *exit_report_socket(const struct exit_report *report); /* its name; NULL gives "" */
/* Sends the report to all that have connected, and destroys `report`, which may be NULL. message: a
 * sentence for the user; "": none. */
void exit_report_send(struct exit_report *report, int exit_code, const char *message);

/* In `unmount`: connects to the socket of the process, within limit_ms. A descriptor, or -errno:
 * the process offers no report to this user. */
int exit_report_await(const char *socket_name, pid_t process, int64_t limit_ms);
/* Waits for the report, within limit_ms, and closes the descriptor. ret_message has room for
 * EXIT_REPORT_MAX_BYTES, and becomes a string. Returns the exit code, which is not negative, or
 * -errno: the process has ended without a report, or has not sent one in time. */
int exit_report_read(int report, int64_t limit_ms, char *ret_message);

#endif
