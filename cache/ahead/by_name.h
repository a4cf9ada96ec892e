/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_BY_NAME_H
#define CACHE_AHEAD_BY_NAME_H
/* Read-ahead for entities that are opened by name, without a listing: `xargs cat`, `tar -T`, `rsync
 * --files-from`, `git add`, a program that is started for each file. Each table has an access
 * pattern (access_pattern.h), which decides how many rows a miss fetches.
 *
 * A miss inside a partition fetches the rows behind it, up to the partition's end: one query cannot
 * continue from the middle of a partition into the next. A miss at the begin of a partition fetches
 * rows of the following partitions, too. So does a miss a few rows behind the begin: its query
 * starts at the begin, and the rows in between are fetched twice. Example: partitions have 3 rows,
 * and a page ends after the first row of a partition. To fetch the 2 other rows alone would cost
 * one more request for each page. At most an eighth of the rows read ahead is fetched twice. The
 * number of rows in between is only a hint, so it may come from pages of any age.
 *
 * A program that creates files looks each name up first, and the kernel locks the directory during
 * the lookup. So if another name of the partition was absent less than ttl ago, a miss that reads
 * nothing ahead queries the first row at or behind its name. That is the row itself, or the row
 * after a gap: then all names in the gap are known to be absent. (The first absent name is read by
 * a plain get.) The price: for ttl, each such miss in the partition is a query, also for a row that
 * exists, and for an absent name the answer has the text of the next row, of up to 1 MiB.
 *
 * Any thread; one leaf mutex; blocks for the request that it sends or joins. */
#include "cache/queue/overlay.h"

#define BY_NAME_FIRST_ROWS 32 /* fetched for a lookup of a partition: most have no more rows */

struct by_name;

struct by_name_source { /* outlives it */
    struct fetcher *fetcher;
    struct overlay *overlay;
    const struct clock *clock;
    size_t max_bytes; /* maximum that one miss fetches ahead */
    int64_t ttl_ms;   /* maximum age of an answer */
};
int by_name_create(const struct by_name_source *source, struct by_name **ret);
void by_name_destroy(struct by_name *by_name); /* takes NULL */

/* The row at question->range.lo is not known: fetches it, with rows after it if the table's pattern
 * says so. 0: the caller queries the range cache again while it has ret_page (NULL: nothing was
 * fetched); the row may still be unknown. Or -errno with the reason in caller->call. */
int by_name_fetch_entity(struct by_name *by_name, struct caller *caller,
                         const struct question *question, struct page **ret_page);
/* The same for the first row of the partition that begins at question->range.lo. */
int by_name_fetch_partition(struct by_name *by_name, struct caller *caller,
                            const struct question *question, struct page **ret_page);
/* The row at the position was looked up, and is absent. */
void by_name_absent(struct by_name *by_name, const char *table, struct bytes position);
/* The row was looked up. */
void by_name_used(struct by_name *by_name, const char *table, const struct run *run);

#endif
