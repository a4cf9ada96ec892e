/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_AHEAD_PREFETCHING_H
#define TESTS_UNIT_CACHE_AHEAD_PREFETCHING_H
/* What the tests of prefetchers and traversals share: all that a prefetcher needs, over a store
 * behind a gate, and consumers that take rows or names in order. A gate that is shut holds each
 * request until the test lets it through. */
#include "cache/ahead/prefetcher.h"
#include "tests/unit/cache/ahead/idle_pool.h"
#include "tests/unit/fetching.h"

#define PREFETCHED_MAX  ((size_t)1 << 20) /* bytes of a test's notes */
#define PREFETCHED_KEPT 30000             /* ms */

struct prefetching {
    struct fetching fetching;
    struct overlay *overlay;
    struct worker_pool *workers;
    struct request_window *window;
    _Atomic bool is_closing;
    _Atomic size_t live;
    struct prefetcher_source source;
    struct caller caller; /* of the last question */
};

static inline void prefetching_set_up(struct prefetching *setup, int parallelism,
                                      struct fetching_options options)
{
    struct fetching *fetching = &setup->fetching;
    *setup = (struct prefetching){0};
    fetching_set_up(fetching, options);
    assert_int_equal(
        overlay_create(fetching->cache, fetching->fetcher, fetching->pending, &setup->overlay), 0);
    assert_int_equal(worker_pool_create(parallelism, &setup->workers), 0);
    assert_int_equal(request_window_create(parallelism, &setup->window), 0);
    setup->source = (struct prefetcher_source){.fetcher = fetching->fetcher,
                                               .overlay = setup->overlay,
                                               .workers = setup->workers,
                                               .window = setup->window,
                                               .clock = &fetching->clock,
                                               .kept_ms = PREFETCHED_KEPT,
                                               .ahead_bytes = (size_t)64 << 20,
                                               .live = &setup->live,
                                               .is_closing = &setup->is_closing};
}

/* All that was sent has ended. Nothing may be sent any more. */
static inline void prefetching_stop(struct prefetching *setup)
{
    atomic_store(&setup->is_closing, true);
    worker_pool_destroy(setup->workers);
    setup->workers = NULL;
}

static inline void prefetching_tear_down(struct prefetching *setup)
{
    struct request_window_stats stats;
    prefetching_stop(setup);
    request_window_stats(setup->window, &stats);
    assert_int_equal(stats.in_flight, 0); /* each request that entered has left */
    assert_int_equal(setup->live, 0);
    request_window_destroy(setup->window);
    overlay_destroy(setup->overlay);
    fetching_tear_down(&setup->fetching);
}

/* The caller of the next question. */
static inline struct caller *prefetching_caller(struct prefetching *setup)
{
    setup->caller = fetching_caller(&setup->fetching);
    return &setup->caller;
}

/* How many requests there were when no more come by themselves. Not where one waits at the gate. */
static inline size_t prefetching_asked(struct prefetching *setup)
{
    if (setup->workers)
        wait_for_idle_pool(setup->workers);
    return gate_store_arrived(setup->fetching.store);
}

/* Requests that were sent and have not ended. While the gate is shut no other comes by itself. */
static inline int prefetching_in_flight(struct prefetching *setup)
{
    struct request_window_stats stats;
    request_window_stats(setup->window, &stats);
    return stats.in_flight;
}

/* `partitions` named p0000, p0001 and on, with `rows` rows each. */
static inline void prefetching_add(struct prefetching *setup, int partitions, int rows)
{
    for (int i = 0; i < partitions; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        fetching_add_rows(&setup->fetching, key, rows);
    }
}

/* Over the whole table. */
static inline struct prefetcher *open_with(struct prefetching *setup,
                                           const struct prefetcher_options *options)
{
    struct caller opener = fetching_caller(&setup->fetching);
    struct prefetcher *prefetcher;
    assert_int_equal(prefetcher_create(&setup->source, options, &opener, &prefetcher), 0);
    return prefetcher;
}

static inline struct prefetcher *open_kind_of(struct prefetching *setup, const char *table,
                                              enum read_kind kind, struct stamp since)
{
    return open_with(setup, &(struct prefetcher_options){
                                .kind = kind, .table = table, .range = RANGE_ALL, .since = since});
}

static inline struct prefetcher *open_kind(struct prefetching *setup, enum read_kind kind,
                                           struct stamp since)
{
    return open_kind_of(setup, "t", kind, since);
}

static inline struct prefetcher *open_rows(struct prefetching *setup)
{
    return open_kind(setup, READ_ROWS, fetching_since_ttl(&setup->fetching));
}

static inline struct prefetcher *open_partitions(struct prefetching *setup)
{
    return open_kind(setup, READ_PARTITIONS, fetching_since_ttl(&setup->fetching));
}

static inline struct prefetcher *open_level(struct prefetching *setup, int fanout)
{
    return open_with(setup,
                     &(struct prefetcher_options){.kind = READ_LEVEL,
                                                  .table = "t",
                                                  .range = RANGE_ALL,
                                                  .since = fetching_since_ttl(&setup->fetching),
                                                  .fanout = fanout});
}

/* --- consumers */

static inline int take_item(struct prefetching *setup, struct prefetcher *prefetcher,
                            struct scan_item *ret)
{
    int r = prefetcher_next(prefetcher, prefetching_caller(setup), true, ret);
    assert_int_equal(setup->caller.call.failure.error, MIN(r, 0));
    return r;
}

/* One item, of rows or of keys. */
static inline void take(struct prefetching *setup, struct prefetcher *prefetcher)
{
    struct scan_item item = {0};
    assert_int_equal(take_item(setup, prefetcher, &item), 1);
    run_finish(&item.rows);
}

/* Rows so far; each is after the one before. */
struct taken {
    size_t rows;
    struct buffer last; /* position, or name */
};

#define TAKEN_NONE                                                                                 \
    {                                                                                              \
        .last = {.max = PREFETCHED_MAX }                                                           \
    }

static inline void taken_finish(struct taken *taken)
{
    buffer_finish(&taken->last);
}

static inline void take_position(struct taken *taken, struct bytes position)
{
    assert_true(bytes_compare(buffer_bytes(&taken->last), position) < 0);
    buffer_clear(&taken->last);
    assert_int_equal(buffer_append(&taken->last, position), 0);
    taken->rows++;
}

/* What begins at the position, with texts: enum known; the first row's position. */
static inline int known_at(struct fetching *fetching, struct bytes position, struct stamp since,
                           struct buffer *ret)
{
    struct question question = {"t", {position, B(POSITION_END)}, since, false};
    int64_t requested_ms;
    return fetching_known(fetching, &question, ret, &requested_ms);
}

/* Rows are in the cache before the consumer has them. */
static inline void assert_cached(struct prefetching *setup, const struct run *rows)
{
    struct bytes first = page_position(rows->page, rows->begin);
    _cleanup_(buffer_finish) struct buffer position = {.max = PREFETCHED_MAX};
    assert_int_equal(known_at(&setup->fetching, first, stamp_since(0), &position), KNOWN_ROWS);
    assert_bytes(buffer_bytes(&position), first);
}

/* The next rows: 1, 0 at the end, or what failed. */
static inline int take_rows(struct prefetching *setup, struct prefetcher *prefetcher,
                            struct taken *taken)
{
    struct scan_item item = {0};
    int r = take_item(setup, prefetcher, &item);
    if (r < 1)
        return r;
    assert_int_equal(item.kind, SCAN_ROWS);
    assert_true(item.rows.begin < item.rows.end);
    for (size_t row = item.rows.begin; row < item.rows.end; row++)
        take_position(taken, page_position(item.rows.page, row));
    assert_cached(setup, &item.rows);
    run_finish(&item.rows);
    return 1;
}

static inline size_t take_all_rows(struct prefetching *setup, struct prefetcher *prefetcher)
{
    _cleanup_(taken_finish) struct taken taken = TAKEN_NONE;
    int r;
    while ((r = take_rows(setup, prefetcher, &taken)) == 1)
        continue;
    assert_int_equal(r, 0);
    return taken.rows;
}

/* All names, as "p0000 " or, of a prefix, "p+ ". */
static inline void take_names(struct prefetching *setup, struct prefetcher *prefetcher,
                              struct buffer *ret)
{
    struct scan_item item = {0};
    int r;
    while ((r = take_item(setup, prefetcher, &item)) == 1) {
        assert_int_not_equal(item.kind, SCAN_ROWS);
        (void)buffer_append(ret, item.key);
        (void)buffer_append_string(ret, item.kind == SCAN_PREFIX ? "+ " : " ");
    }
    assert_int_equal(r, 0);
    prefetcher_leave(prefetcher);
}

static inline void assert_names(struct prefetching *setup, struct prefetcher *prefetcher,
                                const char *expected)
{
    _cleanup_(buffer_finish) struct buffer names = {.max = PREFETCHED_MAX};
    take_names(setup, prefetcher, &names);
    assert_string_equal(buffer_string(&names), expected);
}

/* --- callers that do something at each look */

static inline bool is_cancelled_always(void *context)
{
    (void)context;
    return true;
}

/* A second goes by. */
static inline bool turn_1_s(void *context)
{
    ((struct prefetching *)context)->fetching.now_ms += 1001;
    return false;
}

/* Whenever a request is at the gate, 900 ms go by and it is let through. */
struct toll {
    struct fetching *fetching;
    size_t let; /* requests */
};

static inline bool let_next(void *context)
{
    struct toll *toll = context;
    size_t asked = gate_store_arrived(toll->fetching->store);
    if (asked > toll->let) {
        toll->let = asked;
        toll->fetching->now_ms += 900;
        gate_store_let(toll->fetching->store, asked);
    }
    return false;
}

/* One look: what it sends stays at the gate, and the consumer does not wait for it. */
static inline void look_in_vain(struct prefetching *setup, struct prefetcher *prefetcher)
{
    struct scan_item item;
    struct caller *caller = prefetching_caller(setup);
    caller->call.is_cancelled = is_cancelled_always;
    assert_int_equal(prefetcher_next(prefetcher, caller, true, &item), -EINTR);
    assert_int_equal(caller->call.failure.error, -EINTR);
}

#endif
