/* What scans ask of an overlay: what is known already, and answers made of it. */
#include "tests/unit/streaming.h"

#define ROW(partition, key) B(partition "\0" key)
#define RANGE_FROM(lo)      ((struct range){B(lo), B(POSITION_END)})

struct setup {
    struct streaming streaming;
    struct seen seen; /* of the last question */
};

static void set_up(struct setup *setup)
{
    streaming_set_up(&setup->streaming, 1, (struct fetching_options){0});
}

static void tear_down(struct setup *setup)
{
    streaming_tear_down(&setup->streaming);
}

static struct question question_of(struct setup *setup, struct range range, bool keys_suffice)
{
    return (struct question){"t", range, fetching_since_ttl(&setup->streaming.fetching),
                             keys_suffice};
}

/* Reads the first rows of the range into the cache. */
static void read_range(struct setup *setup, struct range range, int top, bool keys_only)
{
    struct question question = question_of(setup, range, keys_only);
    struct ahead ahead = {.top = top, .keys_only = keys_only};
    struct seen seen = {0};
    int r = overlay_next(setup->streaming.overlay, streaming_caller(&setup->streaming), &question,
                         &ahead, &seen);
    assert_in_range(r, 0, 1);
    run_finish(&seen.run);
}

/* "p0000/00000 p0000/00001 ", and where it goes on, "> p0000/00001+", or "." at the end. */
static void assert_keys(struct setup *setup, struct range range, int top, const char *expected)
{
    struct question question = question_of(setup, range, true);
    struct ahead ahead = {.top = top, .keys_only = true};
    struct answer answer = {0};
    struct buffer line;
    buffer_init(&line, STREAMED_MAX);
    setup->seen = (struct seen){0};
    assert_int_equal(overlay_keys(setup->streaming.overlay, streaming_caller(&setup->streaming),
                                  &question, &ahead, &answer, &setup->seen),
                     0);
    assert_true(page_is_keys_only(answer.page));
    assert_bytes(page_range(answer.page).lo, range.lo);
    for (size_t row = 0; row < page_rows(answer.page); row++) {
        (void)buffer_append(&line, page_position(answer.page, row));
        (void)buffer_append_char(&line, ' ');
    }
    (void)buffer_append_string(&line, answer.next ? "> " : ".");
    if (answer.next) {
        (void)buffer_append(&line, continuation_position(answer.next));
        assert_bytes(page_range(answer.page).hi, continuation_position(answer.next));
        assert_int_equal(continuation_token(answer.next).size, 0);
    } else {
        assert_bytes(page_range(answer.page).hi, range.hi);
    }
    for (size_t i = 0; i < line.size; i++) {
        line.data[i] = (char)(line.data[i] == '\0' ? '/' : line.data[i]);
        line.data[i] = (char)(line.data[i] == POSITION_AFTER[0] ? '+' : line.data[i]);
    }
    assert_string_equal(buffer_string(&line), expected);
    buffer_finish(&line);
    answer_finish(&answer);
}

static void keys_are_asked_for_and_then_known(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 2, 2);
    static const char all[] = "p0000/00000 p0000/00001 p0001/00000 p0001/00001 .";
    assert_keys(&setup, RANGE_ALL, 1000, all);
    assert_true(setup.seen.was_fetched);
    assert_int_equal(streaming_asked(&setup.streaming), 1);
    setup.streaming.fetching.now_ms += TTL_MS;
    assert_keys(&setup, RANGE_ALL, 1000, all);
    assert_false(setup.seen.was_fetched);
    assert_int_equal(setup.seen.asked_ms, 10 * TTL_MS);
    assert_int_equal(streaming_asked(&setup.streaming), 1);
    tear_down(&setup);
}

static void an_answer_says_how_far_it_tells_all(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 2, 3);
    assert_keys(&setup, RANGE_ALL, 2, "p0000/00000 p0000/00001 > p0000/00001+");
    assert_keys(&setup, (struct range){ROW("p0000", "00001\x01"), B(POSITION_END)}, 2,
                "p0000/00002 > p0000+"); /* one query asks for the rest of a partition */
    assert_keys(&setup, (struct range){B("p0000\x01"), B(POSITION_END)}, 3,
                "p0001/00000 p0001/00001 p0001/00002 .");
    assert_keys(&setup, (struct range){B("p0001\x01"), B(POSITION_END)}, 2, ".");
    tear_down(&setup);
}

/* A known answer goes no further than `top`, and up to what comes next where that is known. */
static void a_known_answer_is_cut_at_its_top(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 2, 3);
    read_range(&setup, RANGE_ALL, 1000, false);
    assert_keys(&setup, RANGE_ALL, 2, "p0000/00000 p0000/00001 > p0000/00002");
    assert_keys(&setup, RANGE_ALL, 3, "p0000/00000 p0000/00001 p0000/00002 > p0001/00000");
    assert_keys(&setup, (struct range){ROW("p0001", "00002"), B(POSITION_END)}, 1, "p0001/00002 .");
    assert_int_equal(streaming_asked(&setup.streaming), 1);
    tear_down(&setup);
}

/* Also what says only that there is nothing more. */
static void an_answer_is_as_old_as_the_oldest_of_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 2, 2);
    int64_t began_ms = setup.streaming.fetching.now_ms;
    read_range(&setup, (struct range){B("p0001\0"), B(POSITION_END)}, 1000, false);
    setup.streaming.fetching.now_ms += TTL_MS / 2;
    read_range(&setup, (struct range){B("p0000\0"), B("p0001\0")}, 1000, false);
    assert_keys(&setup, (struct range){B("p0000\0"), B("p0001\0")}, 1000,
                "p0000/00000 p0000/00001 .");
    assert_int_equal(setup.seen.asked_ms, began_ms + TTL_MS / 2);
    assert_keys(&setup, RANGE_FROM("p0000\0"), 1, "p0000/00000 > p0000/00001");
    assert_int_equal(setup.seen.asked_ms, began_ms + TTL_MS / 2);
    assert_keys(&setup, RANGE_FROM("p0000\0"), 2, "p0000/00000 p0000/00001 > p0001/00000");
    assert_int_equal(setup.seen.asked_ms, began_ms);
    assert_int_equal(streaming_asked(&setup.streaming), 2);
    tear_down(&setup);
}

static void what_fails_is_told(void **state)
{
    (void)state;
    struct setup setup;
    struct question question;
    struct ahead ahead = {.top = 10, .keys_only = true};
    struct answer answer = {0};
    streaming_set_up(&setup.streaming, 1,
                     (struct fetching_options){.faults = "fail=query:1:404:TableNotFound"});
    question = question_of(&setup, RANGE_ALL, true);
    assert_int_equal(overlay_keys(setup.streaming.overlay, streaming_caller(&setup.streaming),
                                  &question, &ahead, &answer, &setup.seen),
                     -ENOENT);
    assert_null(answer.page);
    assert_int_equal(setup.streaming.caller.call.failure.error, -ENOENT);
    tear_down(&setup);
}

/* The page's rows, -1: there is none. */
static int count_known(struct setup *setup, struct range range, bool keys_suffice)
{
    struct question question = question_of(setup, range, keys_suffice);
    struct page *page = overlay_known_page(setup->streaming.overlay, &question);
    int rows = page ? (int)page_rows(page) : -1;
    if (page)
        assert_true(range_holds(page_range(page), range.lo));
    page_unref(page);
    return rows;
}

static void a_known_page_begins_at_the_range(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 3, 3);
    struct range second = {B("p0001\0"), B("p0001\x01")};
    assert_int_equal(count_known(&setup, RANGE_ALL, false), -1);
    read_range(&setup, second, 1000, false);
    assert_int_equal(count_known(&setup, second, false), 3);
    assert_int_equal(
        count_known(&setup, (struct range){ROW("p0001", "00001"), B(POSITION_END)}, false),
        3); /* more than was asked for, and less */
    assert_int_equal(count_known(&setup, RANGE_ALL, false), -1); /* what lies before is not known */
    assert_int_equal(
        count_known(&setup, (struct range){ROW("p0001", "x"), ROW("p0001", "y")}, false),
        0); /* surely nothing */
    assert_int_equal(count_known(&setup, (struct range){ROW("p0001", "x"), B("p0002\0")}, false),
                     -1);
    setup.streaming.fetching.now_ms += TTL_MS + 1;
    assert_int_equal(count_known(&setup, second, false), -1);
    tear_down(&setup);
}

static void a_page_of_keys_is_known_to_who_wants_keys(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 1, 3);
    read_range(&setup, RANGE_ALL, 1000, true);
    assert_int_equal(count_known(&setup, RANGE_ALL, true), 3);
    assert_int_equal(count_known(&setup, RANGE_ALL, false), -1);
    tear_down(&setup);
}

/* "" where it answers no. */
static void assert_misses(struct setup *setup, struct range range, struct bytes missed_from,
                          struct bytes lacks_from)
{
    struct question question = question_of(setup, range, false);
    struct buffer until;
    buffer_init(&until, STREAMED_MAX);
    assert_int_equal(overlay_misses(setup->streaming.overlay, &question, &until),
                     missed_from.size > 0);
    assert_bytes(buffer_bytes(&until), missed_from);
    assert_int_equal(overlay_lacks(setup->streaming.overlay, &question, &until),
                     lacks_from.size > 0);
    if (lacks_from.size > 0)
        assert_bytes(buffer_bytes(&until), lacks_from);
    buffer_finish(&until);
}

static void a_miss_is_where_the_next_row_may_be(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 3, 3);
    struct range first = {B("p0000\0"), B("p0000\x01")}, third = {B("p0002\0"), B("p0002\x01")};
    struct range two = {B("p0000\0"), B("p0001\x01")}, all = {B("p0000\0"), B("p0002\x01")};
    assert_misses(&setup, first, first.lo, first.lo);
    read_range(&setup, first, 2, false);
    assert_misses(&setup, first, B(""), ROW("p0000", "00001\x01")); /* the third row is lacking */
    read_range(&setup, (struct range){ROW("p0000", "00001\x01"), first.hi}, 1000, false);
    assert_misses(&setup, first, B(""), B(""));
    assert_misses(&setup, two, B(""), first.hi);
    assert_misses(&setup, (struct range){ROW("p0000", "x"), two.hi}, first.hi, first.hi);
    read_range(&setup, third, 1000, false);
    assert_misses(&setup, all, B(""), first.hi); /* a hole in the midst */
    read_range(&setup, (struct range){B("p0001\0"), B("p0001\x01")}, 1000, false);
    assert_misses(&setup, two, B(""), first.hi); /* between them there may be partitions */
    setup.streaming.fetching.now_ms += TTL_MS + 1;
    assert_misses(&setup, first, first.lo, first.lo);
    tear_down(&setup);
}

static void a_whole_table_that_was_read_lacks_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    streaming_add(&setup.streaming, 30, 100);
    struct stream *stream = streaming_open_rows(&setup.streaming);
    struct scan_item item;
    while (streaming_next(&setup.streaming, stream, &item) == 1)
        run_finish(&item.rows);
    stream_unref(stream);
    assert_misses(&setup, RANGE_ALL, B(""), B(""));
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_asked_for_and_then_known),
        cmocka_unit_test(an_answer_says_how_far_it_tells_all),
        cmocka_unit_test(a_known_answer_is_cut_at_its_top),
        cmocka_unit_test(an_answer_is_as_old_as_the_oldest_of_it),
        cmocka_unit_test(what_fails_is_told),
        cmocka_unit_test(a_known_page_begins_at_the_range),
        cmocka_unit_test(a_page_of_keys_is_known_to_who_wants_keys),
        cmocka_unit_test(a_miss_is_where_the_next_row_may_be),
        cmocka_unit_test(a_whole_table_that_was_read_lacks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
