/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_KEY_SPLITTER_H
#define CACHE_SCAN_KEY_SPLITTER_H
/* Key splitter: cuts the open gaps of a partition map, so that free slots have something to ask.
 * The cuts are where the key model expects keys, and not closer than two pages of keys. While many
 * guesses find no key, one guess at a time is made. Pure; one thread. */
#include "cache/scan/ladder.h"
#include "cache/scan/partition_map.h"
#include "cache/scan/speculation.h"

struct key_splitter {
    struct key_model *model;
    size_t good, empties; /* answers with rows; guesses that found none */
};

int key_splitter_init(struct key_splitter *splitter);
void key_splitter_finish(struct key_splitter *splitter);

/* The page is the answer to this gap. To be called before partition_map_add_answer. */
int key_splitter_learn(struct key_splitter *splitter, const struct known *item,
                       const struct page *page);

/* Cuts open gaps until there are `idle` of them, where that is worth a request. `children`: the
 * prefix whose next characters are sought; NULL: all partitions are sought. */
int key_splitter_fill(struct key_splitter *splitter, struct partition_map *map, size_t idle,
                      const struct bytes *children);

/* How many more guesses may be made now; at most `idle`. */
size_t key_splitter_credit(const struct key_splitter *splitter, const struct partition_map *map,
                           size_t idle);
/* Cuts one open gap at the rungs of a ladder, `cuts` times at most. */
int key_splitter_cut_as_ladder(struct partition_map *map, struct known *item, struct bytes key,
                               size_t common, size_t cuts);

#endif
