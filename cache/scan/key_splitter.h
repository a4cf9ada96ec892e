#ifndef CACHE_SCAN_KEY_SPLITTER_H
#define CACHE_SCAN_KEY_SPLITTER_H
/* Cuts the open gaps of a partition_map, so that idle slots have something to ask: where keys are
 * likely to be, never finer than the pages that are likely to be there, and the less the more of
 * what was guessed before turned out to be empty. Pure, one thread. */
#include "cache/scan/ladder.h"
#include "cache/scan/partition_map.h"
#include "cache/scan/speculation.h"

struct key_splitter {
    struct key_model *model;
    size_t good, empties; /* answers with rows; guesses that found none */
};

int key_splitter_init(struct key_splitter *splitter);
void key_splitter_finish(struct key_splitter *splitter);

/* Before the map is told: the page is the answer to this gap. */
int key_splitter_learn(struct key_splitter *splitter, const struct known *item,
                       const struct page *page);

/* Cuts open gaps until there are `idle` of them, if it is worth it. `children`: a prefix, and what
 * may stand behind it is sought; NULL: partitions are. */
int key_splitter_fill(struct key_splitter *splitter, struct partition_map *map, size_t idle,
                      const struct bytes *children);

/* How many more guesses may be made now, at most `idle`. */
size_t key_splitter_credit(const struct key_splitter *splitter, const struct partition_map *map,
                           size_t idle);
/* Cuts one open gap without a token, `cuts` times at most: behind what starts with `key`, with
 * `key` less a character, and so on down to its first `common` bytes, to learn what all keys share.
 */
int key_splitter_cut_as_ladder(struct partition_map *map, struct known *item, struct bytes key,
                               size_t common, size_t cuts);

#endif
