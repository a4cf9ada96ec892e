/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_PARTS_FIXTURE_H
#define TESTS_UNIT_PARTS_FIXTURE_H
/* What the tests of an account's parts share: its parts, wired as the account does it, over a store
 * behind a gate, and a clock that the test turns. */
#include "cache/ahead/read_ahead.h"
#include "cache/list/listing.h"
#include "tests/unit/fetching.h"
#include "tests/unit/pending_limits.h"

#define FIND        7 /* a process */
#define ANSWER_MAX  ((size_t)1 << 20)
#define PARTS_CACHE ((size_t)64 << 20)

struct parts_options {
    int parallelism;    /* 0: 1 */
    int fanout;         /* 0: by the first rows */
    size_t cache_bytes; /* 0: much */
    bool is_ttl_0;
};

struct parts {
    _Atomic int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *gate;
    _Atomic uint64_t orders;
    struct range_cache *cache;
    struct fetcher *fetcher;
    struct pending *pending;
    struct overlay *overlay;
    struct freshness *freshness;
    struct read_ahead_source read;
    struct read_ahead *read_ahead;
    struct listing_source listings;
    struct caller caller; /* of the last question */
};

static inline void parts_create_readers(struct parts *parts, const struct parts_options *options)
{
    int64_t ttl_ms = options->is_ttl_0 ? 0 : TTL_MS;
    size_t cache_bytes = options->cache_bytes > 0 ? options->cache_bytes : PARTS_CACHE;
    assert_int_equal(range_cache_create(cache_bytes, &parts->cache), 0);
    struct fetcher_source reader = {.store = parts->gate,
                                    .cache = parts->cache,
                                    .clock = &parts->clock,
                                    .orders = &parts->orders,
                                    .ttl_ms = ttl_ms};
    assert_int_equal(fetcher_create(&reader, &parts->fetcher), 0);
    assert_int_equal(pending_create(&no_limits, &parts->clock, &parts->pending), 0);
    assert_int_equal(overlay_create(parts->cache, parts->fetcher, parts->pending, &parts->overlay),
                     0);
    assert_int_equal(freshness_create(ttl_ms, &parts->clock, &parts->orders, &parts->freshness), 0);
    parts->read = (struct read_ahead_source){.cache = parts->cache,
                                             .fetcher = parts->fetcher,
                                             .overlay = parts->overlay,
                                             .freshness = parts->freshness,
                                             .clock = &parts->clock,
                                             .ttl_ms = ttl_ms,
                                             .cache_bytes = cache_bytes,
                                             .parallelism = MAX(options->parallelism, 1),
                                             .fanout = options->fanout};
    assert_int_equal(read_ahead_create(&parts->read, &parts->read_ahead), 0);
}

static inline void parts_set_up(struct parts *parts, struct parts_options options)
{
    *parts = (struct parts){.now_ms = 100000, .memory = memory_store_create()};
    parts->clock = turned_clock(&parts->now_ms);
    assert_int_equal(gate_store_create(&parts->memory->store, &parts->clock, &parts->gate), 0);
    parts_create_readers(parts, &options);
    parts->listings =
        (struct listing_source){.read = &parts->read, .read_ahead = parts->read_ahead};
}

static inline void parts_tear_down(struct parts *parts)
{
    read_ahead_destroy(parts->read_ahead);
    freshness_destroy(parts->freshness);
    overlay_destroy(parts->overlay);
    pending_destroy(parts->pending);
    fetcher_destroy(parts->fetcher);
    range_cache_destroy(parts->cache);
    table_store_destroy(parts->gate);
}

/* Partitions of these keys, a blank between them, in order; of `rows` rows each. */
static inline void parts_add(struct parts *parts, const char *keys, int rows)
{
    while (*keys) {
        struct bytes key = {keys, strcspn(keys, " ")};
        for (int i = 0; i < rows; i++) {
            char row[16];
            int size = snprintf(row, sizeof(row), "%05d", i);
            memory_store_add(parts->memory, key, (struct bytes){row, (size_t)size}, "etag");
        }
        keys += key.size + (keys[key.size] == ' ');
    }
}

/* Partitions p0000 and on. */
static inline void parts_add_many(struct parts *parts, int partitions, int rows)
{
    for (int i = 0; i < partitions; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        parts_add(parts, key, rows);
    }
}

static inline struct caller *parts_caller(struct parts *parts)
{
    parts->caller = (struct caller){.call = {.deadline_ms = parts->now_ms + PATIENCE_MS},
                                    .process = FIND,
                                    .patience_ms = PATIENCE_MS};
    return &parts->caller;
}

/* How many requests there are when no more come by themselves. */
static inline size_t parts_asked(struct parts *parts)
{
    return gate_store_settle(parts->gate);
}

/* What was asked at most a ttl ago. */
static inline struct stamp parts_since(struct parts *parts)
{
    return stamp_since(parts->now_ms - TTL_MS);
}

#endif
