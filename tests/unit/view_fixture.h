#ifndef TESTS_UNIT_VIEW_FIXTURE_H
#define TESTS_UNIT_VIEW_FIXTURE_H
/* What the tests of an account's parts share: a view over a store behind a gate, and a clock that
 * the test turns. */
#include "cache/account.h"
#include "cache/view.h"
#include "tests/unit/fetching.h"

#define FIND       7 /* a process */
#define ANSWER_MAX ((size_t)1 << 20)
#define VIEW_CACHE ((size_t)64 << 20)

struct viewing {
    _Atomic int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *gate;
    struct view view;
    struct caller caller; /* of the last question */
};

static inline void viewing_set_up(struct viewing *viewing, int parallelism, int fanout)
{
    struct account_options options = {
        .ttl_ms = TTL_MS, .cache_bytes = VIEW_CACHE, .parallelism = parallelism, .fanout = fanout};
    *viewing = (struct viewing){.now_ms = 100000, .memory = memory_store_create()};
    viewing->clock = turned_clock(&viewing->now_ms);
    assert_int_equal(gate_store_create(&viewing->memory->store, &viewing->clock, &viewing->gate),
                     0);
    assert_int_equal(view_init(&viewing->view, viewing->gate, &viewing->clock, &options), 0);
}

static inline void viewing_tear_down(struct viewing *viewing)
{
    view_finish(&viewing->view);
    table_store_destroy(viewing->gate);
}

/* Partitions of these keys, a blank between them, in order; of `rows` rows each. */
static inline void viewing_add(struct viewing *viewing, const char *keys, int rows)
{
    while (*keys) {
        struct bytes key = {keys, strcspn(keys, " ")};
        for (int i = 0; i < rows; i++) {
            char row[16];
            int size = snprintf(row, sizeof(row), "%05d", i);
            memory_store_add(viewing->memory, key, (struct bytes){row, (size_t)size}, "etag");
        }
        keys += key.size + (keys[key.size] == ' ');
    }
}

/* Partitions p0000 and on. */
static inline void viewing_add_many(struct viewing *viewing, int partitions, int rows)
{
    for (int i = 0; i < partitions; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        viewing_add(viewing, key, rows);
    }
}

static inline struct caller *viewing_caller(struct viewing *viewing)
{
    viewing->caller = (struct caller){.call = {.deadline_ms = viewing->now_ms + PATIENCE_MS},
                                      .process = FIND,
                                      .patience_ms = PATIENCE_MS};
    return &viewing->caller;
}

static inline size_t viewing_asked(struct viewing *viewing)
{
    return gate_store_settle(viewing->gate);
}

/* What was asked at most a ttl ago. */
static inline struct stamp viewing_since(struct viewing *viewing)
{
    return stamp_since(viewing->now_ms - TTL_MS);
}

#endif
