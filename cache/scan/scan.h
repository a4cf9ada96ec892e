/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_SCAN_H
#define CACHE_SCAN_SCAN_H
/* Scan: turns one question ("all rows of this range") into queries, so that several can be sent at
 * once. A scan does no I/O and has no clock, thread or lock; one thread at a time uses it:
 *
 *   while ((state = scan_take(scan, &item)) != SCAN_END) {
 *       if state is SCAN_ITEM: use the item
 *       else: send what scan_next_request() gives to the free slots, and pass each answer to
 * scan_add_answer()
 *   }
 *
 * Answers may come in any order; items come in key order. */
#include "client/store/table_store.h"

struct scan {
    const struct scan_ops *ops;
};

struct scan_limits {
    int page_rows;       /* rows of one query, at most TABLE_STORE_PAGE_ROWS */
    int fanout;          /* of scan_level: up to that many partitions are listed by their keys */
    size_t window_bytes; /* pages that wait to be taken or are in flight; 0: unbounded */
    bool keys_only;
};

/* All rows of a range, in key order, by adaptive range splitting. */
int scan_rows_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* What the directory of a table or of a prefix shows: the keys of the partitions that start with
 * `prefix`, or, if there are more than `fanout`, the prefixes one level down (design section 1). */
int scan_level_create(struct bytes prefix, const struct scan_limits *limits, struct scan **ret);
/* The same of a range between partition borders, whatever its keys begin with. */
int scan_children_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* The rows that match a filter, which the caller adds to each query, in key order. A page of such
 * rows tells no keys, so there is nothing to split by. Where the range is longer than a partition
 * and its first page goes on, the children of the level are sought, by questions for keys. They
 * cut what is left into at most SCAN_FILTERED_RANGES ranges without gaps between them. Each has a
 * query and a continuation of its own. Meanwhile the first one goes on. */
#define SCAN_FILTERED_RANGES 32
int scan_filtered_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* The distinct partition keys of a range between partition borders. The next query begins behind
 * the last partition of a page. */
int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret);

/* While partitions are huge, one key of each page is used, so few rows are asked for. A page that
 * is full of rows of one partition says that partitions are huge. A page from the cache may be the
 * end of one: the rest of a partition of 30 rows says nothing. */
#define SCAN_HUGE_TOP 16
static inline bool scan_is_of_huge(size_t partitions, size_t rows, int top)
{
    return partitions == 1 && rows >= (size_t)top;
}

struct scan_request { /* its views are valid until scan_add_answer or scan_give_back */
    uint64_t id;
    struct range range;
    const struct continuation *after; /* of scan_rows */
    int top;
    bool keys_only;
    bool is_of_names;    /* of scan_filtered: asks as scan_level does, without the filter */
    bool is_head;        /* the next item waits for it */
    bool is_speculative; /* a guess; to be left out first when the service is slow */
};

enum scan_kind { SCAN_ROWS, SCAN_PREFIX, SCAN_PARTITION };

struct scan_item {
    enum scan_kind kind;
    struct bytes key; /* the prefix or PartitionKey; valid until the next take */
    struct run rows;  /* of SCAN_ROWS; the caller's to finish */
    double pages;     /* its share in scan_waiting; 1 of SCAN_ROWS */
};

enum scan_state {
    SCAN_ITEM, /* the next item, in key order, each once; the window moves on */
    SCAN_WAIT, /* no item before the next answer */
    SCAN_END,
};

/* The next request. `idle`: free slots; 0: one slot is free, but not for a guess. False: there is
 * nothing to ask before the next answer or take, or memory is out. */
bool scan_next_request(struct scan *scan, int idle, struct scan_request *ret);
/* Takes the answer, also on -ENOMEM. Of a scan of keys its page covers the request's begin, and may
 * cover more than was asked for. */
int scan_add_answer(struct scan *scan, uint64_t id, struct answer *answer);
void scan_give_back(struct scan *scan, uint64_t id); /* without an answer: it is asked again */
enum scan_state scan_take(struct scan *scan, struct scan_item *ret);
/* How many pages the scan is ahead of the last take. Of rows: the pages that wait. Of keys: the
 * keys that wait, divided by the mean number of keys of an answer. Dropped pages do not count. */
double scan_waiting(const struct scan *scan);
/* Replaces the limit of bytes; a scan of keys ignores it. */
void scan_set_window(struct scan *scan, size_t window_bytes);
void scan_destroy(struct scan *scan); /* takes NULL */

struct scan_ops { /* for engines */
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
