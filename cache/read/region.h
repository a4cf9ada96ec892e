#ifndef CACHE_READ_REGION_H
#define CACHE_READ_REGION_H
/* A range of a table, in memory of its own. One thread at a time. */
#include "client/position.h"

struct region {
    const char *table; /* NULL: the account */
    struct range range;
    struct buffer text; /* what the two are views of; empty: it is none */
};

void region_init(struct region *region);
void region_finish(struct region *region);
void region_clear(struct region *region);
bool region_is_set(const struct region *region);
/* Copies. False where it is too long or there is no memory: the region is none then. */
bool region_set(struct region *region, const char *table, struct range range);
bool is_same_table(const char *a, const char *b); /* NULL: the account */

#endif
