#ifndef CACHE_SCAN_PARTITION_MAP_H
#define CACHE_SCAN_PARTITION_MAP_H
/* What is known of a range's partition keys: the keys that were found and the gaps between them,
 * all in key order. A gap is asked for, and its answer put in its place: keys, and what gaps are
 * left. An answer proves what its page covers, and a partition that a page ends in is known whole,
 * so what is left begins behind it. Gaps do not overlap: no key comes twice, whatever changes
 * meanwhile. Pure, one thread. */
#include "cache/scan/scan.h"

#include <sys/queue.h>

struct gap {
    struct buffer lo, hi;       /* two partition borders; while it is asked, the question's */
    struct continuation *after; /* behind an empty page: its token */
    struct buffer begin, end;   /* keys that the last page before it ran over; empty: unknown */
    uint64_t id;                /* of the question that is out; 0: open */
    bool is_guess;              /* its begin was guessed: there may be nothing to find */
    bool is_needless;           /* it is asked, but nobody waits for the answer any more */
};

struct known {
    TAILQ_ENTRY(known) link;     /* of partition_map.list */
    TAILQ_ENTRY(known) gap_link; /* of partition_map.gaps */
    struct gap *gap;             /* NULL: a partition */
    bool is_shared;              /* of a level: it stands for all that start with its prefix */
    struct bytes key;
    char key_data[];
};

TAILQ_HEAD(known_list, known);

struct partition_map {
    struct known_list list, gaps;   /* in key order */
    size_t partitions, open, asked; /* keys; gaps that are not asked, and that are */
    size_t bytes;                   /* memory of the keys */
    uint64_t last_id;
};

/* One gap, the whole range. After a failure finish may be called too. */
int partition_map_init(struct partition_map *map, struct range range);
void partition_map_finish(struct partition_map *map);

struct range gap_range(const struct gap *gap);
struct bytes border_key(struct bytes border); /* without POSITION_AFTER */
struct known *partition_map_first_open(const struct partition_map *map); /* NULL: none */
struct known *partition_map_next_open(const struct known *item);
struct known *partition_map_find(const struct partition_map *map, uint64_t id); /* NULL: none */

/* Cuts an open gap without a token in two; `at` lies inside. The second is a guess. */
int partition_map_split(struct partition_map *map, struct known *item, struct bytes at);
void partition_map_ask(struct partition_map *map, struct known *item, struct scan_request *ret);
void partition_map_give_back(struct partition_map *map, struct known *item);
/* Puts the answer to an asked gap into its place; the gap is gone, or open again, also on -ENOMEM,
 * when nothing else has changed. The answer stays the caller's, but for a token that is kept. */
int partition_map_tell(struct partition_map *map, struct known *item, struct answer *answer);
/* Takes a partition or an open gap out. */
void partition_map_remove(struct partition_map *map, struct known *item);
/* What lies in the range need not be known: an open gap without a token that begins or ends in it
 * loses that part, one that lies inside is gone, or needless while it is asked. True: it is gone.
 */
bool partition_map_cut(struct partition_map *map, struct known *item, struct range range);

#endif
