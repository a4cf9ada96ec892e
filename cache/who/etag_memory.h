/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_ETAG_MEMORY_H
#define CACHE_WHO_ETAG_MEMORY_H
/* A bounded memory of versions: for each entity one ETag, which may be learned later. The entity
 * that was not used for longest is forgotten first. An ETag counts until a time, in monotonic
 * milliseconds. No lock: its owner's lock guards it. Addresses and ETags are copied. */
#include "cache/address.h"
#include "client/store/later_etag.h"

struct etag_memory { /* in its owner's memory; private but for the counts of `map` */
    struct map map;  /* of addresses */
    size_t max_count, max_bytes;
};

void etag_memory_init(struct etag_memory *memory, size_t max_count, size_t max_bytes);
void etag_memory_finish(struct etag_memory *memory); /* forgets all */
/* Replaces what was noted of the entity. Without memory nothing is noted of it. */
void etag_memory_note(struct etag_memory *memory, struct address address, struct bytes etag,
                      int64_t until_ms);
/* The same of a queued text. */
void etag_memory_note_later(struct etag_memory *memory, struct address address,
                            struct later_etag *later, int64_t until_ms);
/* A view that is valid until the next call; empty: nothing is noted that still counts, or its ETag
 * is not known. The entity counts as used. */
struct bytes etag_memory_find(struct etag_memory *memory, struct address address, int64_t now_ms);
/* What learns the ETag, of a queued text. NULL: something else is noted, or nothing that counts. A
 * view, as above. */
struct later_etag *etag_memory_find_later(struct etag_memory *memory, struct address address,
                                          int64_t now_ms);
void etag_memory_forget(struct etag_memory *memory, struct address address);

#endif
