#include "tests/unit/streaming.h"

#define ROW(partition, key) B(partition "\0" key)

/* 1: it is known, 0: not by this stream. */
static int reach(struct streaming *streaming, struct stream *stream, struct bytes position)
{
    struct page *page = NULL;
    int r = stream_reach(stream, streaming_caller(streaming), position, &page);
    if (r == 1) {
        struct question question = {
            "t", {position, B(POSITION_END)}, fetching_since_ttl(&streaming->fetching), false};
        struct buffer first;
        int64_t asked_ms;
        buffer_init(&first, STREAMED_MAX);
        assert_int_not_equal(fetching_known(&streaming->fetching, &question, &first, &asked_ms),
                             KNOWN_NOT);
        buffer_finish(&first);
    }
    page_unref(page);
    return r;
}

static void a_position_is_reached_unless_it_is_behind(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        streaming_add(&streaming, 10, 700);
        struct stream *stream = streaming_open_rows(&streaming);
        assert_int_equal(reach(&streaming, stream, B("p0000\0")), 1);
        assert_int_equal(reach(&streaming, stream, B("p0000\0")), 0); /* now it is behind */
        assert_int_equal(reach(&streaming, stream, ROW("p0003", "00500")), 1);
        assert_int_equal(reach(&streaming, stream, ROW("p0003", "00499")), 0);
        assert_int_equal(reach(&streaming, stream, ROW("p0004", "nothing here")), 1);
        assert_int_equal(reach(&streaming, stream, B("q")), 1); /* behind all: it is at its end */
        assert_int_equal(reach(&streaming, stream, B("p0009\0")), 0);
        assert_int_equal(reach(&streaming, stream, B("r")), 0);
        stream_unref(stream);
        streaming_tear_down(&streaming);
    }
}

/* Each request is let through when the reader waits for it. */
static int reach_slowly(struct streaming *streaming, struct stream *stream, struct bytes position)
{
    struct caller *caller = streaming_caller(streaming);
    struct streaming_toll toll = {.streaming = streaming};
    struct page *page = NULL;
    caller->call.is_cancelled = streaming_let_next;
    caller->call.context = &toll;
    int r = stream_reach(stream, caller, position, &page);
    page_unref(page);
    return r;
}

static void what_is_far_is_somebody_elses(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 2, (struct fetching_options){0});
    streaming_add(&streaming, 100, 1000);
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(reach_slowly(&streaming, stream, ROW("p0000", "00001")), 1);
    assert_int_equal(reach_slowly(&streaming, stream, ROW("p0099", "00001")), 0);
    assert_in_range(streaming_asked(&streaming), 1 + 4, 16); /* what is near is looked for */
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* However much runs ahead meanwhile. */
static void what_is_near_is_reached(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        streaming_add(&streaming, 60, 1000);
        struct stream *stream = streaming_open_rows(&streaming);
        assert_int_equal(reach(&streaming, stream, ROW("p0000", "00001")), 1);
        assert_int_equal(reach(&streaming, stream, ROW("p0002", "00001")), 1);
        assert_int_equal(reach(&streaming, stream, ROW("p0004", "00001")), 1);
        stream_unref(stream);
        streaming_tear_down(&streaming);
    }
}

static void read_all(struct streaming *streaming, struct stream *stream)
{
    struct scan_item item = {0};
    while (streaming_next(streaming, stream, &item) == 1)
        run_finish(&item.rows);
}

static void what_is_known_is_passed_without_a_request(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    streaming_add(&streaming, 40, 1000);
    struct stream *first = streaming_open_rows(&streaming);
    read_all(&streaming, first);
    stream_unref(first);
    size_t asked = streaming_settle(&streaming);
    struct stream *second = streaming_open_rows(&streaming);
    assert_int_equal(reach(&streaming, second, ROW("p0039", "00990")), 1); /* however far */
    assert_int_equal(streaming_settle(&streaming), asked);
    stream_unref(second);
    streaming_tear_down(&streaming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_reached_unless_it_is_behind),
        cmocka_unit_test(what_is_far_is_somebody_elses),
        cmocka_unit_test(what_is_near_is_reached),
        cmocka_unit_test(what_is_known_is_passed_without_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
