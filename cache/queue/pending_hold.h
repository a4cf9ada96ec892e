/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_HOLD_H
#define CACHE_QUEUE_PENDING_HOLD_H
/* Holds: queued deletes that are sent later than others, because an rmdir of their table may
 * follow, and one Delete Table then replaces them all, as in `rm -r TABLE`. They are acknowledged,
 * and readers see them as made, like every queued change (queued_change.is_held).
 *
 * A table has at most one hold. It begins with the first held delete of the table, and ends
 *
 *   - DELETE_POLICY_REST_MS after the last held delete, and PENDING_HOLD_MAX_MS after its start at
 *     the latest; a thread in pending_take ends it then
 *   - by pending_end_hold
 *   - when 7/8 of the room is used (pending_may_hold). Then no delete of the table is held until
 *     the table has no queued change, or its rmdir begins
 *
 * After the end its deletes are due PENDING_REST_MS after they were queued, as other changes are.
 * But changes that a caller waits for are sent first, because these deletes may be a hundred
 * thousand batches. There are PENDING_HOLDS_MAX holds at most. If another one is needed, or memory
 * is short, a delete is queued as not held.
 *
 * When the rmdir of the table begins, all its deletes that are held, or were held and are not sent
 * yet, are held until the rmdir ends (pending_hold_again): it compares them with the rows, and
 * perhaps drops the table.
 *
 * HELD IS A PROPERTY OF A PARTITION OF THE QUEUE: all changes that wait in it are held, or none is.
 *
 *   what is queued            in a partition that is         then
 *   a delete to be held       empty                          the partition is held
 *   a delete to be held       held                           the delete is held, too
 *   a delete to be held       neither                        the delete is not held
 *   another change            held                           the partition is held no longer: each
 *                                                            of its changes is due PENDING_REST_MS
 *                                                            after it was queued
 *
 * From a held partition only these changes are sent; the rest stays held, even if it fills a batch:
 *
 *   a caller claims the position of a change              that change
 *   a drain covers at most PENDING_BATCH_MAX changes      these changes
 *   a drain covers more                                   all that were queued before the drain
 *   the queue has no room for the bytes of a change       all that were queued before that change
 *   pending is closed                                     all
 *
 * ROOM. From its first held change until it is empty, only max_bytes limits a partition.
 * PENDING_PARTITION_MAX and PENDING_PARTITIONS_MAX do not apply: to get below them, a caller would
 * wait for thousands of deletes, which is longer than the kernel may lock a directory. But each
 * batch that ends frees some of max_bytes.
 *
 * Threads and ownership: as in pending.h. */
#include "cache/queue/pending_queue.h"
#include "cache/who/delete_policy.h"

#define PENDING_HOLDS_MAX   64
#define PENDING_HOLD_MAX_MS INT64_C(60000)

/* Does the table have a hold? Takes no lock while there is no hold at all. */
bool pending_has_hold(struct pending *pending, const char *table);
/* If the first queued change of the range is a held delete of this process: how many changes are
 * queued in the range, counted up to `max`. Else 0. Takes no lock while there is no hold at all. */
size_t pending_holds(struct pending *pending, uint64_t process, const char *table,
                     struct range range, size_t max);
/* May deletes of the table be held? No while other tables have PENDING_HOLDS_MAX holds, and no
 * while 7/8 of max_bytes are used: the rest is for changes that are not held, and for texts that
 * are being written (pending_room.h). ret_has_ended: this call has ended the table's hold because
 * of the 7/8. */
bool pending_may_hold(struct pending *pending, const char *table, bool *ret_has_ended);
/* Holds again, until end_ms or pending_end_hold, what waits in the table's partitions that were
 * held before. Batches that are being sent are not stopped. */
void pending_hold_again(struct pending *pending, const char *table, int64_t end_ms);
void pending_end_hold(struct pending *pending, const char *table);

#endif
