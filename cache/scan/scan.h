#ifndef CACHE_SCAN_SCAN_H
#define CACHE_SCAN_SCAN_H
/* Scan engine: turns one question into queries. No I/O, no clock, no threads, no lock: one thread
 * at a time. while (scan_take() == SCAN_WAIT): send what scan_ask() gives, scan_tell() each answer,
 * in any order. */
#include "client/table_store.h"

struct scan {
    const struct scan_ops *ops;
};

/* The distinct partition keys of a range between partition borders, by jumping behind the last one
 * of each page. */
int scan_partitions_create(struct range range, struct scan **ret);

struct scan_request { /* views live until it is told or given back */
    uint64_t id;
    struct range range;
    const struct continuation *after;
    int top;
    bool keys_only;
};

struct scan_item {
    struct bytes key; /* a PartitionKey; valid until the next take */
};

enum scan_state {
    SCAN_ITEM, /* the next item, in key order, each once */
    SCAN_WAIT, /* nothing before an answer */
    SCAN_END,
};

/* false: nothing to ask before an answer or a take */
bool scan_ask(struct scan *scan, struct scan_request *ret);
/* takes the answer, also on -ENOMEM */
int scan_tell(struct scan *scan, uint64_t id, struct answer *answer);
void scan_give_back(struct scan *scan, uint64_t id); /* not answered: asked again */
enum scan_state scan_take(struct scan *scan, struct scan_item *ret);
void scan_destroy(struct scan *scan); /* takes NULL */

struct scan_ops { /* for engines */
    bool (*ask)(struct scan *, struct scan_request *ret);
    int (*tell)(struct scan *, uint64_t id, struct answer *);
    void (*give_back)(struct scan *, uint64_t id);
    enum scan_state (*take)(struct scan *, struct scan_item *ret);
    void (*destroy)(struct scan *);
};

DEFINE_CLEANUP(struct scan *, scan_destroy);

#endif
