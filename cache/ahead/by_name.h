/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_BY_NAME_H
#define CACHE_AHEAD_BY_NAME_H
/* Read-ahead for entities that are opened by name, without a listing: `xargs cat`, `tar -T`, `rsync
 * --files-from`, `git add`, a program that is started for each file. For each table one access
 * pattern, which decides how much a miss fetches.
 *
 * A miss inside a partition fetches the rows behind it, up to the partition's end: one query cannot
 * go on from the middle of a partition into the next. A miss at the begin of a partition goes on
 * into the next ones. So does a miss a few rows behind the begin: it begins again there, and the
 * rows in between are fetched twice. Example: partitions of 3 rows, a page that ends after the
 * first row of a partition. To fetch its 2 other rows alone would cost a request more a page. At
 * most an eighth of what is read ahead is fetched twice. How many rows lie before is taken from
 * pages of any age: it is a hint.
 *
 * A program that creates files looks each name up first, and the kernel locks the directory while
 * it does. So where a name of the partition was absent less than ttl ago, a miss that reads nothing
 * ahead asks for the first row from its name on. It is the row that is needed, or the end of a gap:
 * all names in between are absent, too. The first absent name is asked for alone. The price: for
 * ttl each such miss of the partition is a query, even of a row that is there, and that of an
 * absent name brings the text of the next row, of up to 1 MiB.
 *
 * Any thread; one leaf mutex; blocks for the request that it sends or joins. */
#include "cache/queue/overlay.h"

#define BY_NAME_FIRST_ROWS 32 /* of a partition that is looked up: what most partitions hold */

struct by_name;

struct by_name_source { /* outlives it */
    struct fetcher *fetcher;
    struct overlay *overlay;
    const struct clock *clock;
    size_t max_bytes; /* that one miss may fetch ahead */
    int64_t ttl_ms;   /* of an answer */
};
int by_name_create(const struct by_name_source *source, struct by_name **ret);
void by_name_destroy(struct by_name *by_name); /* takes NULL */

/* The row at question->range.lo is not known. Fetches it with rows behind it, where the table's
 * pattern says so. 0: look again, as long as ret_page is held (NULL: nothing was fetched); the row
 * may still be unknown. Or -errno with the reason in caller->call. */
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
