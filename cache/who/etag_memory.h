/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_ETAG_MEMORY_H
#define CACHE_WHO_ETAG_MEMORY_H
/* A bounded map from entities to ETags; that of a queued text is learned when the text is stored.
 * The least recently used entity is evicted first. Each ETag expires at a given time, in monotonic
 * milliseconds. No lock: its owner's lock guards it. Addresses and ETags are copied. */
#include "cache/address.h"
#include "client/store/later_etag.h"

struct etag_memory { /* embedded, or on the stack; private, except the counts of `map` */
    struct map map;  /* of addresses */
    size_t max_count, max_bytes;
};

void etag_memory_init(struct etag_memory *memory, size_t max_count, size_t max_bytes);
void etag_memory_finish(struct etag_memory *memory);
/* Sets the entity's ETag. If there is no memory, the entity has none afterwards. */
void etag_memory_note(struct etag_memory *memory, struct address address, struct bytes etag,
                      int64_t until_ms);
/* The same for a queued text. */
void etag_memory_note_later(struct etag_memory *memory, struct address address,
                            struct later_etag *later, int64_t until_ms);
/* The entity's ETag, a view that is valid until the next call; empty: there is none, it has
 * expired, or it is not learned yet. The entity counts as used. */
struct bytes etag_memory_find(struct etag_memory *memory, struct address address, int64_t now_ms);
/* If the entity has a queued text: what learns its ETag, a view as above. NULL: it has a known
 * ETag, or none that is still valid. */
struct later_etag *etag_memory_find_later(struct etag_memory *memory, struct address address,
                                          int64_t now_ms);
void etag_memory_forget(struct etag_memory *memory, struct address address);

#endif
