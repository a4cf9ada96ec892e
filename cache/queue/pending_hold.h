/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_HOLD_H
#define CACHE_QUEUE_PENDING_HOLD_H
/* Holds: queued deletes that are sent later than others, because the rmdir of their table may come,
 * which drops the table in their place. They are acknowledged, and readers see them as made, like
 * every queued change (queued_change.is_held).
 *
 * A table has one hold. It begins with its first held delete, and it has an end:
 *
 *   DELETE_POLICY_REST_MS after the last held delete, but at the latest PENDING_HOLD_MAX_MS after
 *     its begin; or by pending_end_hold
 *   when the room is 7/8 full (pending_may_hold). Then no delete of the table is held until nothing
 *     of it is queued, or its rmdir comes
 *
 * Then what it has held is sent as every other change that is so old. That is behind what a caller
 * waits for: there may be a hundred thousand batches. A thread in pending_take ends the hold. There
 * are at most PENDING_HOLDS_MAX; beyond that, and without memory, a delete is queued as not held.
 *
 * During the rmdir of the table, what it has held and what is left of that is held again
 * (pending_hold_again): the rmdir compares it with the rows, and perhaps drops the table.
 *
 * HELD IS A PROPERTY OF A PARTITION OF THE QUEUE: all changes that wait there are held.
 *
 *   a held delete comes into a partition      the partition is held
 *     that has nothing queued
 *   ... into a held partition                 it joins
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
 *   pending is closed                                 all
 *
 * The rest stays held. A full batch alone is not sent.
 *
 * ROOM. Held changes do not wait for PENDING_PARTITION_MAX and PENDING_PARTITIONS_MAX. Nor does any
 * change in a partition that is held, or has been since it was empty: the thousands of changes in
 * it would make its caller wait for longer than a directory may be locked. There only max_bytes
 * counts, of which each batch that ends gives a part back.
 *
 * Threads and ownership: as in pending.h. */
#include "cache/queue/pending_queue.h"
#include "cache/who/delete_policy.h"

#define PENDING_HOLDS_MAX   64
#define PENDING_HOLD_MAX_MS INT64_C(60000)

/* Has the table a hold? While there is none at all, without the lock. */
bool pending_has_hold(struct pending *pending, const char *table);
/* How many changes are queued in the range, up to `max`, if the first of them is a held delete of
 * the process; else 0. While there is no hold, without the lock. */
size_t pending_holds(struct pending *pending, uint64_t process, const char *table,
                     struct range range, size_t max);
/* May deletes of the table be held? Not while other tables have PENDING_HOLDS_MAX holds, and not
 * while 7/8 of max_bytes are used: the rest is for changes that are not held, and for texts that
 * are being written (pending_room.h). ret_has_ended: the table's hold has just ended for that
 * reason. */
bool pending_may_hold(struct pending *pending, const char *table, bool *ret_has_ended);
/* What is queued in the partitions that have been held is held again until then, or until
 * pending_end_hold. What is sent goes on. */
void pending_hold_again(struct pending *pending, const char *table, int64_t end_ms);
void pending_end_hold(struct pending *pending, const char *table);

#endif
