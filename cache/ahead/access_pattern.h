/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_ACCESS_PATTERN_H
#define CACHE_AHEAD_ACCESS_PATTERN_H
/* How the entities of one table are opened by name: at random, in key order, or here and there in
 * key order. It knows no processes: one reader, parallel readers (`xargs -P8 cat`) and a program
 * that is started for each file (`xargs -n1 cat`) are one case.
 *
 * A fetch is worth the rows that were used later, without those that its own miss needed. How many
 * rows a miss reads ahead:
 *
 * | the last fetches...                           | rows                                          |
 * | DENSE: at least a fifth of the rows was used  | 8 times what they were worth together         |
 * |   the same, but less than half                | twice what the best was worth: a slow reader, |
 * |                                               |   whose rows grow too old                     |
 * | SPARSE: at least a hundredth, by most of the  | twice as many as the largest fetch had        |
 * |   fetches, and 6 misses in key order          |                                               |
 * | RANDOM: no fetch was worth that               | none; now and then a probe                    |
 *
 * Example: `xargs cat` over a partition in key order. The first miss fetches 1 + 3 rows; all 3 are
 * used, so the next miss fetches 1 + 25, then 1 + 225, up to a page. Random readers hit some rows
 * by chance, but not a fifth. A reader of every 20th row hits no fifth either, but goes in order.
 *
 * Where the partition of the miss was fetched from, the fetches of that partition count alone: a
 * random reader in another one does not disturb an ordered reader, nor fetch as much.
 *
 * A probe has 3 rows, or 127 where the last 6 misses were in key order. The first misses send one,
 * then each 2nd, 4th, up to each 64th: random readers pay little for it, and a reader that begins
 * to go in order is noticed. After 3 s without a fetch all begins anew.
 *
 * It also remembers the partitions in which names were absent lately: programs create files there.
 *
 * Pure; no lock; time is an argument, monotonic. */
#include "client/base/position.h"
#include "client/store/table_store.h"

/* Fetches that are remembered, for at most 3 s. Parallel readers miss all at once: with fewer
 * fetches than readers, those that have not been used yet would hide the good ones. */
#define ACCESS_PATTERN_FETCHES 16
#define ACCESS_PATTERN_ABSENT  16 /* partitions in which a name was absent last */
#define ACCESS_PATTERN_POSITION_BYTES                                                              \
    256 /* of the last miss; longer ones are compared up to here */

struct access_pattern { /* in its owner's memory, zeroed; private */
    struct row_fetch {
        uint64_t first;     /* of its first row the page_number; 0: no fetch */
        uint64_t partition; /* hash of the partition of the miss */
        size_t needed;      /* rows at its begin that the miss itself needed */
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
    int ascents; /* misses in a row that lay behind the one before */
    struct absence {
        uint64_t partition;          /* its hash */
        int64_t at_ms;               /* when a name was absent there last */
    } absent[ACCESS_PATTERN_ABSENT]; /* the last one first; at_ms 0: none */
};

/* A lookup has missed at the position: how many rows to fetch behind those that it needs, at most
 * max_bytes of them. 0: none. */
size_t access_pattern_ahead(struct access_pattern *pattern, struct bytes position, size_t max_bytes,
                            int64_t now_ms);
/* For the miss at the position `rows` rows came, whose numbers begin with `first`. */
void access_pattern_fetched(struct access_pattern *pattern, struct bytes position, uint64_t first,
                            size_t needed, size_t rows, size_t bytes, int64_t now_ms);
/* A fetch ahead failed: it was worth nothing. */
void access_pattern_failed(struct access_pattern *pattern, struct bytes position, int64_t now_ms);
/* The row at the position was looked up, and is absent. */
void access_pattern_absent(struct access_pattern *pattern, struct bytes position, int64_t now_ms);
/* Was a row of this partition absent less than `within_ms` ago? */
bool access_pattern_is_absent(const struct access_pattern *pattern, struct bytes position,
                              int64_t within_ms, int64_t now_ms);
/* The row of this number was looked up. The second time changes nothing. */
void access_pattern_used(struct access_pattern *pattern, uint64_t number);
/* Was the row looked up? False where its fetch is not remembered. */
bool access_pattern_was_used(const struct access_pattern *pattern, uint64_t number);

#endif
