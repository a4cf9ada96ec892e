/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_OWNED_RANGE_H
#define CACHE_KNOWN_OWNED_RANGE_H
/* A range of a table, with its own copy of the table's name and of the bounds. It is set or not
 * set. One thread at a time. */
#include "client/base/position.h"

struct owned_range {
    const char *table; /* NULL: the list of tables. `table` and `range` point into `text`. */
    struct range range;
    struct buffer text; /* table, NUL, lo, hi; empty: the range is not set */
};

void owned_range_init(struct owned_range *owned);   /* not set */
void owned_range_finish(struct owned_range *owned); /* not set; may be used again */
bool owned_range_is_set(const struct owned_range *owned);
/* Copies the name and the bounds. False: they take more than 16 KiB, or there is no memory; the
 * range is then not set. */
bool owned_range_set(struct owned_range *owned, const char *table, struct range range);
bool is_same_table(const char *a, const char *b); /* NULL: the account */

#endif
