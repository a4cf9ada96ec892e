/* SPDX-License-Identifier: MIT */
/* What scans ask of an overlay: what is known already, and answers made of it. */
#include "tests/unit/cache/queue/overlay_fixture.h"

#define LINE_MAX_BYTES ((size_t)1 << 16)
#define RANGE_FROM(lo) ((struct range){B(lo), B(POSITION_END)})

/* `partitions` named p0000, p0001 and on, with `rows` rows each. */
static void add_partitions(struct setup *setup, int partitions, int rows)
{
    for (int i = 0; i < partitions; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", i);
        fetching_add_rows(&setup->fetching, key, rows);
    }
}

static struct question question_about(struct setup *setup, struct range range, bool keys_suffice)
{
    struct question question = question_of(setup, range);
    question.keys_suffice = keys_suffice;
    return question;
}

/* Reads the first rows of the range into the cache. */
static void read_range(struct setup *setup, struct range range, int top, bool keys_only)
{
    struct question question = question_about(setup, range, keys_only);
    struct on_miss on_miss = {.top = top, .keys_only = keys_only};
    struct seen seen;
    assert_true(count(setup, &question, &on_miss, &seen) >= 0);
}

static int ask_keys(struct setup *setup, struct range range, int top, struct page **ret,
                    struct seen *ret_seen)
{
    struct question question = question_about(setup, range, true);
    setup->caller = fetching_caller(&setup->fetching);
    return overlay_keys(setup->overlay, &setup->caller, &question, top, ret, ret_seen);
}

/* "p0000/00000 p0000/00001 ", and how far the page tells all: "> p0000/00001+", or "." for the
 * whole range. */
static struct seen assert_keys(struct setup *setup, struct range range, int top,
                               const char *expected)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct seen seen = {0};
    _cleanup_(buffer_finish) struct buffer line = {.max = LINE_MAX_BYTES};
    assert_int_equal(ask_keys(setup, range, top, &page, &seen), 0);
    assert_true(page_is_keys_only(page) || page_rows(page) == 0);
    assert_bytes(page_range(page).lo, range.lo);
    for (size_t row = 0; row < page_rows(page); row++) {
        (void)buffer_append(&line, page_position(page, row));
        (void)buffer_append_char(&line, ' ');
    }
    bool is_all = bytes_equal(page_range(page).hi, range.hi);
    (void)buffer_append_string(&line, is_all ? "." : "> ");
    if (!is_all)
        (void)buffer_append(&line, page_range(page).hi);
    for (size_t i = 0; i < line.size; i++) {
        line.data[i] = (char)(line.data[i] == '\0' ? '/' : line.data[i]);
        line.data[i] = (char)(line.data[i] == POSITION_AFTER[0] ? '+' : line.data[i]);
    }
    assert_string_equal(buffer_string(&line), expected);
    return seen;
}

static void keys_are_asked_for_and_then_known(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    add_partitions(setup, 2, 2);
    static const char all[] = "p0000/00000 p0000/00001 p0001/00000 p0001/00001 > p0001/00001+";
    seen = assert_keys(setup, RANGE_ALL, 1000, all);
    assert_true(seen.was_fetched);
    assert_int_equal(asked(setup), 1);
    setup->fetching.now_ms += TTL_MS;
    seen = assert_keys(setup, RANGE_ALL, 1000, all);
    assert_false(seen.was_fetched);
    assert_int_equal(seen.requested_ms, 10 * TTL_MS);
    assert_int_equal(asked(setup), 1);
}

static void an_answer_says_how_far_it_tells_all(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 2, 3);
    (void)assert_keys(setup, RANGE_ALL, 2, "p0000/00000 p0000/00001 > p0000/00001+");
    (void)assert_keys(
        setup, (struct range){ROW_AT("p0000", "00001\x01"), B(POSITION_END)}, 2,
        "p0000/00002 > p0000/00002+"); /* one query asks for the rest of a partition */
    (void)assert_keys(setup, (struct range){B("p0000\x01"), B(POSITION_END)}, 3,
                      "p0001/00000 p0001/00001 p0001/00002 > p0001/00002+");
    (void)assert_keys(setup, (struct range){B("p0001\x01"), B(POSITION_END)}, 2, ".");
}

/* A known answer goes no further than `top`, and up to what comes next where that is known. */
static void a_known_answer_is_cut_at_its_top(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 2, 3);
    read_range(setup, RANGE_ALL, 1000, false);
    (void)assert_keys(setup, RANGE_ALL, 2, "p0000/00000 p0000/00001 > p0000/00001+");
    (void)assert_keys(setup, RANGE_ALL, 3, "p0000/00000 p0000/00001 p0000/00002 > p0000/00002+");
    (void)assert_keys(setup, (struct range){ROW_AT("p0001", "00002"), B(POSITION_END)}, 1,
                      "p0001/00002 > p0001/00002+");
    assert_int_equal(asked(setup), 1);
}

/* Also what says only that there is nothing more. */
/* What lies after the last key does not count. */
static void an_answer_is_as_old_as_the_oldest_of_it(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    add_partitions(setup, 2, 2);
    int64_t began_ms = setup->fetching.now_ms;
    read_range(setup, (struct range){B("p0001\0"), B(POSITION_END)}, 1000, false);
    setup->fetching.now_ms += TTL_MS / 2;
    read_range(setup, (struct range){B("p0000\0"), B("p0001\0")}, 1000, false);
    seen = assert_keys(setup, RANGE_FROM("p0000\0"), 2, "p0000/00000 p0000/00001 > p0000/00001+");
    assert_int_equal(seen.requested_ms, began_ms + TTL_MS / 2);
    seen = assert_keys(setup, (struct range){B("p0000\x01"), B(POSITION_END)}, 2,
                       "p0001/00000 p0001/00001 > p0001/00001+");
    assert_int_equal(seen.requested_ms, began_ms);
    assert_int_equal(asked(setup), 2);
}

static void a_failure_is_returned(void **state)
{
    (void)state;
    struct setup setup;
    struct page *page = NULL;
    struct seen seen = {0};
    set_up_with(&setup, (struct fetching_options){.faults = "fail=query:1:404:TableNotFound"});
    assert_int_equal(ask_keys(&setup, RANGE_ALL, 10, &page, &seen), -ENOENT);
    assert_null(page);
    assert_int_equal(setup.caller.call.failure.error, -ENOENT);
    tear_down(&setup);
}

/* The page's rows, -1: there is none. */
static int count_known(struct setup *setup, struct range range, bool keys_suffice)
{
    struct question question = question_about(setup, range, keys_suffice);
    struct page *page = overlay_known_page(setup->overlay, &question);
    int rows = page ? (int)page_rows(page) : -1;
    if (page)
        assert_true(range_holds(page_range(page), range.lo));
    page_unref(page);
    return rows;
}

static void a_known_page_begins_at_the_range(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 3, 3);
    struct range second = {B("p0001\0"), B("p0001\x01")};
    assert_int_equal(count_known(setup, RANGE_ALL, false), -1);
    read_range(setup, second, 1000, false);
    assert_int_equal(count_known(setup, second, false), 3);
    assert_int_equal(
        count_known(setup, (struct range){ROW_AT("p0001", "00001"), B(POSITION_END)}, false),
        3); /* more than was asked for, and less */
    assert_int_equal(count_known(setup, RANGE_ALL, false), -1); /* what lies before is not known */
    assert_int_equal(
        count_known(setup, (struct range){ROW_AT("p0001", "x"), ROW_AT("p0001", "y")}, false),
        0); /* surely nothing */
    assert_int_equal(count_known(setup, (struct range){ROW_AT("p0001", "x"), B("p0002\0")}, false),
                     -1);
    setup->fetching.now_ms += TTL_MS + 1;
    assert_int_equal(count_known(setup, second, false), -1);
}

static void a_page_of_keys_answers_questions_for_keys(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 1, 3);
    read_range(setup, RANGE_ALL, 1000, true);
    assert_int_equal(count_known(setup, RANGE_ALL, true), 3);
    assert_int_equal(count_known(setup, RANGE_ALL, false), -1);
}

/* The first position that is unknown, where no row lies before it; and where any is unknown. Empty:
 * there is none. */
static void assert_misses(struct setup *setup, struct range range, struct bytes missed_from,
                          struct bytes lacks_from)
{
    struct question question = question_about(setup, range, false);
    struct seen seen;
    struct position until;
    enum knowledge known = overlay_find(setup->overlay, &question, &seen, &until);
    run_finish(&seen.run);
    assert_int_equal(known == KNOWN_NOT, missed_from.size > 0);
    if (known == KNOWN_NOT)
        assert_bytes(position_bytes(&until), missed_from);
    assert_int_equal(overlay_lacks(setup->overlay, &question, &until), lacks_from.size > 0);
    if (lacks_from.size > 0)
        assert_bytes(position_bytes(&until), lacks_from);
}

static void a_miss_is_where_the_next_row_may_be(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 3, 3);
    struct range first = {B("p0000\0"), B("p0000\x01")}, third = {B("p0002\0"), B("p0002\x01")};
    struct range two = {B("p0000\0"), B("p0001\x01")}, all = {B("p0000\0"), B("p0002\x01")};
    assert_misses(setup, first, first.lo, first.lo);
    read_range(setup, first, 2, false);
    assert_misses(setup, first, B(""), ROW_AT("p0000", "00001\x01")); /* the third row is lacking */
    read_range(setup, (struct range){ROW_AT("p0000", "00001\x01"), first.hi}, 1000, false);
    assert_misses(setup, first, B(""), B(""));
    assert_misses(setup, two, B(""), first.hi);
    assert_misses(setup, (struct range){ROW_AT("p0000", "x"), two.hi}, first.hi, first.hi);
    read_range(setup, third, 1000, false);
    assert_misses(setup, all, B(""), first.hi); /* a hole in the midst */
    read_range(setup, (struct range){B("p0001\0"), B("p0001\x01")}, 1000, false);
    assert_misses(setup, two, B(""), first.hi); /* between them there may be partitions */
    setup->fetching.now_ms += TTL_MS + 1;
    assert_misses(setup, first, first.lo, first.lo);
}

static void a_whole_table_that_was_read_lacks_nothing(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup, 30, 100);
    read_range(setup, RANGE_ALL, 1000, false);
    assert_misses(setup, RANGE_ALL, B(""), ROW_AT("p0009", "00099\x01"));
    read_range(setup, (struct range){B("p0010\0"), B(POSITION_END)}, 1000, false);
    read_range(setup, (struct range){B("p0020\0"), B(POSITION_END)}, 1000, false);
    read_range(setup, (struct range){B("p0009\x01"), B("p0010\0")}, 1000, false);
    read_range(setup, (struct range){B("p0019\x01"), B("p0020\0")}, 1000, false);
    assert_misses(setup, RANGE_ALL, B(""), ROW_AT("p0009", "00099\x01"));
    read_range(setup, (struct range){ROW_AT("p0009", "00099\x01"), B("p0009\x01")}, 1000, false);
    assert_misses(setup, RANGE_ALL, B(""), ROW_AT("p0019", "00099\x01"));
    read_range(setup, (struct range){ROW_AT("p0019", "00099\x01"), B("p0019\x01")}, 1000, false);
    assert_misses(setup, RANGE_ALL, B(""), B(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(overlay, keys_are_asked_for_and_then_known),
        TEST_WITH(overlay, an_answer_says_how_far_it_tells_all),
        TEST_WITH(overlay, a_known_answer_is_cut_at_its_top),
        TEST_WITH(overlay, an_answer_is_as_old_as_the_oldest_of_it),
        cmocka_unit_test(a_failure_is_returned),
        TEST_WITH(overlay, a_known_page_begins_at_the_range),
        TEST_WITH(overlay, a_page_of_keys_answers_questions_for_keys),
        TEST_WITH(overlay, a_miss_is_where_the_next_row_may_be),
        TEST_WITH(overlay, a_whole_table_that_was_read_lacks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
