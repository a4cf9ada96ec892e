/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_FAILED_LOOKUPS_H
#define FS_TREE_FAILED_LOOKUPS_H
/* Lookups that failed. When the kernel has a node for a name and the LOOKUP of that name fails, the
 * kernel repeats the LOOKUP once. Then the caller would wait twice as long as the timeout, and the
 * service would get the same failing request twice. So the repeated LOOKUP gets the failure of the
 * first one at once.
 *
 * A thread has the slot of its id modulo FAILED_LOOKUPS_SLOTS. Two threads may share a slot: then
 * one of them waits a second time. A caller of another pid namespace (thread id 0) has no slot.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "client/base/bytes.h"
#include "client/store/call.h"

#include <sys/types.h>

#define FAILED_LOOKUPS_SLOTS 1024
/* The repeated LOOKUP follows at once, but on a busy machine the thread may not run for seconds. If
 * the kernel does not repeat the LOOKUP, because it has the node only for an open file, the
 * thread's next LOOKUP of the name within this time gets the old failure. */
#define FAILED_LOOKUPS_KEPT_MS 10000

struct failed_lookups;
int failed_lookups_create(struct failed_lookups **ret);
void failed_lookups_destroy(struct failed_lookups *failed); /* takes NULL */

/* The thread's LOOKUP of `name` in the node `parent` failed. */
void failed_lookups_put(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                        struct bytes name, const struct failure *failure, int64_t now_ms);
/* Is this LOOKUP the repetition of the thread's last one, which failed? Then ret is its failure. In
 * any case the record is removed. */
bool failed_lookups_take(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                         struct bytes name, int64_t now_ms, struct failure *ret);

DEFINE_CLEANUP(struct failed_lookups *, failed_lookups_destroy);

#endif
