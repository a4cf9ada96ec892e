#ifndef TESTS_UNIT_STREAMING_H
#define TESTS_UNIT_STREAMING_H
/* What the tests of streams and walks share: all that a stream needs, over a store behind a gate. A
 * gate that is shut holds each request until the test lets it through. */
#include "cache/read/stream.h"
#include "tests/unit/fetching.h"

#define STREAMED_MAX ((size_t)1 << 20) /* bytes of a test's notes */

struct streaming {
    struct fetching fetching;
    struct overlay *overlay;
    struct worker_pool *workers;
    struct request_window *window;
    _Atomic bool is_closing;
    _Atomic size_t live;
    struct stream_source source;
    struct caller caller; /* of the last question */
};

static inline void streaming_set_up(struct streaming *streaming, int parallelism,
                                    struct fetching_options options)
{
    struct fetching *fetching = &streaming->fetching;
    *streaming = (struct streaming){0};
    fetching_set_up(fetching, options);
    assert_int_equal(overlay_create(fetching->cache, fetching->reader, &streaming->overlay), 0);
    assert_int_equal(worker_pool_create(parallelism, &streaming->workers), 0);
    assert_int_equal(request_window_create(parallelism, &streaming->window), 0);
    streaming->source = (struct stream_source){.reader = fetching->reader,
                                               .overlay = streaming->overlay,
                                               .workers = streaming->workers,
                                               .window = streaming->window,
                                               .clock = &fetching->clock,
                                               .kept_ms = STREAM_KEPT_MS,
                                               .window_bytes = (size_t)64 << 20,
                                               .live = &streaming->live,
                                               .is_closing = &streaming->is_closing};
}

/* All that was sent has ended. Nothing may be sent any more. */
static inline void streaming_stop(struct streaming *streaming)
{
    atomic_store(&streaming->is_closing, true);
    worker_pool_destroy(streaming->workers);
    streaming->workers = NULL;
}

static inline void streaming_tear_down(struct streaming *streaming)
{
    struct request_window_stats stats;
    streaming_stop(streaming);
    request_window_stats(streaming->window, &stats);
    assert_int_equal(stats.in_flight, 0); /* whoever entered has left */
    request_window_destroy(streaming->window);
    overlay_destroy(streaming->overlay);
    fetching_tear_down(&streaming->fetching);
}

/* The caller of the next question. */
static inline struct caller *streaming_caller(struct streaming *streaming)
{
    streaming->caller = fetching_caller(&streaming->fetching);
    return &streaming->caller;
}

static inline size_t streaming_asked(struct streaming *streaming)
{
    return gate_store_arrived(streaming->fetching.store);
}

static inline void streaming_await_asked(struct streaming *streaming, size_t n)
{
    wait_for_requests(&streaming->fetching, n);
}

/* How many requests there are when no more come by themselves. */
static inline size_t streaming_settle(struct streaming *streaming)
{
    return gate_store_settle(streaming->fetching.store);
}

/* The same where so many are sure to come, however late their threads get to run. */
static inline size_t streaming_settle_with(struct streaming *streaming, size_t n)
{
    streaming_await_asked(streaming, n);
    return streaming_settle(streaming);
}

/* `partitions` named p0000, p0001 and on, with `rows` rows each. */
static inline void streaming_add(struct streaming *streaming, int partitions, int rows)
{
    for (int i = 0; i < partitions; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        fetching_add_rows(&streaming->fetching, key, rows);
    }
}

static inline struct stream *streaming_open(struct streaming *streaming, struct scan *scan,
                                            bool is_of_keys)
{
    struct caller opener = fetching_caller(&streaming->fetching);
    struct stream *stream;
    struct stream_options options = {.table = "t",
                                     .scan = scan,
                                     .since = fetching_since_ttl(&streaming->fetching),
                                     .is_of_keys = is_of_keys};
    assert_int_equal(stream_open(&streaming->source, &options, &opener, &stream), 0);
    return stream;
}

/* All rows of the table. */
static inline struct stream *streaming_open_rows(struct streaming *streaming)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = (size_t)32 << 20};
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &limits, &scan), 0);
    return streaming_open(streaming, scan, false);
}

static inline struct stream *streaming_open_partitions(struct streaming *streaming)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS, .keys_only = true};
    struct scan *scan;
    assert_int_equal(scan_partitions_create(RANGE_ALL, &limits, &scan), 0);
    return streaming_open(streaming, scan, true);
}

static inline struct stream *streaming_open_level(struct streaming *streaming, int fanout)
{
    struct scan_limits limits = {
        .page_rows = TABLE_STORE_PAGE_ROWS, .fanout = fanout, .keys_only = true};
    struct scan *scan;
    assert_int_equal(scan_level_create(BYTES_LITERAL(""), &limits, &scan), 0);
    return streaming_open(streaming, scan, true);
}

static inline int streaming_next(struct streaming *streaming, struct stream *stream,
                                 struct scan_item *ret)
{
    int r = stream_next(stream, streaming_caller(streaming), true, ret);
    assert_int_equal(streaming->caller.call.failure.error, MIN(r, 0));
    return r;
}

static inline bool streaming_is_cancelled(void *context)
{
    (void)context;
    return true;
}

/* At each look a second has gone by. */
static inline bool streaming_turn_1_s(void *context)
{
    struct streaming *streaming = context;
    streaming->fetching.now_ms += 1001;
    return false;
}

/* One look: what it sends stays at the gate, and the reader does not wait for it. */
static inline void streaming_look_in_vain(struct streaming *streaming, struct stream *stream)
{
    struct scan_item item;
    struct caller *caller = streaming_caller(streaming);
    caller->call.is_cancelled = streaming_is_cancelled;
    assert_int_equal(stream_next(stream, caller, true, &item), -EINTR);
    assert_int_equal(caller->call.failure.error, -EINTR);
}

struct streaming_toll {
    struct streaming *streaming;
    size_t let; /* requests */
};

/* Whenever a request is at the gate, 900 ms go by and it is let through. */
static inline bool streaming_let_next(void *context)
{
    struct streaming_toll *toll = context;
    size_t asked = streaming_asked(toll->streaming);
    if (asked > toll->let) {
        toll->let = asked;
        toll->streaming->fetching.now_ms += 900;
        gate_store_let(toll->streaming->fetching.store, asked);
    }
    return false;
}

#endif
