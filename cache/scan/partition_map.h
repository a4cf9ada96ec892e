/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_PARTITION_MAP_H
#define CACHE_SCAN_PARTITION_MAP_H
/* Partition map: the partition keys found in a range, and the gaps between them that are not known
 * yet, all in key order. A gap is requested; the answer replaces it by keys, and by gaps for what
 * it does not cover. Pure; one thread.
 *
 * Example: the gap ["", "\xff") is requested. The page has rows of "a", "b" and "c", and ends
 * inside "c". Then the map is: a, b, c, gap ["c\1", "\xff"). The rest of partition "c" need not be
 * read: its key is known, and the gap begins after the whole partition. Gaps do not overlap, so no
 * key is found twice, even if rows change meanwhile. */
#include "cache/scan/scan.h"

#include <sys/queue.h>

/* state      id   counted in      meaning
 * OPEN       0    map.open        to be requested
 * REQUESTED  > 0  map.in_flight   its request is in flight
 * NEEDLESS   > 0  map.in_flight   its request is in flight, but its answer is no longer needed */
enum gap_state { GAP_OPEN, GAP_REQUESTED, GAP_NEEDLESS };

struct gap {
    enum gap_state state;
    struct buffer lo, hi;     /* partition borders; while REQUESTED, the bounds of the request */
    struct buffer begin, end; /* the first and last key of the last page before it, to estimate how
                                 dense keys are; empty: unknown */
    uint64_t id;              /* of the request in flight; 0: none */
    bool is_guess;            /* its start was made by a split: it may have no key */
};

struct known {                   /* a partition key or a gap */
    TAILQ_ENTRY(known) link;     /* of partition_map.list */
    TAILQ_ENTRY(known) gap_link; /* of partition_map.gaps */
    struct gap *gap;             /* NULL: a partition */
    bool is_shared;              /* in scan_level: a prefix, which stands for all its keys */
    struct bytes key;
    char key_data[];
};

TAILQ_HEAD(known_list, known);

struct partition_map {
    struct known_list list, gaps;       /* in key order */
    size_t partitions, open, in_flight; /* number of keys, of OPEN gaps, of other gaps */
    uint64_t last_id;
};

/* Begins with one gap, the whole range. Call finish also after a failure. */
int partition_map_init(struct partition_map *map, struct range range);
void partition_map_finish(struct partition_map *map);

struct range gap_range(const struct gap *gap);
struct bytes border_key(struct bytes border); /* without POSITION_AFTER */
struct known *partition_map_first_open(const struct partition_map *map); /* NULL: none */
struct known *partition_map_next_open(const struct known *item);
struct known *partition_map_find(const struct partition_map *map, uint64_t id); /* NULL: none */

/* Cuts an open gap into two at `at`, which lies inside. The second one is a guess. */
int partition_map_split(struct partition_map *map, struct known *item, struct bytes at);
void partition_map_request(struct partition_map *map, struct known *item, struct scan_request *ret);
void partition_map_give_back(struct partition_map *map, struct known *item);
/* Replaces a REQUESTED gap by the keys of the page, which is its answer. What the page does not
 * cover of the gap stays as an OPEN gap. The page covers the gap's begin, and may cover more than
 * the gap. On -ENOMEM the gap is OPEN, and nothing else has changed. */
int partition_map_add_answer(struct partition_map *map, struct known *item,
                             const struct page *page);
/* Removes a partition or an OPEN gap. */
void partition_map_remove(struct partition_map *map, struct known *item);
/* The keys in `range` are not needed. If `range` overlaps the start or end of an OPEN gap, the gap
 * becomes shorter. If it holds the whole gap, an OPEN gap is removed, and a REQUESTED gap is
 * NEEDLESS. True: the gap was removed. */
bool partition_map_cut(struct partition_map *map, struct known *item, struct range range);

#endif
