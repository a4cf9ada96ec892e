/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_RANGE_CACHE_PARTS_H
#define CACHE_KNOWN_RANGE_CACHE_PARTS_H
/* Private to the range cache, and to the tests of its invariants. */
#include "cache/known/range_map.h"

#include <pthread.h>

struct table {
    struct range_map map; /* first, so that a page's map pointer is its table's, too */
    const char *name;
    RB_ENTRY(table) by_name;
    TAILQ_ENTRY(table) in_idle;
    bool is_idle;
    char text[];
};
_Static_assert(offsetof(struct table, map) == 0, "a page's map is its table's");

RB_HEAD(table_tree, table);

struct range_cache {
    size_t max_bytes;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct table_tree tables;
    TAILQ_HEAD(table_list, table) idle; /* tables without a page; the oldest first */
    size_t idle_count;
    uint64_t floor; /* of tables that are not kept: pages with a lower stamp order are refused */
    struct range_holdings holdings;
    /* Each page is in one of them. Pages of `passed` are evicted first, from the front. */
    struct page_queue passed, used;
    uint64_t evicted;
};

#endif
