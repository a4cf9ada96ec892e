/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_PARTITION_MAP_H
#define CACHE_SCAN_PARTITION_MAP_H
/* Partition map: the partition keys of a range that were found, and the gaps between them that are
 * still unknown, all in key order. A gap is asked for, and the answer replaces it: by keys, and by
 * the gaps that are left. Pure; one thread.
 *
 * Example: the gap ["", "\xff") is asked for, and the page shows rows of "a", "b" and "c", and ends
 * inside "c". The map is then: a, b, c, gap ["c\1", "\xff"). The rest of partition "c" need not be
 * read: its key is known, and the gap begins behind the whole partition. Gaps do not overlap, so no
 * key comes twice, even if rows change meanwhile. */
#include "cache/scan/scan.h"

#include <sys/queue.h>

/* state      id   counted in   meaning
 * OPEN       0    map.open     to be asked
 * ASKED      > 0  map.asked    its question is out
 * NEEDLESS   > 0  map.asked    its question is out, but its range is known otherwise meanwhile */
enum gap_state { GAP_OPEN, GAP_ASKED, GAP_NEEDLESS };

struct gap {
    enum gap_state state;
    struct buffer lo, hi;     /* two partition borders; while it is asked, the question's */
    struct buffer begin, end; /* the first and last key of the last page before it, which say how
                                 dense keys are; empty: unknown */
    uint64_t id;              /* of the question that is out; 0: none */
    bool is_guess;            /* a split made its begin: it may hold no key */
};

struct known {
    TAILQ_ENTRY(known) link;     /* of partition_map.list */
    TAILQ_ENTRY(known) gap_link; /* of partition_map.gaps */
    struct gap *gap;             /* NULL: a partition */
    bool is_shared;              /* of a level: it stands for all keys that start with its child */
    struct bytes key;
    char key_data[];
};

TAILQ_HEAD(known_list, known);

struct partition_map {
    struct known_list list, gaps;   /* in key order */
    size_t partitions, open, asked; /* keys; gaps that are not asked, and that are */
    uint64_t last_id;
};

/* One gap, the whole range. Call finish also after a failure. */
int partition_map_init(struct partition_map *map, struct range range);
void partition_map_finish(struct partition_map *map);

struct range gap_range(const struct gap *gap);
struct bytes border_key(struct bytes border); /* without POSITION_AFTER */
struct known *partition_map_first_open(const struct partition_map *map); /* NULL: none */
struct known *partition_map_next_open(const struct known *item);
struct known *partition_map_find(const struct partition_map *map, uint64_t id); /* NULL: none */

/* Cuts an open gap in two; `at` lies inside. The second is a guess. */
int partition_map_split(struct partition_map *map, struct known *item, struct bytes at);
void partition_map_request(struct partition_map *map, struct known *item, struct scan_request *ret);
void partition_map_give_back(struct partition_map *map, struct known *item);
/* Puts the answer to an asked gap into its place: the gap is gone, or open with what is left of it.
 * The page covers the gap's begin, and may cover more than the gap. On -ENOMEM the gap is open, and
 * nothing else has changed. */
int partition_map_add_answer(struct partition_map *map, struct known *item,
                             const struct page *page);
/* Removes a partition or an open gap. */
void partition_map_remove(struct partition_map *map, struct known *item);
/* The keys of `range` are not wanted. An open gap loses the part at its begin or its end that lies
 * in the range. A gap that lies inside is removed, or needless while it is asked.
 * True: the gap was removed. */
bool partition_map_cut(struct partition_map *map, struct known *item, struct range range);

#endif
