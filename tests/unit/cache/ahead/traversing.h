/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_AHEAD_TRAVERSING_H
#define TESTS_UNIT_CACHE_AHEAD_TRAVERSING_H
/* What the tests of traversals share: traversals over prefetchers over a store behind a gate. */
#include "cache/ahead/traversals.h"
#include "tests/unit/cache/ahead/prefetching.h"

#define END_MS 30000

enum { FIND = 7, OTHER }; /* processes */

struct setup {
    struct prefetching prefetching;
    struct fetching *fetching;
    struct traversals *traversals;
    struct owned_range whole; /* the table */
};

static inline void set_up(struct setup *setup, int parallelism)
{
    prefetching_set_up(&setup->prefetching, parallelism, (struct fetching_options){0});
    setup->fetching = &setup->prefetching.fetching;
    assert_int_equal(traversals_create(&setup->prefetching.source, END_MS, &setup->traversals), 0);
    owned_range_init(&setup->whole);
    assert_true(owned_range_set(&setup->whole, "t", RANGE_ALL));
}

static inline void tear_down(struct setup *setup)
{
    traversals_destroy(setup->traversals);
    owned_range_finish(&setup->whole);
    prefetching_tear_down(&setup->prefetching);
}

static inline int reach_with(struct setup *setup, struct caller *caller,
                             const struct owned_range *whole, struct bytes position)
{
    struct page *page = NULL;
    struct traversal_step step = {.whole = whole,
                                  .begin = position,
                                  .position = position,
                                  .since = fetching_since_ttl(setup->fetching)};
    int r = traversals_reach(setup->traversals, caller, &step, &page);
    page_unref(page);
    return r;
}

/* enum reach, or -errno. */
static inline int reach(struct setup *setup, uint64_t process, struct bytes position)
{
    struct caller caller = fetching_caller(setup->fetching);
    caller.process = process;
    caller.patience_ms = INT32_MAX; /* another thread may turn the clock */
    caller.call.deadline_ms += INT32_MAX;
    int r = reach_with(setup, &caller, &setup->whole, position);
    assert_int_equal(caller.call.failure.error, MIN(r, 0));
    return r;
}

/* Is what begins there in the cache, with texts? */
static inline bool is_known(struct setup *setup, struct bytes position)
{
    _cleanup_(buffer_finish) struct buffer first = {.max = PREFETCHED_MAX};
    int known = known_at(setup->fetching, position, fetching_since_ttl(setup->fetching), &first);
    return known != KNOWN_NOT;
}

/* Where partition pNNNN begins. */
static inline struct bytes partition(int number)
{
    static char key[8];
    (void)snprintf(key, sizeof(key), "p%04d", number);
    return (struct bytes){key, 6};
}

/* How many scans began just there. The gate is open. */
static inline size_t count_begun_at(struct setup *setup, struct bytes position)
{
    size_t n = 0, asked = prefetching_asked(&setup->prefetching);
    assert_true(asked <= MEMORY_STORE_DIARY);
    for (size_t i = 0; i < asked; i++) {
        const struct memory_store_entry *entry = &setup->fetching->memory->diary[i];
        n += !entry->is_continued && bytes_equal(buffer_bytes(&entry->lo), position);
    }
    return n;
}

#endif
