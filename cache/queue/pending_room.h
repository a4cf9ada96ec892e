/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_ROOM_H
#define CACHE_QUEUE_PENDING_ROOM_H
/* Reserves memory for texts that are not queued yet: those of files that are open for writing. They
 * share max_bytes with the queued changes (pending_queue.h). Texts and queue together take at most
 * max_bytes; or at most 9/8 of it while the texts alone take more than 7/8, because the queue may
 * always use 1/8.
 *
 *   a text gets longer   the write waits until texts and queue fit into max_bytes. Meanwhile the
 *                        queued changes become due. The new bytes count from the start of the wait,
 *                        so that later changes do not take them
 *   a change is queued   the queue may use what the texts leave of max_bytes, and at least 1/8 of
 *                        it. So a delete never waits until a file is closed. A text does not wait
 *                        until less than 1/8 is queued: a long `rm -r` fills it again and again
 *   a delete is held     only while both together are below 7/8 (pending_may_hold)
 *
 * A text waits for queued changes, and never for another text: if the texts alone would exceed
 * max_bytes, it is refused. If it is the only text, it may have any length, as an empty queue takes
 * any change. When a file is closed, its room is given back; if its text was queued, the queued
 * change has room of its own by then.
 *
 * Threads and ownership: as in pending.h. Sizes in bytes. */
#include "cache/queue/pending.h"

/* A text that has `own` bytes of room gets `more`. 0; -ENOSPC: the texts alone fill max_bytes;
 * -EINTR, -ETIMEDOUT: no room in time; or why the service does not answer. */
int pending_reserve(struct pending *pending, size_t own, size_t more, struct call *call);
/* The room of a text changes from `before` to `after` bytes. Never waits and never refuses, also if
 * `after` is greater. */
void pending_set_reserved(struct pending *pending, size_t before, size_t after);

#endif
