/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_PROCESS_ID_H
#define FS_BASE_PROCESS_ID_H
/* Finds the process that sent a FUSE request. FUSE reports the id of a thread; the process is its
 * thread group. This is read from /proc/ID/status and stat, and kept for 1 s for each thread,
 * because reading takes about 20 us. Other files in /proc/ID are not read, but for comm: reading
 * them may block until a page fault of the calling process is served, and that can be a fault on
 * this mount.
 *
 * Any thread; one leaf mutex, which is not held while reading. */
#include "client/base/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_COMMAND_SIZE 16 /* the kernel's limit, with the NUL */
#define PROCESS_GROUP_BITS   22 /* a process id fits: the kernel's limit */

struct process {
    /* Identifies the process until the next boot, although process ids are used again. The low
     * PROCESS_GROUP_BITS are the id of the thread group, the others its start time in clock ticks
     * since boot. 0: not known, because the thread has ended or it cannot be seen. */
    uint64_t number;
    /* It has not ended, but nothing is known about it: its id is 0 (the kernel's value for a caller
     * of another pid namespace, and for RELEASE), or /proc does not show it. */
    bool is_unseen;
    char command[PROCESS_COMMAND_SIZE]; /* its name; "" if number is 0 */
};

struct process_ids;
int process_ids_create(const struct clock *clock, struct process_ids **ret);
void process_ids_destroy(struct process_ids *ids); /* takes NULL */
/* Fills *ret in any case; number 0: not known. 0; or -EMFILE, -ENFILE or -ENOMEM: /proc could not
 * be read, so that it is not known whether the caller can be seen. */
int process_ids_find(struct process_ids *ids, pid_t thread, struct process *ret);
/* The same for the caller of FLUSH. It may be in an execve, which closes descriptors, and then the
 * kernel holds back each read of its `stat` until the FLUSH is answered (measured with 6.18: such a
 * read cannot be interrupted). So of a thread that is not known yet `stat` is not read: `opener` if
 * its group is the thread's, else a number without a start time, which no other function answers.
 */
int process_ids_find_flusher(struct process_ids *ids, pid_t thread, uint64_t opener,
                             struct process *ret);

/* Is a signal pending for the thread that usually ends a process: SIGKILL, SIGINT, SIGTERM, SIGHUP
 * or SIGQUIT? A signal counts even if the process handles it. A thread that is gone has ended.
 * Reads /proc. */
enum process_end { PROCESS_GOES_ON, PROCESS_ENDS, PROCESS_UNSEEN };
enum process_end process_end_of(pid_t thread);

/* The number of this process's PID namespace; a process id means something only in its own. 0: not
 * known, because there is no /proc. */
uint64_t process_namespace(void);

#endif
