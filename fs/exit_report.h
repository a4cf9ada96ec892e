#ifndef FS_EXIT_REPORT_H
#define FS_EXIT_REPORT_H
/* Sends the exit code and a message of a mount's process to `tablefuse unmount`, which is not its
 * parent and so gets no exit code. The process listens on a socket in Linux's abstract namespace,
 * which has its process id in the name. `unmount` connects before it unmounts, and reads when the
 * process has ended. The process accepts connections only at its end: until then they wait in the
 * kernel. Nothing is left on a disk.
 *
 * Any process may connect: it learns the exit code and the message, and nothing else. In another
 * network namespace there is no such socket, and then no report.
 *
 * For the main thread; the process's functions do not block. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXIT_REPORT_MAX_BYTES 512 /* of a message; a longer one is cut */

/* In the process of the mount. A descriptor, or -errno: then there is no report. */
int exit_report_offer(void);
/* Tells all that have connected, and closes the descriptor, which may be negative. message: a
 * sentence for the user; "": none. */
void exit_report_tell(int offer, int exit_code, const char *message);

/* In `unmount`: a descriptor, or -errno: the process offers no report. */
int exit_report_await(pid_t process);
/* Waits for the report, within limit_ms, and closes the descriptor. ret_message has room for
 * EXIT_REPORT_MAX_BYTES, and is a string. The exit code, or -errno: the process has ended without a
 * report, or has not reported in time. */
int exit_report_read(int report, int64_t limit_ms, char *ret_message);

#endif
