#include "tests/unit/taking.h"

static void all_rows_come_in_order_with(int parallelism)
{
    struct streaming streaming;
    streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "large", 12345);
    streaming_add(&streaming, 60, 123);
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(streaming_settle(&streaming), 0); /* opening sends nothing */
    assert_int_equal(take_all_rows(&streaming, stream), 12345 + 60 * 123);
    struct scan_item item;
    assert_int_equal(streaming_next(&streaming, stream, &item), 0); /* and stays at its end */
    stream_unref(stream);
    streaming_stop(&streaming);
    assert_true(streaming_asked(&streaming) <= 23 + 20); /* 1.15 N/1000 + 20 */
    streaming_tear_down(&streaming);
}

static void all_rows_come_in_order_and_once(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++)
        all_rows_come_in_order_with(parallelism);
}

static void an_empty_table_ends_at_once(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 4, (struct fetching_options){0});
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(take_all_rows(&streaming, stream), 0);
    assert_int_equal(streaming_asked(&streaming), 1);
    stream_unref(stream);
    assert_names(&streaming, streaming_open_partitions(&streaming), "");
    assert_names(&streaming, streaming_open_level(&streaming, 512), "");
    assert_int_equal(streaming_asked(&streaming), 1); /* it is known to be empty */
    streaming_tear_down(&streaming);
}

static const char five[] = "p0000 p0001 p0002 p0003 p0004 ";

static void known_names_cost_no_request(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        streaming_add(&streaming, 5, 3);
        assert_names(&streaming, streaming_open_partitions(&streaming), five);
        size_t asked = streaming_settle(&streaming);
        assert_true(asked >= 1);
        assert_names(&streaming, streaming_open_partitions(&streaming), five);
        assert_names(&streaming, streaming_open_level(&streaming, 5), five);
        assert_int_equal(streaming_settle(&streaming), asked);
        streaming.fetching.now_ms += TTL_MS + 1;
        assert_names(&streaming, streaming_open_partitions(&streaming), five);
        assert_true(streaming_settle(&streaming) > asked);
        streaming_tear_down(&streaming);
    }
}

static void known_prefixes_cost_no_request(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 4, (struct fetching_options){0});
    streaming_add(&streaming, 35, 2);
    static const char expected[] = "p000+ p001+ p002+ p003+ ";
    assert_names(&streaming, streaming_open_level(&streaming, 20), expected);
    size_t asked = streaming_settle(&streaming);
    assert_names(&streaming, streaming_open_level(&streaming, 20), expected);
    assert_int_equal(streaming_settle(&streaming), asked);
    streaming_tear_down(&streaming);
}

/* A stream of 3,500 rows that were all read. */
static struct stream *set_up_read(struct streaming *streaming)
{
    streaming_set_up(streaming, 4, (struct fetching_options){0});
    streaming_add(streaming, 5, 700);
    struct stream *stream = streaming_open_rows(streaming);
    assert_int_equal(take_all_rows(streaming, stream), 3500);
    return stream;
}

static void rows_that_are_known_tell_names(void **state)
{
    (void)state;
    struct streaming streaming;
    struct stream *stream = set_up_read(&streaming);
    size_t asked = streaming_settle(&streaming);
    assert_names(&streaming, streaming_open_partitions(&streaming), five);
    assert_int_equal(streaming_settle(&streaming), asked);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

/* The names of all partitions, told by rows that are as old as `since` allows. */
static void assert_old_names(struct streaming *streaming, bool is_eager)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS, .keys_only = true};
    struct caller opener = fetching_caller(&streaming->fetching);
    struct stream_options options = {
        .table = "t", .since = stamp_since(0), .is_of_keys = true, .is_eager = is_eager};
    struct stream *stream;
    assert_int_equal(scan_partitions_create(RANGE_ALL, &limits, &options.scan), 0);
    assert_int_equal(stream_open(&streaming->source, &options, &opener, &stream), 0);
    assert_names(streaming, stream, five);
}

/* Whose names are all wanted at once does not let them grow older. */
static void what_is_wanted_at_once_may_be_old(void **state)
{
    (void)state;
    struct streaming streaming;
    stream_unref(set_up_read(&streaming));
    size_t asked = streaming_settle(&streaming);
    streaming.fetching.now_ms += STREAM_KEPT_MS / 2;
    assert_old_names(&streaming, false);
    assert_int_equal(streaming_settle(&streaming), asked);
    streaming.fetching.now_ms += STREAM_KEPT_MS / 2;
    assert_old_names(&streaming, true);
    assert_int_equal(streaming_settle(&streaming), asked);
    assert_old_names(&streaming, false);
    assert_true(streaming_settle(&streaming) > asked);
    asked = streaming_settle(&streaming);
    streaming.fetching.now_ms += STREAM_KEPT_MS + 1;
    assert_old_names(&streaming, true);
    assert_true(streaming_settle(&streaming) > asked);
    streaming_tear_down(&streaming);
}

static int fail_third(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number == 3 ? call_fail(call, -EIO, "the third fails") : 0;
}

/* One request after the other: so the first two pages come, then the error, then the rest. */
static void a_failure_comes_in_its_place(void **state)
{
    (void)state;
    struct streaming streaming;
    struct taken taken;
    taken_init(&taken);
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 5000);
    streaming.fetching.memory->fault = fail_third;
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(take_rows(&streaming, stream, &taken), 1);
    assert_int_equal(take_rows(&streaming, stream, &taken), 1);
    assert_int_equal(taken.rows, 2000);
    assert_int_equal(streaming_settle_with(&streaming, 3), 3); /* what is behind it is not sent */
    assert_int_equal(take_rows(&streaming, stream, &taken), -EIO);
    assert_string_equal(streaming.caller.call.failure.message, "the third fails");
    assert_int_equal(streaming_settle(&streaming), 3);
    while (take_rows(&streaming, stream, &taken) == 1)
        continue;
    assert_int_equal(taken.rows, 5000);
    stream_unref(stream);
    buffer_finish(&taken.last);
    streaming_tear_down(&streaming);
}

static int fail_some(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number % 5 == 3 ? call_fail(call, -EIO, "one in five fails") : 0;
}

static void with_many_failures_nothing_is_lost(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct streaming streaming;
        struct taken taken;
        int r, failures = 0;
        taken_init(&taken);
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        fetching_add_rows(&streaming.fetching, "large", 12345);
        streaming_add(&streaming, 60, 123);
        streaming.fetching.memory->fault = fail_some;
        struct stream *stream = streaming_open_rows(&streaming);
        while ((r = take_rows(&streaming, stream, &taken)) != 0) {
            assert_true(r == 1 || r == -EIO);
            failures += r < 0;
        }
        assert_int_equal(taken.rows, 12345 + 60 * 123);
        assert_in_range(failures, 1, 8);
        stream_unref(stream);
        buffer_finish(&taken.last);
        streaming_tear_down(&streaming);
    }
}

static int fail_always(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -ENOENT, "no such table");
}

static void each_call_tells_a_failure_that_lasts(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item;
    streaming_set_up(&streaming, 4, (struct fetching_options){0});
    streaming.fetching.memory->fault = fail_always;
    struct stream *rows = streaming_open_rows(&streaming);
    struct stream *names = streaming_open_level(&streaming, 5);
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(streaming_next(&streaming, rows, &item), -ENOENT);
        assert_int_equal(streaming_next(&streaming, names, &item), -ENOENT);
    }
    stream_unref(rows);
    stream_unref(names);
    streaming_tear_down(&streaming);
}

/* The gate is shut: nothing is known that could be read ahead, and what is on its way is not sent
 * again. */
static void a_reader_that_is_interrupted_may_come_back(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        fetching_add_rows(&streaming.fetching, "p", 2500);
        gate_store_let(streaming.fetching.store, 0);
        struct stream *stream = streaming_open_rows(&streaming);
        for (int i = 0; i < 3; i++) {
            streaming_look_in_vain(&streaming, stream);
            assert_int_equal(streaming_settle_with(&streaming, 1), 1);
        }
        gate_store_let(streaming.fetching.store, GATE_OPEN);
        assert_int_equal(take_all_rows(&streaming, stream), 2500);
        stream_unref(stream);
        streaming_stop(&streaming);
        if (parallelism == 1) /* else some guess where rows may be, more where threads are slow */
            assert_int_equal(streaming_asked(&streaming), 3);
        streaming_tear_down(&streaming);
    }
}

static int next_now(struct streaming *streaming, struct stream *stream, struct scan_item *ret)
{
    int r = stream_next(stream, streaming_caller(streaming), false, ret);
    assert_int_equal(streaming->caller.call.failure.error, r == -EAGAIN ? 0 : MIN(r, 0));
    return r;
}

/* What it does not wait for is asked as far as the stream runs ahead. */
static void who_may_not_wait_takes_what_is_there(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item;
    size_t rows = 0;
    streaming_set_up(&streaming, 4,
                     (struct fetching_options){.faults = "fail=query:4:403:AuthorizationFailure"});
    fetching_add_rows(&streaming.fetching, "p", 9000);
    struct stream *stream = streaming_open_rows(&streaming);
    size_t waits = 0;
    for (int r = 1; r != 0;) {
        (void)streaming_settle(&streaming);
        r = next_now(&streaming, stream, &item);
        if (r == -EAGAIN && ++waits > 0)
            r = stream_next(stream, streaming_caller(&streaming), true, &item);
        assert_true(r == 0 || r == 1 || r == -EACCES);
        rows += r == 1 ? item.rows.end - item.rows.begin : 0;
        if (r == 1)
            run_finish(&item.rows);
    }
    assert_in_range(waits, 2, 5); /* for the first two pages, and around the failure */
    assert_int_equal(rows, 9000);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

static void a_reader_waits_until_its_deadline(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item;
    streaming_set_up(&streaming, 2, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 2500);
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_rows(&streaming);
    struct caller *caller = streaming_caller(&streaming);
    *caller = (struct caller){.call = {.deadline_ms = streaming.fetching.now_ms + 1000,
                                       .is_cancelled = streaming_turn_1_s,
                                       .context = &streaming},
                              .patience_ms = 1000};
    assert_int_equal(stream_next(stream, caller, true, &item), -ETIMEDOUT);
    assert_string_equal(caller->call.failure.message, "no answer in time");
    gate_store_let(streaming.fetching.store, GATE_OPEN); /* the request had more of it */
    assert_int_equal(take_all_rows(&streaming, stream), 2500);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

static void an_answer_puts_the_deadline_off(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item;
    streaming_set_up(&streaming, 1, (struct fetching_options){0});
    streaming_add(&streaming, 600, 20); /* many answers are needed to know that they are so many */
    gate_store_let(streaming.fetching.store, 0);
    struct stream *stream = streaming_open_level(&streaming, 512);
    struct caller *caller = streaming_caller(&streaming);
    *caller =
        (struct caller){.call = {.deadline_ms = streaming.fetching.now_ms + 1000,
                                 .is_cancelled = streaming_let_next,
                                 .context = &(struct streaming_toll){.streaming = &streaming}},
                        .patience_ms = 1000};
    assert_int_equal(stream_next(stream, caller, true, &item), 1);
    assert_int_equal(item.kind, SCAN_PREFIX);
    assert_true(streaming_asked(&streaming) > 3);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

static void who_leaves_waits_for_nobody(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct streaming streaming;
        streaming_set_up(&streaming, parallelism, (struct fetching_options){0});
        streaming_add(&streaming, 5, 3000);
        struct taken taken;
        taken_init(&taken);
        gate_store_let(streaming.fetching.store, 2);
        struct stream *stream = streaming_open_rows(&streaming);
        assert_int_equal(take_rows(&streaming, stream, &taken), 1);
        assert_int_equal(take_rows(&streaming, stream, &taken), 1);
        streaming_await_asked(&streaming, 3);
        stream_unref(stream);                             /* requests are at the gate */
        worker_pool_destroy(TAKE_PTR(streaming.workers)); /* all have ended */
        buffer_finish(&taken.last);
        streaming_tear_down(&streaming);
    }
}

static void a_closing_account_sends_nothing(void **state)
{
    (void)state;
    struct streaming streaming;
    struct scan_item item;
    streaming_set_up(&streaming, 2, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 5000);
    struct stream *begun = streaming_open_rows(&streaming);
    struct stream *new = streaming_open_rows(&streaming);
    gate_store_let(streaming.fetching.store, 0);
    streaming_look_in_vain(&streaming, begun);
    streaming_await_asked(&streaming, 1);
    streaming_stop(&streaming); /* ends what is at the gate */
    assert_int_equal(streaming_asked(&streaming), 1);
    assert_int_equal(streaming_next(&streaming, begun, &item), -EINTR); /* what was sent */
    assert_int_equal(streaming_next(&streaming, begun, &item), -EINTR); /* what cannot be */
    assert_int_equal(streaming_next(&streaming, new, &item), -EINTR);
    assert_string_equal(streaming.caller.call.failure.message, "the account is closed");
    assert_int_equal(streaming_asked(&streaming), 1);
    stream_unref(begun);
    stream_unref(new);
    streaming_tear_down(&streaming);
}

static void a_full_window_starves_nobody(void **state)
{
    (void)state;
    struct streaming streaming;
    streaming_set_up(&streaming, 2, (struct fetching_options){0});
    fetching_add_rows(&streaming.fetching, "p", 3500);
    while (request_window_enter(streaming.window)) /* another stream's, for long */
        continue;
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(take_all_rows(&streaming, stream), 3500);
    assert_int_equal(streaming_settle(&streaming), 4); /* one at a time: nothing is guessed */
    stream_unref(stream);
    assert_names(&streaming, streaming_open_partitions(&streaming), "p ");
    for (int i = 0; i < 2; i++)
        request_window_leave(streaming.window, REQUEST_OTHER, 0, 0);
    streaming_tear_down(&streaming);
}

static void throttling_shrinks_the_window(void **state)
{
    (void)state;
    struct streaming streaming;
    struct request_window_stats stats;
    streaming_set_up(
        &streaming, 8,
        (struct fetching_options){.faults = "fail=query:8:503:ServerBusy", .retries = true});
    streaming_add(&streaming, 20, 1900);
    struct stream *stream = streaming_open_rows(&streaming);
    assert_int_equal(take_all_rows(&streaming, stream), 20 * 1900);
    request_window_stats(streaming.window, &stats);
    assert_true(stats.shrunk >= 1);
    stream_unref(stream);
    streaming_tear_down(&streaming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_come_in_order_and_once),
        cmocka_unit_test(an_empty_table_ends_at_once),
        cmocka_unit_test(known_names_cost_no_request),
        cmocka_unit_test(known_prefixes_cost_no_request),
        cmocka_unit_test(rows_that_are_known_tell_names),
        cmocka_unit_test(what_is_wanted_at_once_may_be_old),
        cmocka_unit_test(a_failure_comes_in_its_place),
        cmocka_unit_test(with_many_failures_nothing_is_lost),
        cmocka_unit_test(each_call_tells_a_failure_that_lasts),
        cmocka_unit_test(a_reader_that_is_interrupted_may_come_back),
        cmocka_unit_test(who_may_not_wait_takes_what_is_there),
        cmocka_unit_test(a_reader_waits_until_its_deadline),
        cmocka_unit_test(an_answer_puts_the_deadline_off),
        cmocka_unit_test(who_leaves_waits_for_nobody),
        cmocka_unit_test(a_closing_account_sends_nothing),
        cmocka_unit_test(a_full_window_starves_nobody),
        cmocka_unit_test(throttling_shrinks_the_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
