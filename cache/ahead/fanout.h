/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_FANOUT_H
#define CACHE_AHEAD_FANOUT_H
/* The fanout of a level is the greatest number of partitions that its directory lists one by one. A
 * level with more partitions lists their prefixes. The user may set the fanout. Otherwise the
 * level's first rows decide: it is 4,096 if the first 1,000 rows belong to at least 64 partitions,
 * and 512 if not. With 4,096, all partitions together have about 64 pages at most, unless later
 * partitions have far more rows. Example: a table with a partition of few rows for each day lists
 * its days. If a table only grows at its end, its fanout does not change.
 *
 * Only the rows decide, not the sizes of the pages in which they arrive, or what was known. */
#include "cache/ahead/partition_tally.h"
#include "cache/queue/overlay.h"

#define FANOUT_FEW             512
#define FANOUT_MANY            4096
#define FANOUT_MANY_PARTITIONS 64

/* fanout: the user's number; 0: by the counted rows, which should be a full page; with another
 * number of rows the result is a guess. */
static inline int fanout_of_tally(int fanout, const struct partition_tally *tally)
{
    bool has_many = tally->partitions >= FANOUT_MANY_PARTITIONS;
    return fanout > 0 ? fanout : has_many ? FANOUT_MANY : FANOUT_FEW;
}

/* Finds the level's fanout; if `fanout` is not 0, it is that. question->range is the level's. If
 * the level's first rows are not known, one query reads their keys, which a scan of names needs
 * first, too. If its page ends early, or inside a partition, more queries follow. Any thread;
 * blocks for the requests. 0 or -errno with the reason in caller->call. */
int fanout_of_level(int fanout, struct overlay *overlay, struct fetcher *fetcher,
                    struct caller *caller, const struct question *question, int *ret);

#endif
