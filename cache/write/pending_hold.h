/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WRITE_PENDING_HOLD_H
#define CACHE_WRITE_PENDING_HOLD_H
/* Holds: queued changes that are not sent for the time being. While a process seems to delete a
 * whole table, its deletes are queued as held (queued_change.is_held). They are acknowledged, and
 * readers see them as made, like every queued change. If the table is dropped after all, they need
 * no request.
 *
 * A hold belongs to a process and a table. It begins with the first held change. A process has one
 * hold at most: a held change in another table ends the older one. There are at most
 * PENDING_HOLDS_MAX; beyond that, and without memory, a change is queued as not held. A hold ends
 *
 *   with pending_end_hold, or pending_close
 *   PENDING_REST_MS after the last held change, or later, as soon as the process does not go on
 *     (pending_ask_holder)
 *   PENDING_HOLD_MAX_MS after the last held change, although the process goes on
 *
 * When a hold ends, everything that it holds is due, behind what a caller waits for: there may be a
 * hundred thousand batches. A thread in pending_take ends the hold: while there is a hold, it looks
 * every PENDING_LOOK_MS. So an operation of the process wakes no thread, and takes no lock of the
 * queue.
 *
 * HELD IS A PROPERTY OF A PARTITION OF THE QUEUE: all changes that wait there belong to its hold.
 *
 *   a held change comes into a partition      the partition is held
 *     that has nothing queued
 *   ... into a partition of its own hold      it joins
 *   ... into any other partition              it is queued as not held
 *   a change that is not held comes into      the partition is not held any more: what waits
 *     a held partition                        there is due PENDING_REST_MS after its queueing
 *
 * Of a held partition only this is sent:
 *
 *   the change of a position that a caller claims     that change alone
 *   what a drain covers: at most PENDING_BATCH_MAX    these alone
 *   ... more than that                                all that was queued before the drain
 *   the queue has no room for a change's bytes        all that was queued before
 *
 * The rest stays held. A full batch alone is not sent.
 *
 * ROOM. Held changes do not wait for PENDING_PARTITION_MAX and PENDING_PARTITIONS_MAX. Nor does any
 * change in a partition that is held, or has been since it was empty: the thousands of changes in
 * it would make its caller wait for longer than a directory may be locked. There only max_bytes
 * counts, of which each batch that ends gives a part back.
 *
 * Threads and ownership: as in pending.h. */
#include "cache/write/pending_queue.h"

#define PENDING_HOLDS_MAX   64
#define PENDING_HOLD_MAX_MS INT64_C(60000)
#define PENDING_LOOK_MS     250

/* Is there a hold? Without the lock. */
bool pending_has_holds(const struct pending *pending);
/* Has the process a hold in the table? While there is no hold, without the lock. */
bool pending_holds(struct pending *pending, uint64_t process, const char *table);
/* Is less than 7/8 of max_bytes used? The rest is for changes that are not held, and for texts that
 * are being written (pending_room.h). */
bool pending_has_room_to_hold(struct pending *pending);
/* Does the process go on with what its changes are held for? Called inside the monitor: it takes no
 * lock but a leaf. */
typedef bool pending_goes_on(void *context, uint64_t process, int64_t now_ms);
/* Before anything is queued. Without it no process goes on. */
void pending_ask_holder(struct pending *pending, pending_goes_on *goes_on, void *context);
/* What the process holds in the table is due now; table NULL: in whichever. No hold: nothing
 * happens. */
void pending_end_hold(struct pending *pending, uint64_t process, const char *table);

#endif
