#ifndef FS_PROCESS_ID_H
#define FS_PROCESS_ID_H
/* Who a FUSE request is from. FUSE gives a thread's id; the process is its thread group. Read from
 * /proc (status and stat alone: other files there may wait for the caller's own page fault), some
 * 20 us, kept a second a thread. Any thread; one leaf mutex, not held while reading. */
#include "client/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_COMMAND_SIZE 16 /* the kernel's limit, with the NUL */
#define PROCESS_GROUP_BITS   22 /* the kernel's limit of ids */

struct process {
    /* No other process has it until the next boot: when it was started (in clock ticks since then)
     * above PROCESS_GROUP_BITS, the thread group's id in them. 0: thread 0 (another pid namespace),
     * or one that is gone. */
    uint64_t number;
    char command[PROCESS_COMMAND_SIZE]; /* its name; "" with number 0 */
};

struct process_ids;
int process_ids_create(const struct clock *clock, struct process_ids **ret);
void process_ids_destroy(struct process_ids *ids); /* takes NULL */
void process_ids_find(struct process_ids *ids, pid_t thread, struct process *ret);

/* Does a signal wait for the thread by which a person or a service manager ends it: SIGKILL,
 * SIGINT, SIGTERM, SIGHUP or SIGQUIT, even if it is caught? True for thread 0 and for one that is
 * gone: nobody can be asked. Reads /proc. */
bool process_is_being_ended(pid_t thread);

#endif
