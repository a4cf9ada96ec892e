/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_ACCESS_PATTERN_H
#define CACHE_AHEAD_ACCESS_PATTERN_H
/* How the entities of one table are opened by name: at random, in key order, or in key order with
 * gaps. This decides how many rows a cache miss reads ahead. All processes count together: one
 * reader, parallel readers (`xargs -P8 cat`) and a program that is started for each file
 * (`xargs -n1 cat`) are one pattern.
 *
 * A row that a fetch reads ahead is used if it is looked up later. The worth of a fetch is the
 * number of its used rows. (Rows that the miss itself needed do not count.) The pattern depends on
 * the last fetches:
 *
 * | pattern of the last fetches                   | rows that the next miss reads ahead           |
 * | DENSE: there are fetches of which at least a  | 8 times the sum of their worths, plus 1       |
 * |   fifth was used                              |                                               |
 * | SPARSE, checked before DENSE: fetches of      | 8 times the rows of the largest of all these  |
 * |   which a hundredth to a fifth was used       |   fetches, plus 1                             |
 * |   outnumber the dense ones, and the last 6    |                                               |
 * |   misses were in key order                    |                                               |
 * | RANDOM: else                                  | none; now and then a probe                    |
 *
 * Example: `xargs cat` over a partition in key order. The first miss fetches 1 + 3 rows; all 3 are
 * used, so the next miss fetches 1 + 25, then 1 + 225, up to a page. Random readers use some rows
 * by chance, but not a fifth. A reader of every 20th row uses no fifth either, but its misses are
 * in key order.
 *
 * If there were fetches in the partition of the miss, only these count: so a random reader in one
 * partition and an ordered reader in another do not change each other's pattern.
 *
 * A probe has 3 rows, or 127 if the last 6 misses were in key order. Misses 1, 2, 4, 8, 16, 32 and
 * 64 send one, then every 64th miss does. So random readers pay little, and a reader that begins to
 * read in order is noticed. After 3 s without a fetch everything begins anew.
 *
 * The pattern also remembers partitions in which a name was recently absent: programs create files
 * there.
 *
 * Pure; no lock; time is an argument (monotonic). */
#include "client/base/position.h"
#include "client/store/table_store.h"

/* How many fetches are remembered, for at most 3 s. Parallel readers miss all at once: if this were
 * less than the readers, new fetches, not yet used, would displace the used ones. */
#define ACCESS_PATTERN_FETCHES 16
#define ACCESS_PATTERN_ABSENT  16 /* how many partitions with an absent name are remembered */
#define ACCESS_PATTERN_POSITION_BYTES                                                              \
    256 /* of the last miss; longer ones are compared up to here */

struct access_pattern { /* embedded, or on the stack, zeroed; private */
    struct row_fetch {
        uint64_t first;     /* page_number (client/store/page.h) of its first row; 0: no fetch */
        uint64_t partition; /* hash of the partition of the miss */
        size_t needed;      /* first rows, which the miss itself needed */
        size_t rows, worth;
        int64_t requested_ms;
        uint64_t used[(TABLE_STORE_PAGE_ROWS + 63) / 64]; /* one bit a row */
    } fetches[ACCESS_PATTERN_FETCHES];                    /* a ring */
    size_t next;
    int backoff; /* misses from one probe to the next; 0: probe at once */
    int wait;    /* misses until the next probe */
    size_t row_bytes;
    char last[ACCESS_PATTERN_POSITION_BYTES]; /* position of the last miss */
    size_t last_size;
    int ascents; /* consecutive misses, each at a greater position than the miss before */
    struct absence {
        uint64_t partition;          /* its hash */
        int64_t at_ms;               /* when a name was last absent there */
    } absent[ACCESS_PATTERN_ABSENT]; /* the latest first; at_ms 0: none */
};

/* A lookup of the position misses the cache. Returns how many rows to fetch after those that it
 * needs, at most about max_bytes; 0: none. */
size_t access_pattern_ahead(struct access_pattern *pattern, struct bytes position, size_t max_bytes,
                            int64_t now_ms);
/* The fetch for the miss at the position had `rows` rows, whose page_numbers begin with `first`;
 * the miss itself needed the first `needed`. */
void access_pattern_fetched(struct access_pattern *pattern, struct bytes position, uint64_t first,
                            size_t needed, size_t rows, size_t bytes, int64_t now_ms);
/* A fetch that read ahead failed: its worth is 0. */
void access_pattern_failed(struct access_pattern *pattern, struct bytes position, int64_t now_ms);
/* The row at the position was looked up, and is absent. */
void access_pattern_absent(struct access_pattern *pattern, struct bytes position, int64_t now_ms);
/* Was a row of this partition absent less than `within_ms` ago? */
bool access_pattern_is_absent(const struct access_pattern *pattern, struct bytes position,
                              int64_t within_ms, int64_t now_ms);
/* The row with this page_number was looked up. A second call changes nothing. */
void access_pattern_used(struct access_pattern *pattern, uint64_t number);
/* Was the row looked up? False if its fetch is not remembered. */
bool access_pattern_was_used(const struct access_pattern *pattern, uint64_t number);

#endif
