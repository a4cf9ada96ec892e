/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_PROCESS_ID_H
#define FS_BASE_PROCESS_ID_H
/* Finds the process that sent a FUSE request. FUSE reports the id of a thread; the process is the
 * thread's group. It is read from /proc/ID/status and stat, and cached for 1 s for each thread,
 * because reading takes about 20 us. Of the other files in /proc/ID only comm is read: reading any
 * other one may block until a page fault of the calling process is served, and that can be a fault
 * on this mount.
 *
 * Any thread; one leaf mutex, which is not held while reading. */
#include "client/base/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_COMMAND_SIZE 16 /* the kernel's limit, with the NUL */
#define PROCESS_GROUP_BITS   22 /* a process id fits: the kernel's limit */

struct process {
    /* Identifies the process until the next boot, although process ids are reused. The low
     * PROCESS_GROUP_BITS are the id of the thread group, the others its start time in clock ticks
     * since boot. 0: unknown, because the thread has ended or is_unseen is set. */
    uint64_t number;
    /* The process has not ended, but is unknown: its id is 0 (the kernel's value for a caller of
     * another pid namespace, and for RELEASE), or /proc does not show it. */
    bool is_unseen;
    char command[PROCESS_COMMAND_SIZE]; /* its name; "" if number is 0 */
};

struct process_ids;
int process_ids_create(const struct clock *clock, struct process_ids **ret);
void process_ids_destroy(struct process_ids *ids); /* takes NULL */
/* Fills *ret in any case; its number is 0 if the process is unknown. Returns 0; or -EMFILE, -ENFILE
 * or -ENOMEM: /proc could not be read, so it is not known whether /proc shows the caller. */
int process_ids_find(struct process_ids *ids, pid_t thread, struct process *ret);
/* The same for the caller of FLUSH. It may be in an execve, which closes descriptors. Then the
 * kernel blocks each read of its `stat` until the FLUSH is answered (measured with 6.18: such a
 * read cannot be interrupted). So `stat` is not read for a thread that is not cached. Instead the
 * number becomes `opener` if that has the thread's group, else one without a start time, which no
 * other function returns.
 */
int process_ids_find_flusher(struct process_ids *ids, pid_t thread, uint64_t opener,
                             struct process *ret);

/* PROCESS_ENDS: for the thread a signal is pending that usually ends a process (SIGKILL, SIGINT,
 * SIGTERM, SIGHUP or SIGQUIT), even if the process handles it; or the thread has ended. Reads
 * /proc. */
enum process_end { PROCESS_GOES_ON, PROCESS_ENDS, PROCESS_UNSEEN };
enum process_end process_end_of(pid_t thread);

/* The number of this process's PID namespace; a process id is valid only in its own namespace. 0:
 * unknown, because there is no /proc. */
uint64_t process_namespace(void);

#endif
