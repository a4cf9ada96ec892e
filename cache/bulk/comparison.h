/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_COMPARISON_H
#define CACHE_BULK_COMPARISON_H
/* Reads two tables at the same time, in constant memory, and compares them (compare.h). Each table
 * is read ahead while the comparison waits for the other one. It is no snapshot: neighbouring rows
 * may have been read at different times. One thread uses it. */
#include "cache/address.h"
#include "cache/bulk/compare.h"
#include "cache/caller.h"

struct account;

struct compared_table { /* outlives the comparison */
    struct account *account;
    struct caller *caller;
    struct directory directory;
};

struct comparison;
/* Sends nothing. may_be_one: both sides are services, and may be one account with two names. 0;
 * -errno with the reason in one of the callers. */
int comparison_create(const struct compared_table tables[COMPARE_SIDES], bool may_be_one,
                      struct comparison **ret);
void comparison_destroy(struct comparison *comparison); /* takes NULL */

/* 1: the next pair in key order, valid until the next call; 0: the end of both. -ENOTUNIQ: both
 * sides are one table: in their first two pages there are rows with equal keys, and all of these
 * have equal ETags. Another -errno: reading the side comparison_failed has failed; the reason is in
 * its caller. */
int comparison_next(struct comparison *comparison, struct pair *ret);
enum compare_side comparison_failed(const struct comparison *comparison);
uint64_t comparison_read(const struct comparison *comparison, enum compare_side side); /* rows */

DEFINE_CLEANUP(struct comparison *, comparison_destroy);

#endif
