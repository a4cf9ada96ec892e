/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_GROUPS_H
#define CACHE_BULK_GROUPS_H
/* The changes that an import has read and not sent yet, grouped into batches: entity group
 * transactions, each of one partition and with no row twice. Pure; one thread.
 *
 * A partition has a queue of groups. A change is added to the last group, or to a new one
 *
 *   - if the last group is full, in rows or bytes
 *   - if the last group has a change of the same row: so the later of the two is made last.
 *     Exception: of two WRITE_UPSERT_REPLACE of one row only the later one is sent. If the service
 *     refuses it, the earlier one is lost, too
 *
 * The groups of a partition are sent in their order, one at a time: the next one after groups_end.
 * A group that can get no more rows is ready, and taken at once. If there is no room for another
 * change, the largest group is taken whose partition has no batch under way. So input
 * that is sorted by partition needs one batch for 100 rows, and input in another order as few as
 * the room allows. Example: rows of 1,000 bytes in random order over 20,000 partitions are sent
 * four to a batch. */
#include "client/store/table_store.h"

#define GROUPS_BATCH_MAX 100
/* The bound of what waits in an import, with the memory around it. With 32 MiB a batch has 3.5 rows
 * in the example above. */
#define GROUPS_BYTES ((size_t)40 << 20)

struct groups;
struct groups_limits {
    size_t batch_rows, batch_bytes; /* of one batch; rows: 1 to GROUPS_BATCH_MAX */
    size_t max_bytes;               /* of memory, for changes that wait */
    size_t max_out_bytes;           /* of memory, for changes that are being sent */
};
int groups_create(const struct groups_limits *limits, struct groups **ret); /* 0 or -ENOMEM */
void groups_destroy(struct groups *groups); /* takes NULL; no batch may be under way */

struct grouped { /* a change; views of memory that the groups own */
    struct write write;
    uint64_t line;    /* of the input */
    uint64_t objects; /* how many objects of the input it stands for: itself, and those whose place
                         it has taken */
};
/* Copies the change. request_bytes: its size in a batch. -EAGAIN: there is no room for it; take
 * batches, or end some, and add it again. -ENOMEM. A change that is larger than max_bytes is
 * accepted if nothing else waits. */
int groups_add(struct groups *groups, const struct write *write, size_t request_bytes,
               uint64_t line);

struct groups_batch {
    void *partition;                                 /* private */
    size_t n, bytes;                                 /* bytes: of memory */
    const struct grouped *changes[GROUPS_BATCH_MAX]; /* ascending by position */
};
/* Takes a ready group; if none is ready and takes_any is set, the largest one. False: there is
 * none, or max_out_bytes is reached. The batch stays valid until groups_end. */
bool groups_take(struct groups *groups, bool takes_any, struct groups_batch *ret);
void groups_end(struct groups *groups, struct groups_batch *batch);

size_t groups_waiting(const struct groups *groups); /* changes */

DEFINE_CLEANUP(struct groups *, groups_destroy);

#endif
