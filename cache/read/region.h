#ifndef CACHE_READ_REGION_H
#define CACHE_READ_REGION_H
/* A range of a table with its own copy of the table's name and the bounds. It is set or not set.
 * One thread at a time. */
#include "client/position.h"

struct region {
    const char *table; /* NULL: the account; a view into `text`, as the range */
    struct range range;
    struct buffer text; /* table, NUL, lo, hi; empty: the region is not set */
};

void region_init(struct region *region);   /* not set */
void region_finish(struct region *region); /* may be used again afterwards: not set */
void region_clear(struct region *region);  /* not set; keeps the memory */
bool region_is_set(const struct region *region);
/* Copies the name and the bounds. False: they take more than 16 KiB, or there is no memory. Then
 * the region is not set. */
bool region_set(struct region *region, const char *table, struct range range);
bool is_same_table(const char *a, const char *b); /* NULL: the account */

#endif
