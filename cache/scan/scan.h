/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_SCAN_H
#define CACHE_SCAN_SCAN_H
/* Scan: divides one read ("all rows of this range") into queries that can be sent in parallel. A
 * scan does no I/O and has no clock, thread or lock; one thread at a time uses it:
 *
 *   while ((state = scan_take(scan, &item)) != SCAN_END) {
 *       if state is SCAN_ITEM: use the item
 *       else: send the requests of scan_next_request(), and pass each answer to scan_add_answer()
 *   }
 *
 * Answers may arrive in any order; items are taken in key order. */
#include "client/store/table_store.h"

struct scan {
    const struct scan_ops *ops;
};

struct scan_limits {
    int page_rows;       /* rows of one query, at most TABLE_STORE_PAGE_ROWS */
    int fanout;          /* scan_level: up to this many partitions are listed one by one */
    size_t window_bytes; /* of pages that wait to be taken or are in flight; 0: unbounded */
    bool keys_only;
};

/* All rows of a range, in key order, by adaptive range splitting. */
int scan_rows_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* The names in the directory of a table or prefix: the keys of the partitions that start with
 * `prefix`, or, if there are more than `fanout`, the prefixes one level down
 * (contrib/docs/tree.md). */
int scan_level_create(struct bytes prefix, const struct scan_limits *limits, struct scan **ret);
/* The same for any range between partition borders; its keys need not share a prefix. */
int scan_children_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* The rows that match a filter, in key order; the caller adds the filter to each query. Pages of
 * such rows do not show where the other keys lie, so they cannot guide the splitting. Instead, if
 * the range is more than one partition and its first page has a continuation, requests of keys
 * (is_of_names) find the names of the level, while the first query continues. The names cut the
 * rest into at most SCAN_FILTERED_RANGES adjacent ranges, each with its own query. */
#define SCAN_FILTERED_RANGES 32
int scan_filtered_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* The distinct partition keys of a range between partition borders. After each page, the next query
 * begins after the page's last partition. */
int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* Where the range is to be cut into `parts` parts with about as many rows each: the start of each
 * but the first. Of at most 16 queries a part, each of few rows; none for one part. All requests
 * come before the first item. With fewer rows than parts, the last ones begin at the range's end.
 */
int scan_split_create(struct range range, size_t parts, struct scan **ret);

/* Are partitions huge? Then a scan of partitions uses only one key of each page, so it requests
 * only SCAN_HUGE_TOP rows. True for a full page (`top` rows) of one partition. A page with fewer
 * rows proves nothing: from the cache it may be the rest of a partition of 30 rows. */
#define SCAN_HUGE_TOP 16
static inline bool scan_is_of_huge(size_t partitions, size_t rows, int top)
{
    return partitions == 1 && rows >= (size_t)top;
}

struct scan_request { /* its views are valid until scan_add_answer or scan_give_back */
    uint64_t id;
    struct range range;
    const struct continuation *after; /* scan_rows, scan_filtered; NULL: from range.lo */
    int top;
    bool keys_only;
    bool is_of_names;    /* scan_filtered: a request as of scan_level, without the filter */
    bool is_head;        /* the next item needs its answer */
    bool is_speculative; /* a guess, which may find no row; not sent when the service is slow */
};

enum scan_kind { SCAN_ROWS, SCAN_PREFIX, SCAN_PARTITION, SCAN_BORDER };

struct scan_item {
    enum scan_kind kind;
    struct bytes key; /* the prefix, PartitionKey or position; valid until the next take */
    struct run rows;  /* SCAN_ROWS; the caller finishes it */
    double pages;     /* by how much taking it reduces scan_waiting; SCAN_ROWS: 1 */
};

enum scan_state {
    SCAN_ITEM, /* the next item; each item is taken once */
    SCAN_WAIT, /* no item before the next answer */
    SCAN_END,
};

/* The next request. `idle`: how many requests may still be sent; 0: one, but no guess. False: no
 * request before the next answer or take, or no memory. */
bool scan_next_request(struct scan *scan, int idle, struct scan_request *ret);
/* Takes ownership of the answer, also on -ENOMEM. In a scan of keys, the page must cover the start
 * of the request's range, and may cover more than that range. */
int scan_add_answer(struct scan *scan, uint64_t id, struct answer *answer);
void scan_give_back(struct scan *scan, uint64_t id); /* no answer: the range is requested again */
enum scan_state scan_take(struct scan *scan, struct scan_item *ret);
/* How many pages wait to be taken. In a scan of keys: the keys that wait, divided by the mean
 * number of keys of an answer. Dropped pages do not count. */
double scan_waiting(const struct scan *scan);
/* Replaces limits.window_bytes; a scan of keys ignores it. */
void scan_set_window(struct scan *scan, size_t window_bytes);
void scan_destroy(struct scan *scan); /* takes NULL */

struct scan_ops { /* for the implementations of scans */
    bool (*next_request)(struct scan *, int idle, struct scan_request *ret);
    int (*add_answer)(struct scan *, uint64_t id, struct answer *);
    void (*give_back)(struct scan *, uint64_t id);
    enum scan_state (*take)(struct scan *, struct scan_item *ret);
    double (*waiting)(const struct scan *);
    void (*set_window)(struct scan *, size_t window_bytes); /* NULL: it has none */
    void (*destroy)(struct scan *);
};

DEFINE_CLEANUP(struct scan *, scan_destroy);

#endif
