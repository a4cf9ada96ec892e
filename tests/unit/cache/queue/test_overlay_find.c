/* SPDX-License-Identifier: MIT */
/* The one look at what is known: it sends nothing. */
#include "tests/unit/cache/queue/overlay_fixture.h"

/* Looks at the range: what is known, how many rows begin there, from where on nothing is known. */
static void assert_look(struct setup *setup, struct range range, enum knowledge known, size_t rows,
                        struct bytes until, int64_t requested_ms)
{
    struct question question = question_of(setup, range);
    struct seen seen;
    struct position position;
    size_t before = asked(setup);
    assert_int_equal(overlay_find(setup->overlay, &question, &seen, &position), known);
    assert_int_equal(asked(setup), before); /* it sends nothing */
    assert_int_equal(seen.run.end - seen.run.begin, rows);
    if (rows > 0)
        assert_bytes(page_position(seen.run.page, seen.run.begin), range.lo);
    if (known == KNOWN_NOT)
        assert_bytes(position_bytes(&position), until);
    else
        assert_int_equal(seen.requested_ms, requested_ms);
    assert_int_equal(seen.fetched_rows, 0);
    assert_false(seen.was_fetched);
    run_finish(&seen.run);
}

static void a_look_tells_what_is_known_and_sends_nothing(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 5);
    int64_t began_ms = setup->fetching.now_ms;
    struct range all = {ROW("00000").lo, PARTITION.hi};
    struct question question = question_of(setup, all);
    struct bytes third = ROW("00003").lo, behind = ROW("00002").hi;
    assert_look(setup, PARTITION, KNOWN_NOT, 0, PARTITION.lo, 0);
    assert_int_equal(count_top(setup, &question, 3), 3);
    setup->fetching.now_ms += TTL_MS;
    assert_look(setup, all, KNOWN_ROWS, 3, B(""), began_ms);
    assert_look(setup, ROW("00001"), KNOWN_ROWS, 1, B(""), began_ms);
    assert_look(setup, (struct range){ROW("00001").hi, ROW("00002").lo}, KNOWN_EMPTY, 0, B(""),
                began_ms);
    assert_look(setup, (struct range){third, PARTITION.hi}, KNOWN_NOT, 0, third, 0);
    assert_look(setup, (struct range){behind, PARTITION.hi}, KNOWN_NOT, 0, behind, 0);
    assert_look(setup, PARTITION, KNOWN_NOT, 0, PARTITION.lo, 0); /* what lies before is unknown */
    setup->fetching.now_ms += 1;
    assert_look(setup, ROW("00001"), KNOWN_NOT, 0, ROW("00001").lo, 0);
}

/* A filter or a command line may name a key that no row can have. */
static void a_bound_may_be_longer_than_a_position(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    static char text[2 * POSITION_ROW_MAX_BYTES];
    struct on_miss on_miss = {.top = 1000};
    fetching_add_rows(&setup->fetching, "p", 5);
    memset(text, 'k', sizeof(text));
    struct bytes longer = {text, sizeof(text)}, shorter = {text, sizeof(text) - 1};
    const struct range ranges[] = {{longer, B("q")}, {B("a"), longer}, {shorter, longer}};
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        struct question question = question_of(setup, ranges[i]);
        assert_int_equal(count(setup, &question, &on_miss, &seen), i == 0 ? 5 : 0);
        size_t before = asked(setup);
        assert_int_equal(count(setup, &question, &on_miss, &seen), i == 0 ? 5 : 0);
        assert_int_equal(asked(setup), before);
    }
}

static void nothing_lies_behind_an_unsettled_key(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    const struct range ranges[] = {{B("u\xfe"
                                      "0\0"),
                                    B("u\xfe"
                                      "0\1")},
                                   {B("p\0u\xfe"
                                      "0"),
                                    B("p\0u\xfe"
                                      "0\1")}};
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        struct question question = question_of(setup, ranges[i]);
        assert_int_equal(overlay_find(setup->overlay, &question, &seen, NULL), KNOWN_EMPTY);
        assert_true(seen.was_overlaid); /* it is not to be kept */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(overlay, a_look_tells_what_is_known_and_sends_nothing),
        TEST_WITH(overlay, a_bound_may_be_longer_than_a_position),
        TEST_WITH(overlay, nothing_lies_behind_an_unsettled_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
