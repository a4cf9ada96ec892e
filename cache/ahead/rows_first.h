/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_ROWS_FIRST_H
#define CACHE_AHEAD_ROWS_FIRST_H
/* Reads the rows of a directory of partitions before a scan of its names, if that costs no more
 * requests than the names alone. The rows show the names, and a traversal of the directory then
 * finds the rows in the range cache. Example: 300 partitions of 5 rows are 2 pages of rows; a scan
 * of names needs a query for each name, 300.
 *
 * No state; any thread; blocks for the pages that it waits for. */
#include "cache/ahead/fanout.h"
#include "cache/ahead/traversals.h"

struct rows_first {
    struct traversals *traversals;
    const struct prefetcher_source *prefetchers;
    size_t cache_bytes;
    int fanout; /* of levels; 0: by their first rows */
};

/* Reads the unknown rows of question->range.
 * - For a process that traverses (`whole` is not NULL): it visits these rows next. Reads as many as
 *   fit next to the held pages that it has not visited yet, and about 16 MiB at most: more would
 *   become too old before they are visited.
 * - For another process, only if nothing is known at the start of the range. Reading stops when
 *   more than `fanout` partitions were counted, or one with a whole page of rows, or more pages
 *   than partitions + 4: from there on, a query for each name costs no more. It also stops at
 *   three quarters of the cache; and at 24,000 rows if more than 64,000 are expected, since keys
 *   can be read faster, with eight requests in parallel, and the process may need only names.
 * 0 or -errno with the reason in caller->call. */
int rows_first_read(const struct rows_first *rows_first, struct caller *caller,
                    const struct question *question, const struct owned_range *whole);

#endif
