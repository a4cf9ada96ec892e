/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_GROUPS_H
#define CACHE_BULK_GROUPS_H
/* What an import has read and not sent yet, grouped into batches: entity group transactions, each
 * of one partition and with no row twice. Pure; one thread.
 *
 * A partition has a queue of groups. A change joins the last one, and begins a new one
 *
 *   - if the last one has its limit of rows or bytes
 *   - if its row is in the last one already, so that the later of two changes of one row is made
 *     last. A WRITE_UPSERT_REPLACE takes the place of another one instead: that one would be
 *     overwritten. It is not sent then, also if the service refuses the later one
 *
 * The groups of a partition are taken in their order, one at a time: the next one after
 * groups_end. A group that can get no more rows is ready, and taken at once. If there is no room
 * for another change, the largest group is taken of those whose partition has nothing out. So input
 * that is sorted by partition needs a batch for 100 rows, and input in any order as few as the room
 * allows. Example: rows of 1,000 bytes in random order over 20,000 partitions go four a batch. */
#include "client/store/table_store.h"

#define GROUPS_BATCH_MAX 100
#define GROUPS_BYTES     ((size_t)40 << 20) /* of what waits in an import; see constants.md */

struct groups;
struct groups_limits {
    size_t batch_rows, batch_bytes; /* of one batch; rows: 1 to GROUPS_BATCH_MAX */
    size_t max_bytes;               /* of memory, for what waits */
    size_t max_out_bytes;           /* of memory, for what is out */
};
int groups_create(const struct groups_limits *limits, struct groups **ret); /* 0 or -ENOMEM */
void groups_destroy(struct groups *groups); /* takes NULL; no batch is out */

struct grouped { /* a change; views of memory that the groups have */
    struct write write;
    uint64_t line;    /* where it stands in the input */
    uint64_t objects; /* of the input that it stands for: those whose place it took, and itself */
};
/* Copies the change. request_bytes: what it takes of a batch's bytes. -EAGAIN: there is no room for
 * it; take batches, or end some, and add it again. -ENOMEM. A change that is larger than the room
 * is taken if nothing waits. */
int groups_add(struct groups *groups, const struct write *write, size_t request_bytes,
               uint64_t line);

struct groups_batch {
    void *partition;                                 /* private */
    size_t n, bytes;                                 /* bytes: of memory */
    const struct grouped *changes[GROUPS_BATCH_MAX]; /* ascending by position */
};
/* Takes a group that is ready; with takes_any the largest one if none is. False: there is none, or
 * no room for what is out. The batch stays valid until groups_end. */
bool groups_take(struct groups *groups, bool takes_any, struct groups_batch *ret);
void groups_end(struct groups *groups, struct groups_batch *batch);

size_t groups_waiting(const struct groups *groups); /* changes */

DEFINE_CLEANUP(struct groups *, groups_destroy);

#endif
