/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_COMPARISON_H
#define CACHE_BULK_COMPARISON_H
/* Reads two tables side by side, in constant memory, and compares them (compare.h). Each is read
 * ahead while the other one is waited for. Rows of different moments may follow each other. One
 * thread uses it. */
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
/* Sends nothing. may_be_one: two services, which may be one account by two names. 0; -errno with
 * the reason in a caller. */
int comparison_create(const struct compared_table tables[COMPARE_SIDES], bool may_be_one,
                      struct comparison **ret);
void comparison_destroy(struct comparison *comparison); /* takes NULL */

/* 1: the next pair in key order, valid until the next call; 0: the end of both. -ENOTUNIQ: both
 * sides are one table: in the first two pages of each, rows of equal keys have equal ETags, and
 * there is one at least. Else -errno of comparison_failed, with the reason in its caller. */
int comparison_next(struct comparison *comparison, struct pair *ret);
enum compare_side comparison_failed(const struct comparison *comparison);
uint64_t comparison_read(const struct comparison *comparison, enum compare_side side); /* rows */

DEFINE_CLEANUP(struct comparison *, comparison_destroy);

#endif
