/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_ROOM_H
#define CACHE_QUEUE_PENDING_ROOM_H
/* Room for texts that are not queued yet: those of files that are open for writing. They take it
 * from the same max_bytes as what is queued (pending_queue.h). Both together take max_bytes, or 9/8
 * of it where the texts alone take more than 7/8.
 *
 *   a text gets longer   it waits while the queue is over its room, as a change does: what is
 *                        queued is due then. While it waits it counts already, so that changes
 *                        which come later do not take its room
 *   a change is queued   its room is what the texts leave of max_bytes, and at least an eighth:
 *                        deletes never wait until a file is closed. A text does not wait for that
 *                        eighth, which a long `rm -r` fills again and again
 *   a delete is held     only while both are below 7/8 (pending_may_hold)
 *
 * A text waits for what is queued, and never for another text: where the texts alone are over
 * max_bytes, it is refused. A single text has room for any length, as an empty queue has for any
 * change. At the end of a file its room is given back; the change that it has queued has its own by
 * then.
 *
 * Threads and ownership: as in pending.h. Sizes in bytes. */
#include "cache/queue/pending.h"

/* A text that has `own` bytes of room already gets `more`. 0; -ENOSPC: the texts fill it; -EINTR,
 * -ETIMEDOUT: no room in time; or why the service does not answer. */
int pending_reserve(struct pending *pending, size_t own, size_t more, struct call *call);
/* A text that has `before` bytes of room needs `after` instead: less, or what it cannot do without.
 * Never waits. */
void pending_set_reserved(struct pending *pending, size_t before, size_t after);

#endif
