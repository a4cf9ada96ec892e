/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_KEY_SPLITTER_H
#define CACHE_SCAN_KEY_SPLITTER_H
/* Key splitter: cuts the open gaps of a partition map, so that more requests can be sent at once.
 * It cuts where the key model expects keys, at distances of at least two pages of keys. While many
 * guesses find no key, it makes one guess at a time. Pure; one thread. */
#include "cache/scan/ladder.h"
#include "cache/scan/partition_map.h"
#include "cache/scan/speculation.h"

struct key_splitter {
    struct key_model *model;
    size_t good, empties; /* number of answers with rows; of guesses that found none */
};

int key_splitter_init(struct key_splitter *splitter);
void key_splitter_finish(struct key_splitter *splitter);

/* Learns from the page, which is the answer to the gap `item`. Call it before
 * partition_map_add_answer. */
int key_splitter_learn(struct key_splitter *splitter, const struct known *item,
                       const struct page *page);

/* Cuts open gaps until there are `idle` open gaps, if the cuts are worth requests. `children`: the
 * prefix whose possible next characters are searched; NULL: all partitions are searched. */
int key_splitter_fill(struct key_splitter *splitter, struct partition_map *map, size_t idle,
                      const struct bytes *children);

/* How many more guesses may be sent now; at most `idle`. */
size_t key_splitter_credit(const struct key_splitter *splitter, const struct partition_map *map,
                           size_t idle);
/* Cuts an open gap at the rungs of a ladder (ladder.h), at most `cuts` times. */
int key_splitter_cut_as_ladder(struct partition_map *map, struct known *item, struct bytes key,
                               size_t common, size_t cuts);

#endif
