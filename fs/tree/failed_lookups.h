/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_FAILED_LOOKUPS_H
#define FS_TREE_FAILED_LOOKUPS_H
/* Lookups that failed. When the kernel has a node for a name and its LOOKUP fails, the kernel sends
 * the LOOKUP a second time. The caller would wait twice as long as the patience allows, and the
 * service would be asked twice for what it refuses. So the repetition is answered with the failure
 * of the first LOOKUP at once.
 *
 * A thread has the slot of its id modulo FAILED_LOOKUPS_SLOTS. Two threads may share a slot: then
 * one of them waits a second time. A caller of another pid namespace (thread id 0) has no slot.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "client/base/bytes.h"
#include "client/store/call.h"

#include <sys/types.h>

#define FAILED_LOOKUPS_SLOTS 1024
/* The repetition follows at once, but on a busy machine the thread may not run for seconds. Where
 * the kernel repeats nothing, because it has the node by an open file alone, a later attempt of the
 * thread gets this failure once more. */
#define FAILED_LOOKUPS_KEPT_MS 10000

struct failed_lookups;
int failed_lookups_create(struct failed_lookups **ret);
void failed_lookups_destroy(struct failed_lookups *failed); /* takes NULL */

/* The thread's LOOKUP of `name` in the node `parent` failed. */
void failed_lookups_put(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                        struct bytes name, const struct failure *failure, int64_t now_ms);
/* Is the LOOKUP the repetition of the thread's last one, which failed? Then ret is its failure. In
 * any case the failure is forgotten. */
bool failed_lookups_take(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                         struct bytes name, int64_t now_ms, struct failure *ret);

DEFINE_CLEANUP(struct failed_lookups *, failed_lookups_destroy);

#endif
