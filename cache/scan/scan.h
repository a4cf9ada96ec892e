#ifndef CACHE_SCAN_SCAN_H
#define CACHE_SCAN_SCAN_H
/* Scan engine: turns one question into queries. No I/O, no clock, no threads, no lock: one thread
 * at a time. while (scan_take() == SCAN_WAIT): send what scan_ask() gives, scan_tell() each answer,
 * in any order. */
#include "client/table_store.h"

struct scan {
    const struct scan_ops *ops;
};

struct scan_limits {
    int page_rows;       /* rows of one query, at most TABLE_STORE_PAGE_ROWS */
    int fanout;          /* of scan_level: so many partitions are listed themselves */
    size_t window_bytes; /* of pages that may wait to be taken, or be on their way; 0: unbounded */
    bool keys_only;
};

/* All rows of a range, in key order, by adaptive range splitting. */
int scan_rows_create(struct range range, const struct scan_limits *limits, struct scan **ret);
/* What a table's or prefix directory shows: the partitions that start with `prefix`, or the
 * children of its level (design section 1). */
int scan_level_create(struct bytes prefix, const struct scan_limits *limits, struct scan **ret);
/* The distinct partition keys of a range between partition borders, by jumping behind the last one
 * of each page. */
int scan_partitions_create(struct range range, const struct scan_limits *limits, struct scan **ret);

struct scan_request { /* views live until it is told or given back */
    uint64_t id;
    struct range range;
    const struct continuation *after;
    int top;
    bool keys_only;
    bool is_head;        /* what is taken next waits for it */
    bool is_speculative; /* nobody waits for it: left out first when the service is slow */
};

enum scan_kind { SCAN_ROWS, SCAN_PREFIX, SCAN_PARTITION };

struct scan_item {
    enum scan_kind kind;
    struct bytes key; /* the prefix or PartitionKey; valid until the next take */
    struct run rows;  /* of SCAN_ROWS; the caller's to finish */
    double pages;     /* as scan_waiting counts: 1 of SCAN_ROWS */
};

enum scan_state {
    SCAN_ITEM, /* the next item, in key order, each once; a take moves the window */
    SCAN_WAIT, /* nothing before an answer */
    SCAN_END,
};

/* With `idle` free slots (0: there is one, but not for guesses), the next request; false: nothing
 * to ask before an answer or a take, or no memory. */
bool scan_ask(struct scan *scan, int idle, struct scan_request *ret);
/* takes the answer, also on -ENOMEM */
int scan_tell(struct scan *scan, uint64_t id, struct answer *answer);
void scan_give_back(struct scan *scan, uint64_t id); /* not answered: asked again */
enum scan_state scan_take(struct scan *scan, struct scan_item *ret);
/* How far it is ahead of what was taken: answers whose rows wait, or, of keys, the part of such
 * answers that so many are. What was let go, to be asked again, does not count. */
double scan_waiting(const struct scan *scan);
/* From now on so many bytes of pages may wait; of keys nothing changes. */
void scan_set_window(struct scan *scan, size_t window_bytes);
void scan_destroy(struct scan *scan); /* takes NULL */

struct scan_ops { /* for engines */
    bool (*ask)(struct scan *, int idle, struct scan_request *ret);
    int (*tell)(struct scan *, uint64_t id, struct answer *);
    void (*give_back)(struct scan *, uint64_t id);
    enum scan_state (*take)(struct scan *, struct scan_item *ret);
    double (*waiting)(const struct scan *);
    void (*set_window)(struct scan *, size_t window_bytes); /* NULL: it has none */
    void (*destroy)(struct scan *);
};

DEFINE_CLEANUP(struct scan *, scan_destroy);

#endif
