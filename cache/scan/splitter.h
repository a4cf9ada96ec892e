#ifndef CACHE_SCAN_SPLITTER_H
#define CACHE_SCAN_SPLITTER_H
/* Cuts the open gaps of a partition_map, so that idle slots have something to ask: where keys are
 * likely to be, never finer than the pages that are likely to be there, and the less the more of
 * what was guessed before turned out to be empty. Pure, one thread. */
#include "cache/scan/guesses.h"
#include "cache/scan/ladder.h"
#include "cache/scan/partition_map.h"

struct splitter {
    struct key_model *model;
    struct guesses guesses;
};

int splitter_init(struct splitter *splitter);
void splitter_finish(struct splitter *splitter);

/* Before the map is told: the page is the answer to this gap. */
int splitter_learn(struct splitter *splitter, const struct known *item, const struct page *page);

/* Cuts open gaps until there are `idle` of them, if it is worth it. `children`: a prefix, and what
 * may stand behind it is sought; NULL: partitions are. */
int splitter_fill(struct splitter *splitter, struct partition_map *map, size_t idle,
                  const struct bytes *children);

/* How many more guesses may be made now, at most `idle`. */
size_t splitter_credit(const struct splitter *splitter, const struct partition_map *map,
                       size_t idle);
/* Cuts one open gap without a token, `cuts` times at most: behind what starts with `key`, with
 * `key` less a character, and so on down to its first `common` bytes, to learn what all keys share.
 */
int splitter_cut_as_ladder(struct partition_map *map, struct known *item, struct bytes key,
                           size_t common, size_t cuts);

#endif
