/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_FANOUT_H
#define CACHE_AHEAD_FANOUT_H
/* The fanout of a level is the greatest number of partitions that its directory lists one by one. A
 * level with more partitions lists their prefixes. The user may set the fanout. Otherwise the
 * level's first rows decide: it is 4,096 if the first 1,000 rows belong to at least 64 partitions,
 * and 512 if not. With 4,096, all partitions together have about 64 pages at most, unless later
 * partitions have far more rows. Example: a table of days with few rows lists its days. A table
 * that grows at its end keeps its fanout.
 *
 * The rows alone decide: not the pages in which they come, nor what is known of them already. */
#include "cache/known/partition_tally.h"
#include "cache/queue/overlay.h"

#define FANOUT_FEW             512
#define FANOUT_MANY            4096
#define FANOUT_ROWS            1000
#define FANOUT_MANY_PARTITIONS 64

/* fanout: the user's number; 0: by the rows that were counted, FANOUT_ROWS of them; others are a
 * guess. */
static inline int fanout_of_tally(int fanout, const struct partition_tally *tally)
{
    bool has_many = tally->partitions >= FANOUT_MANY_PARTITIONS;
    return fanout > 0 ? fanout : has_many ? FANOUT_MANY : FANOUT_FEW;
}

/* The level's own, where fanout is 0. question->range is that of the level; its keys suffice. Where
 * the level's first rows are not known, one request brings their keys, which a scan of names needs
 * first, too. A service that ends its page early, or inside a partition, is asked again. Any
 * thread; blocks for the requests. 0 or -errno with the reason in caller->call. */
int fanout_of_level(int fanout, struct overlay *overlay, struct fetcher *fetcher,
                    struct caller *caller, const struct question *question, int *ret);

#endif
