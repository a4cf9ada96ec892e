/* Streams where no thread can be made: their readers send by themselves. */
#include "tests/unit/refused_threads.h"
#include "tests/unit/taking.h"

/* Of 9,500 rows. */
static struct stream *set_up_alone(struct streaming *streaming, struct rlimit *before)
{
    streaming_set_up(streaming, 4, (struct fetching_options){0});
    streaming_add(streaming, 5, 1900);
    struct stream *stream = streaming_open_rows(streaming);
    if (!refuse_threads(before))
        skip();
    return stream;
}

/* The reader sends by itself, and no more than it waits for. */
static void without_a_thread_everything_comes(void **state)
{
    (void)state;
    struct streaming streaming;
    struct rlimit before;
    struct taken taken;
    taken_init(&taken);
    struct stream *stream = set_up_alone(&streaming, &before);
    int r = take_rows(&streaming, stream, &taken);
    size_t asked = streaming_asked(&streaming);
    while (r == 1)
        r = take_rows(&streaming, stream, &taken);
    stream_unref(stream);
    stream = streaming_open_level(&streaming, 512);
    struct buffer names;
    buffer_init(&names, STREAMED_MAX);
    take_names(&streaming, stream, &names);
    allow_threads(&before);
    assert_int_equal(r, 0);
    assert_int_equal(taken.rows, 5 * 1900);
    assert_in_range(asked, 1, 2);
    assert_string_equal(buffer_string(&names), "p0000 p0001 p0002 p0003 p0004 ");
    buffer_finish(&names);
    buffer_finish(&taken.last);
    streaming_tear_down(&streaming);
}

/* Whoever does not wait for it is not held up by a request. */
static void without_a_thread_nothing_is_sent_ahead(void **state)
{
    (void)state;
    struct streaming streaming;
    struct rlimit before;
    struct taken taken;
    struct scan_item item;
    taken_init(&taken);
    struct stream *stream = set_up_alone(&streaming, &before);
    int r = stream_next(stream, streaming_caller(&streaming), false, &item);
    size_t asked = streaming_asked(&streaming);
    for (int i = 0; i < 3; i++)
        (void)take_rows(&streaming, stream, &taken);
    stream_follow(stream, B("p0004"));
    allow_threads(&before);
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(asked, 0);
    assert_int_equal(streaming_asked(&streaming), 3);
    assert_int_equal(taken.rows, 3000);
    while ((r = take_rows(&streaming, stream, &taken)) == 1)
        continue;
    assert_int_equal(r, 0);
    assert_int_equal(taken.rows, 5 * 1900);
    stream_unref(stream);
    buffer_finish(&taken.last);
    streaming_tear_down(&streaming);
}

/* Then the request is the reader's own: interrupted as he is, and with his deadline. */
static void without_a_thread_a_reader_may_leave(void **state)
{
    (void)state;
    struct streaming streaming;
    struct rlimit before;
    struct scan_item item;
    streaming_set_up(&streaming, 4, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 2500);
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_rows(&streaming);
    if (!refuse_threads(&before))
        skip();
    struct caller interrupted = fetching_caller(&streaming.fetching);
    interrupted.call.is_cancelled = streaming_is_cancelled;
    int r = stream_next(stream, &interrupted, true, &item);
    struct caller late = fetching_caller(&streaming.fetching);
    late.call = (struct call){.deadline_ms = streaming.fetching.now_ms + 1000,
                              .is_cancelled = streaming_turn_1_s,
                              .context = &streaming};
    int late_r = stream_next(stream, &late, true, &item);
    allow_threads(&before);
    assert_int_equal(r, -EINTR);
    assert_int_equal(interrupted.call.failure.error, -EINTR);
    assert_int_equal(late_r, -ETIMEDOUT);
    assert_int_equal(late.call.failure.error, -ETIMEDOUT);
    assert_int_equal(streaming_asked(&streaming), 2);
    gate_store_let(streaming.fetching.store, GATE_OPEN);
    assert_int_equal(take_all_rows(&streaming, stream), 2500); /* nobody is told of it again */
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* Many answers are needed, each at the end of his patience. */
static void without_a_thread_an_answer_puts_the_deadline_off(void **state)
{
    (void)state;
    struct streaming streaming;
    struct rlimit before;
    struct scan_item item;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    streaming_add(&streaming, 600, 20);
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_level(&streaming, 512);
    if (!refuse_threads(&before))
        skip();
    struct streaming_toll toll = {.streaming = &streaming};
    struct caller caller = {.call = {.deadline_ms = streaming.fetching.now_ms + 1000,
                                     .is_cancelled = streaming_let_next,
                                     .context = &toll},
                            .patience_ms = 1000};
    int r = stream_next(stream, &caller, true, &item);
    allow_threads(&before);
    assert_int_equal(r, 1);
    assert_true(streaming_asked(&streaming) > 3);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_thread_everything_comes),
        cmocka_unit_test(without_a_thread_nothing_is_sent_ahead),
        cmocka_unit_test(without_a_thread_a_reader_may_leave),
        cmocka_unit_test(without_a_thread_an_answer_puts_the_deadline_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
