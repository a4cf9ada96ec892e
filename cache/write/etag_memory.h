/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WRITE_ETAG_MEMORY_H
#define CACHE_WRITE_ETAG_MEMORY_H
/* A bounded memory of versions: for each entity one ETag. The entity that was not used for longest
 * is forgotten first. An ETag counts until a time, in monotonic milliseconds. No lock: its owner's
 * lock guards it. Addresses and ETags are copied. */
#include "cache/address.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

struct remembered; /* an entity and its ETag */
RB_HEAD(remembered_tree, remembered);
TAILQ_HEAD(remembered_list, remembered);

struct etag_memory { /* in its owner's memory; private */
    struct remembered_tree by_address;
    struct remembered_list by_use; /* the last used first */
    size_t count, max_count;
    size_t bytes, max_bytes;
};

void etag_memory_init(struct etag_memory *memory, size_t max_count, size_t max_bytes);
void etag_memory_finish(struct etag_memory *memory); /* forgets all */
/* Replaces what was noted of the entity. Without memory nothing is noted of it. */
void etag_memory_note(struct etag_memory *memory, struct address address, struct bytes etag,
                      int64_t until_ms);
/* A view that is valid until the next call; empty: nothing is noted that still counts. The entity
 * counts as used. */
struct bytes etag_memory_find(struct etag_memory *memory, struct address address, int64_t now_ms);
void etag_memory_forget(struct etag_memory *memory, struct address address);

#endif
