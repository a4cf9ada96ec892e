#ifndef TESTS_UNIT_WALKING_H
#define TESTS_UNIT_WALKING_H
/* What the tests of walks share: walks over streams over a store in memory, behind a gate. */
#include "cache/read/walk.h"
#include "tests/unit/streaming.h"

enum { FIND = 7, OTHER };

struct setup {
    struct streaming streaming;
    struct walks *walks;
    struct region whole; /* the table */
};

static inline void set_up(struct setup *setup, int parallelism)
{
    streaming_set_up(&setup->streaming, parallelism, (struct fetching_options){0});
    assert_int_equal(walks_create(&setup->streaming.source, &setup->walks), 0);
    region_init(&setup->whole);
    assert_true(region_set(&setup->whole, "t", RANGE_ALL));
}

static inline void tear_down(struct setup *setup)
{
    walks_destroy(setup->walks);
    region_finish(&setup->whole);
    streaming_tear_down(&setup->streaming);
}

static inline int reach_with(struct setup *setup, struct caller *caller, const struct region *whole,
                             struct bytes position)
{
    struct stamp since = fetching_since_ttl(&setup->streaming.fetching);
    struct page *page = NULL;
    int r = walks_reach(setup->walks, caller, whole, position, since, &page);
    page_unref(page);
    return r;
}

static inline int reach(struct setup *setup, uint64_t process, struct bytes position)
{
    struct caller caller = fetching_caller(&setup->streaming.fetching);
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
    struct question question = {
        "t", {position, B(POSITION_END)}, fetching_since_ttl(&setup->streaming.fetching), false};
    struct buffer first;
    int64_t asked_ms;
    buffer_init(&first, STREAMED_MAX);
    int known = fetching_known(&setup->streaming.fetching, &question, &first, &asked_ms);
    buffer_finish(&first);
    return known != KNOWN_NOT;
}

/* Where partition pNNNN begins. */
static inline struct bytes partition(int number)
{
    static char key[8];
    (void)snprintf(key, sizeof(key), "p%04d", number);
    return (struct bytes){key, 6};
}

/* How many scans began just there. */
static inline size_t count_begun_at(struct setup *setup, struct bytes position)
{
    size_t n = 0;
    size_t asked = streaming_settle(&setup->streaming);
    for (size_t i = 0; i < MIN(asked, MEMORY_STORE_DIARY); i++) {
        const struct memory_store_entry *entry = &setup->streaming.fetching.memory->diary[i];
        n += !entry->is_continued && bytes_equal(buffer_bytes(&entry->lo), position);
    }
    return n;
}

#endif
