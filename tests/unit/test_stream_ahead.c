/* How far a stream runs ahead of its reader. */
#include "tests/unit/streaming.h"

#define LONG_AGO      5000 /* ms: what was taken then was not taken of late */
#define VERY_LONG_AGO 6000
#define SOME_TIME_AGO 200 /* not of late any more, and no slow reader */
#define STEPS         20  /* of a slow reader */

static void take(struct streaming *streaming, struct stream *stream)
{
    struct scan_item item = {0};
    assert_int_equal(streaming_next(streaming, stream, &item), 1);
    run_finish(&item.rows);
}

/* Beside pages, guesses that were wrong are sent: after each take at most as many as there is room
 * for. */
static void a_reader_that_takes_nothing_gets_little_ahead(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        fetching_add_rows(&streaming.fetching, "p", 50000);
        gate_store_let(streaming.fetching.store, 0);
        struct stream *stream = streaming_open_rows(&streaming);
        streaming_look_in_vain(&streaming, stream);
        gate_store_let(streaming.fetching.store, GATE_OPEN);
        assert_int_equal(streaming_settle_with(&streaming, 1), 1);
        take(&streaming, stream);
        assert_int_equal(streaming_settle(&streaming), 1); /* it may have wanted just that */
        take(&streaming, stream);
        size_t asked = streaming_settle_with(&streaming, 2 + 1);
        assert_in_range(asked, 2 + 1, 2 + 2 + 8 + 2 * (parallelism - 1));
        stream_unref(stream);
        streaming_tear_down(&streaming);
    }
}

static void a_slow_reader_gets_little_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0}); /* nothing is guessed */
    fetching_add_rows(&streaming.fetching, "p", 50000);
    struct stream *stream = streaming_open_rows(&streaming);
    for (size_t i = 1; i <= STEPS; i++) {
        take(&streaming, stream);
        assert_true(streaming_settle(&streaming) <= i + 2 + 4);
        streaming.fetching.now_ms += LONG_AGO;
    }
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

static void who_wants_few_pages_gets_no_others(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        fetching_add_rows(&streaming.fetching, "p", 50000);
        struct stream *stream = streaming_open_rows(&streaming);
        take(&streaming, stream);
        stream_want(stream, 2);
        take(&streaming, stream);
        assert_int_equal(streaming_settle_with(&streaming, 4),
                         4); /* one is wanted, one more is certain */
        stream_want(stream, 0);
        take(&streaming, stream);
        assert_int_equal(streaming_settle(&streaming), 4);
        stream_want(stream, 5);
        take(&streaming, stream);
        streaming_await_asked(&streaming, 8);
        stream_unref(stream);
        streaming_tear_down(&streaming);
    }
}

/* What came long before it is taken would be too old. */
static void a_very_slow_reader_gets_nothing_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 8, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 50000);
    struct stream *stream = streaming_open_rows(&streaming);
    for (size_t i = 1; i <= STEPS; i++) {
        take(&streaming, stream);
        assert_int_equal(streaming_settle(&streaming), i);
        streaming.fetching.now_ms += VERY_LONG_AGO;
    }
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* How long the reader waits is the service's time, not its own. */
static void a_very_slow_service_is_read_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 50000);
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_rows(&streaming);
    for (size_t i = 1; i <= 2; i++) {
        streaming_look_in_vain(&streaming, stream);
        assert_int_equal(streaming_settle_with(&streaming, i), i);
        streaming.fetching.now_ms += VERY_LONG_AGO;
        gate_store_let(streaming.fetching.store, i);
        take(&streaming, stream);
    }
    assert_int_equal(streaming_settle_with(&streaming, 2 + 1), 2 + 1);
    gate_store_let(streaming.fetching.store, GATE_OPEN);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* The partitions from p0020 on are too busy, say. */
static int fail_far(struct memory_store *self, size_t number, struct call *call)
{
    struct bytes lo = buffer_bytes(&self->diary[number - 1].lo);
    return bytes_compare(lo, B("p0020")) >= 0 ? call_fail(call, -EIO, "far") : 0;
}

static int fail_all(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EIO, "all");
}

/* Takes all that was let through the gate, however late it comes. */
static void take_what_was_let(struct streaming *streaming, struct stream *stream, size_t let)
{
    struct request_window_stats stats = {.in_flight = INT32_MAX};
    struct scan_item item = {0};
    bool has_come;
    do {
        has_come = (size_t)stats.in_flight <= streaming_asked(streaming) - let;
        while (stream_next(stream, streaming_caller(streaming), false, &item) == 1)
            run_finish(&item.rows);
        request_window_stats(streaming->window, &stats);
    } while (!has_come);
}

/* Until what the reader comes to next is at the gate, and something ahead of it, too. */
static void hold_some(struct streaming *streaming, struct stream *stream)
{
    size_t let;
    do {
        let = streaming_asked(streaming);
        assert_true(let < 60);
        gate_store_let(streaming->fetching.store, let);
        take_what_was_let(streaming, stream, let);
    } while (streaming_settle(streaming) < let + 2);
}

static void what_fails_ahead_is_no_progress(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item = {0};
    streaming_set_up(&streaming, 8, (struct fetching_options){0});
    streaming_add(&streaming, 40, 1500);
    struct stream *stream = streaming_open_rows(&streaming);
    for (int i = 0; i < 10; i++)
        take(&streaming, stream);
    hold_some(&streaming, stream);
    streaming.fetching.memory->fault = fail_all;
    struct caller *caller = streaming_caller(&streaming);
    int64_t deadline_ms = streaming.fetching.now_ms + PATIENCE_MS / 2;
    caller->call.deadline_ms = deadline_ms;
    gate_store_let(streaming.fetching.store, GATE_OPEN);
    assert_int_equal(stream_next(stream, caller, true, &item), -EIO);
    assert_int_equal(caller->call.deadline_ms, deadline_ms);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

static void what_fails_ahead_is_told_in_its_place(void **state)
{
    (void)state;
    for (int parallelism = 4; parallelism <= 8; parallelism *= 2) {
        struct streaming streaming;
        struct scan_item item = {0};
        size_t rows = 0;
        int r;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        streaming_add(&streaming, 40, 1500);
        streaming.fetching.memory->fault = fail_far;
        struct stream *stream = streaming_open_rows(&streaming);
        while ((r = streaming_next(&streaming, stream, &item)) == 1) {
            rows += item.rows.end - item.rows.begin;
            run_finish(&item.rows);
        }
        assert_int_equal(r, -EIO);
        assert_true(rows >= (size_t)20 * 1500);
        (void)streaming_settle(&streaming);
        streaming.fetching.memory->fault = NULL;
        while ((r = streaming_next(&streaming, stream, &item)) == 1) {
            rows += item.rows.end - item.rows.begin;
            run_finish(&item.rows);
        }
        assert_int_equal(r, 0);
        assert_int_equal(rows, 40 * 1500);
        stream_unref(stream);
        streaming_tear_down(&streaming);
    }
}

/* Of the pages that come, every second is let go, as one that came from too far ahead. */
struct forgetful {
    struct scan scan, *inner;
    size_t told;
};

static bool forgetful_ask(struct scan *scan, int idle, struct scan_request *ret)
{
    return scan_ask(((struct forgetful *)scan)->inner, idle, ret);
}

static int forgetful_tell(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct forgetful *self = (struct forgetful *)scan;
    if (self->told++ % 2 > 0)
        return scan_tell(self->inner, id, answer);
    scan_give_back(self->inner, id);
    answer_finish(answer);
    return 0;
}

static void forgetful_give_back(struct scan *scan, uint64_t id)
{
    scan_give_back(((struct forgetful *)scan)->inner, id);
}

static enum scan_state forgetful_take(struct scan *scan, struct scan_item *ret)
{
    return scan_take(((struct forgetful *)scan)->inner, ret);
}

static double forgetful_waiting(const struct scan *scan)
{
    return scan_waiting(((const struct forgetful *)scan)->inner);
}

static void forgetful_destroy(struct scan *scan)
{
    scan_destroy(((struct forgetful *)scan)->inner);
    free(scan);
}

static const struct scan_ops forgetful_ops = {.ask = forgetful_ask,
                                              .tell = forgetful_tell,
                                              .give_back = forgetful_give_back,
                                              .take = forgetful_take,
                                              .waiting = forgetful_waiting,
                                              .destroy = forgetful_destroy};

static struct scan *new_forgetful(void)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS};
    struct forgetful *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    self->scan.ops = &forgetful_ops;
    assert_int_equal(scan_rows_create(RANGE_ALL, &limits, &self->inner), 0);
    return &self->scan;
}

/* What was let go is in the cache: all requests at the gate are for pages that come for good. */
static void what_was_let_go_does_not_count_as_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0}); /* nothing is guessed */
    fetching_add_rows(&streaming.fetching, "p", 50000);
    struct stream *stream = streaming_open(&streaming, new_forgetful(), false);
    take(&streaming, stream);
    streaming.fetching.now_ms += LONG_AGO;
    for (size_t i = 2; i <= STEPS; i++) {
        take(&streaming, stream);
        streaming_await_asked(&streaming, i + 2 + 4);
        assert_int_equal(streaming_settle(&streaming), i + 2 + 4);
        streaming.fetching.now_ms += LONG_AGO;
    }
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* A page tells ten: it is taken when these are. */
static void keys_count_as_the_pages_that_tell_them(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    streaming_add(&streaming, 400, 100);
    struct stream *stream = streaming_open_partitions(&streaming);
    for (size_t page = 1; page <= STEPS; page++) {
        for (int key = 0; key < 10; key++)
            take(&streaming, stream);
        if (page > 1)
            streaming_await_asked(&streaming, page + 2);
        assert_true(streaming_settle(&streaming) <= page + 2 + 4);
        streaming.fetching.now_ms += LONG_AGO;
    }
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* What is in flight comes; then nothing, until it looks. */
static void a_reader_that_pauses_gets_nothing_more(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 50000);
    gate_store_let(streaming.fetching.store, 2);
    struct stream *stream = streaming_open_rows(&streaming);
    take(&streaming, stream);
    take(&streaming, stream);
    streaming_await_asked(&streaming, 3);
    stream_pause(stream);
    stream_pause(stream);
    assert_int_equal(streaming.live, 0);
    gate_store_let(streaming.fetching.store, GATE_OPEN);
    assert_int_equal(streaming_settle(&streaming), 3);
    streaming.fetching.now_ms += VERY_LONG_AGO; /* it was not busy with a page meanwhile */
    take(&streaming, stream);
    assert_int_equal(streaming.live, 1);
    streaming_await_asked(&streaming, 3 + 2);
    stream_pause(stream);
    stream_unref(stream);
    streaming_tear_down(&streaming);
    assert_int_equal(streaming.live, 0);
}

/* It may run on as far as any other. */
static void a_pause_ends_with_a_window_of_its_own(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_limits narrow = {.page_rows = TABLE_STORE_PAGE_ROWS, .window_bytes = 1};
    struct scan *scan;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 50000);
    assert_int_equal(scan_rows_create(RANGE_ALL, &narrow, &scan), 0);
    struct stream *stream = streaming_open(&streaming, scan, false);
    for (int i = 0; i < 4; i++)
        take(&streaming, stream);
    assert_in_range(streaming_settle(&streaming), 4, 4 + 1);
    stream_pause(stream);
    take(&streaming, stream);
    streaming_await_asked(&streaming, 5 + 4);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* Each partition is a page. */
static void come_to(struct streaming *streaming, struct stream *stream, int partition)
{
    char key[8];
    struct page *page = NULL;
    (void)snprintf(key, sizeof(key), "p%04d", partition);
    assert_int_equal(stream_reach(stream, streaming_caller(streaming), bytes_of(key), &page),
                     REACH_IN_CACHE);
    page_unref(page);
}

/* A walker that lists a directory first, and then goes through what that brought. */
static void who_goes_through_what_it_took_before_is_read_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    streaming_add(&streaming, 60, 1000);
    struct stream *stream = streaming_open_rows(&streaming);
    for (int i = 0; i < STEPS; i++) {
        size_t taken = (size_t)i + 1;
        come_to(&streaming, stream, i);
        size_t expected = taken == 1 ? 1 : taken + 2 + 4;
        assert_int_equal(streaming_settle_with(&streaming, expected), expected);
        streaming.fetching.now_ms += SOME_TIME_AGO;
    }
    for (int i = 1; i < STEPS; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        stream_follow(stream, bytes_of(key));
        streaming.fetching.now_ms += 10;
    }
    assert_int_equal(streaming_settle_with(&streaming, 60), 60);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_takes_nothing_gets_little_ahead),
        cmocka_unit_test(a_slow_reader_gets_little_ahead),
        cmocka_unit_test(who_wants_few_pages_gets_no_others),
        cmocka_unit_test(a_very_slow_reader_gets_nothing_ahead),
        cmocka_unit_test(a_very_slow_service_is_read_ahead),
        cmocka_unit_test(what_fails_ahead_is_told_in_its_place),
        cmocka_unit_test(what_fails_ahead_is_no_progress),
        cmocka_unit_test(what_was_let_go_does_not_count_as_ahead),
        cmocka_unit_test(keys_count_as_the_pages_that_tell_them),
        cmocka_unit_test(a_reader_that_pauses_gets_nothing_more),
        cmocka_unit_test(a_pause_ends_with_a_window_of_its_own),
        cmocka_unit_test(who_goes_through_what_it_took_before_is_read_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
