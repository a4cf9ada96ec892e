/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_ROWS_FIRST_H
#define CACHE_AHEAD_ROWS_FIRST_H
/* Reads the rows of a directory of partitions before its names are sought, where that costs no
 * request more: then the rows tell the names, and a traversal that follows finds them. Example: 300
 * partitions of 5 rows are 2 pages, but 300 jumps from name to name.
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

/* Reads what is not known of the question's range.
 * - The process traverses (`whole` not NULL): because it visits what is below next, as much as
 *   fits beside what it has not visited yet, and at most 16 MiB: older rows are not used.
 * - Another process, where nothing of the range is known: until more than `fanout` partitions were
 *   counted, or one of a whole page of rows, or several pages more than partitions: then jumps from
 *   name to name cost no more. At most three quarters of the cache. At most 24,000 rows where
 *   more than 64,000 are expected: keys come faster, eight requests at a time, and the process may
 *   want names alone.
 * 0 or -errno with the reason in caller->call. */
int rows_first_read(const struct rows_first *rows_first, struct caller *caller,
                    const struct question *question, const struct owned_range *whole);

#endif
