/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FETCHING_H
#define TESTS_UNIT_FETCHING_H
/* What the tests of reading share: a reader over a store behind a gate, and a clock that threads
 * may look at while the test turns it. */
#include "cache/known/fetcher.h"
#include "cache/queue/pending.h"
#include "client/store/retrying_store.h"
#include "tests/stores/faulty_store.h"
#include "tests/stores/gate_store.h"
#include "tests/stores/memory_store.h"
#include "tests/unit/pending_limits.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define TTL_MS      1000
#define PATIENCE_MS 60000

struct fetching {
    _Atomic int64_t now_ms;
    struct clock clock;
    struct memory_store *memory;
    struct table_store *store; /* the gate */
    _Atomic uint64_t orders;
    struct range_cache *cache;
    struct failure_log *failures;
    _Atomic size_t listed; /* how often tables were */
    struct fetcher *fetcher;
    struct pending *pending; /* for an overlay */
};

static inline int64_t turned_monotonic_ms(void *context)
{
    return atomic_load((_Atomic int64_t *)context);
}

static inline int64_t turned_utc_100ns(void *context)
{
    return atomic_load((_Atomic int64_t *)context) * TICKS_PER_MS;
}

static inline void turned_sleep_ms(void *context, int64_t ms)
{
    atomic_fetch_add((_Atomic int64_t *)context, ms);
}

static inline struct clock turned_clock(_Atomic int64_t *now_ms)
{
    return (struct clock){turned_monotonic_ms, turned_utc_100ns, turned_sleep_ms, now_ms};
}

struct fetching_options {
    const char *faults; /* of a faulty store; NULL: none */
    bool retries;
    bool is_ttl_0;
    size_t cache_bytes; /* 0: large */
};

static inline void fetching_note_listed(void *context, const struct page *tables,
                                        struct stamp stamp)
{
    (void)tables;
    (void)stamp;
    ((struct fetching *)context)->listed++;
}

static inline void fetching_set_up(struct fetching *fetching, struct fetching_options options)
{
    struct table_store *store;
    *fetching = (struct fetching){.memory = memory_store_create()};
    fetching->clock = turned_clock(&fetching->now_ms);
    atomic_init(&fetching->now_ms, 10 * (int64_t)TTL_MS);
    assert_int_equal(faulty_store_create(&fetching->memory->store, &fetching->clock,
                                         options.faults ? options.faults : "", &store),
                     0);
    const struct retrying_store_options retrying = {.timeout_ms = PATIENCE_MS};
    if (options.retries)
        assert_int_equal(retrying_store_create(store, &fetching->clock, &retrying, &store), 0);
    assert_int_equal(gate_store_create(store, &fetching->clock, &fetching->store), 0);
    size_t cache_bytes = options.cache_bytes > 0 ? options.cache_bytes : (size_t)64 << 20;
    assert_int_equal(range_cache_create(cache_bytes, &fetching->cache), 0);
    assert_int_equal(failure_log_create(NULL, NULL, &fetching->failures), 0);
    struct fetcher_source source = {.store = fetching->store,
                                    .cache = fetching->cache,
                                    .clock = &fetching->clock,
                                    .orders = &fetching->orders,
                                    .failures = fetching->failures,
                                    .listed = fetching_note_listed,
                                    .listed_context = fetching,
                                    .ttl_ms = options.is_ttl_0 ? 0 : TTL_MS};
    assert_int_equal(fetcher_create(&source, &fetching->fetcher), 0);
    assert_int_equal(pending_create(&no_limits, &fetching->clock, &fetching->pending), 0);
}

static inline void fetching_tear_down(struct fetching *fetching)
{
    pending_destroy(fetching->pending);
    fetcher_destroy(fetching->fetcher);
    failure_log_destroy(fetching->failures);
    range_cache_destroy(fetching->cache);
    table_store_destroy(fetching->store);
}

/* Rows 00000 to n - 1. */
static inline void fetching_add_rows(struct fetching *fetching, const char *partition, int n)
{
    for (int i = 0; i < n; i++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%05d", i);
        memory_store_add_strings(fetching->memory, partition, row);
    }
}

static inline struct caller fetching_caller(struct fetching *fetching)
{
    return (struct caller){.call = {.deadline_ms = atomic_load(&fetching->now_ms) + PATIENCE_MS},
                           .patience_ms = PATIENCE_MS};
}

/* Answers that were asked for at most a ttl ago. */
static inline struct stamp fetching_since_ttl(struct fetching *fetching)
{
    return stamp_since(atomic_load(&fetching->now_ms) - TTL_MS);
}

static inline void wait_for_requests(struct fetching *fetching, size_t n)
{
    while (gate_store_arrived(fetching->store) < n)
        (void)usleep(500);
}

static inline void wait_for_joined(struct fetching *fetching, uint64_t n)
{
    struct fetcher_stats stats = {0};
    for (; stats.joined < n; fetcher_stats(fetching->fetcher, &stats))
        (void)usleep(500);
}

/* The n-th request, from 1. */
static inline void assert_request(struct fetching *fetching, size_t n, int what, struct range range,
                                  int top)
{
    const struct memory_store_entry *entry = &fetching->memory->diary[n - 1];
    assert_true(n <= fetching->memory->asked);
    assert_int_equal(entry->what, what);
    assert_bytes(buffer_bytes(&entry->lo), range.lo);
    assert_bytes(buffer_bytes(&entry->hi), range.hi);
    assert_int_equal(entry->top, top);
}

/* What the cache knows of the row: its text, "" for none, NULL: nothing. Returns when it was asked
 * for; 0: nothing is known. */
static inline int64_t fetching_assert_known(struct fetching *fetching, struct range row,
                                            const char *expected)
{
    struct question question = {"t", row, fetching_since_ttl(fetching), false};
    struct run run = {0};
    int64_t requested_ms = 0;
    struct position until;
    enum knowledge known =
        range_cache_next(fetching->cache, &question, &run, &requested_ms, &until);
    assert_int_equal(known, !expected ? KNOWN_NOT : *expected ? KNOWN_ROWS : KNOWN_EMPTY);
    if (known == KNOWN_ROWS && expected)
        assert_bytes(page_text(run.page, run.begin), bytes_of(expected));
    run_finish(&run);
    return requested_ms;
}

/* What the cache knows; the first row's position where it is known. */
static inline enum knowledge fetching_known(struct fetching *fetching,
                                            const struct question *question,
                                            struct buffer *ret_position, int64_t *ret_requested_ms)
{
    struct run run = {0};
    struct position until;
    enum knowledge known =
        range_cache_next(fetching->cache, question, &run, ret_requested_ms, &until);
    buffer_clear(ret_position);
    if (known == KNOWN_ROWS)
        (void)buffer_append(ret_position, page_position(run.page, run.begin));
    run_finish(&run);
    return known;
}

DEFINE_FIXTURE(fetching, struct fetching, fetching_set_up(test, (struct fetching_options){0}),
               fetching_tear_down(test))

#endif
