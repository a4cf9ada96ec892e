/* SPDX-License-Identifier: MIT */
/* Deleted rows in a range map. */
#include "tests/unit/cache/known/range_map_fixture.h"

#include "tests/unit/failing_memory.h"

/* The rows: words with a blank between, in ascending order. */
static int put_gone_rows(struct fixture *f, const char *rows, int64_t answered_ms, uint64_t order)
{
    struct bytes positions[16];
    size_t count = 0;
    for (; *rows; count++) {
        positions[count] = (struct bytes){rows, strcspn(rows, " ")};
        rows += positions[count].size + (rows[positions[count].size] == ' ');
    }
    struct stamp stamp = {answered_ms, order};
    int r = range_map_put_gone(&f->map, positions, count, stamp, &f->queue);
    assert_is_sound(f);
    return r;
}

static void gone(struct fixture *f, const char *rows, uint64_t order)
{
    assert_int_equal(put_gone_rows(f, rows, at(order).requested_ms, order), 0);
}

static int64_t asked_ms_at(struct fixture *f, const char *position)
{
    struct piece *piece = range_map_youngest(&f->map, bytes_of(position));
    assert_non_null(piece);
    return piece->page->stamp.requested_ms;
}

static void deleted_rows_are_one_range_where_no_other_is_between(void **state)
{
    struct fixture *f = *state;
    (void)put(f, "", "e", "a b c d", "text", 1);
    gone(f, "a b d", 2);
    assert_string_equal(dump(f), "-a:1 a-b\x01:2 b\x01-d:1 d-d\x01:2 d\x01-e:1 | ");
    gone(f, "c", 3);
    assert_string_equal(dump(f), "-a:1 a-d\x01:3 d\x01-e:1 | ");
    assert_int_equal(free_removed(f), 2);
}

static void a_gap_that_is_not_known_is_not_bridged(void **state)
{
    struct fixture *f = *state;
    gone(f, "b d", 2);
    assert_string_equal(dump(f), "b-b\x01:2 d-d\x01:2 | ");
    (void)put(f, "b", "c", "", "", 3);
    gone(f, "f", 4); /* nothing is known before it */
    (void)put(f, "c\x01", "d", "", "", 5);
    gone(f, "d", 6); /* known from c' on alone */
    assert_string_equal(dump(f), "b-c:3 c\x01-d:5 d-d\x01:6 f-f\x01:4 | ");
}

/* From answers of several pages, of texts and of keys. */
static void a_gap_may_rest_on_several_pages(void **state)
{
    struct fixture *f = *state;
    (void)put(f, "a", "c", "b", "text", 3);
    (void)put(f, "c", "g", "e", NULL, 1);
    (void)put(f, "d", "e", "", "", 4);
    gone(f, "b e", 5);
    assert_string_equal(dump(f), "a-b:3 b-e\x01:5 | e\x01-g:1 ");
    assert_int_equal(asked_ms_at(f, "b"), 9); /* the oldest, less 1 ms */
}

/* Texts know of no row between, younger keys know one; and the other way round. */
static void the_youngest_answer_decides_of_a_gap(void **state)
{
    struct fixture *f = *state;
    (void)put(f, "a", "g", "b e", "text", 1);
    (void)put(f, "a", "g", "b c e", NULL, 2);
    gone(f, "b e", 3);
    assert_string_equal(dump(f), "a-b:1 b-b\x01:3 b\x01-e:1 e-e\x01:3 e\x01-g:1 "
                                 "| a-b:2 b\x01-e:2 e\x01-g:2 ");
    (void)put(f, "c", "d", "", "", 4);
    gone(f, "f", 5);
    assert_string_equal(dump(f), "a-b:1 b-b\x01:3 b\x01-c:1 c-d:4 d-e:1 e-f\x01:5 f\x01-g:1 "
                                 "| a-b:2 b\x01-c:2 d-e:2 f\x01-g:2 ");
}

static void a_gone_range_is_as_old_as_what_it_rests_on(void **state)
{
    struct fixture *f = *state;
    gone(f, "x", 2); /* alone: as of the answer */
    assert_int_equal(asked_ms_at(f, "x"), 20);
    (void)put(f, "a", "g", "b c d", "text", 5);
    gone(f, "b c", 6);
    assert_int_equal(asked_ms_at(f, "c"), 49);
    gone(f, "d", 7);
    assert_int_equal(asked_ms_at(f, "b"), 49); /* not older with each that joins */
    assert_string_equal(dump(f), "a-b:5 b-d\x01:7 d\x01-g:5 x-x\x01:2 | ");
}

static void nothing_asked_before_brings_deleted_rows_back(void **state)
{
    struct fixture *f = *state;
    (void)put(f, "a", "g", "b d", "text", 1);
    gone(f, "b d", 5);
    (void)put(f, "a", "g", "b d", "text", 3);
    (void)put(f, "a", "g", "b d", NULL, 4);
    assert_string_equal(dump(f), "a-b:3 b-d\x01:5 d\x01-g:3 | a-b:4 d\x01-g:4 ");
    range_map_evict(range_map_find(&f->map, B("c"), at(0))->page);
    put_texts(f, "a", "z", 2);
    assert_string_equal(dump(f), "a-b:3 d\x01-g:3 | a-b:4 d\x01-g:4 ");
    put_texts(f, "a", "z", 6);
    assert_string_equal(dump(f), "a-z:6 | ");
}

/* A row that was stored in the gap since the gap was known. */
static void a_change_in_a_gap_stays(void **state)
{
    struct fixture *f = *state;
    (void)put(f, "a", "g", "b d", "text", 1);
    (void)put_change(f, "c", "c\x01", "c", "ours", 5);
    gone(f, "b d", 6);
    (void)put_change(f, "bb", "bb\x01", "bb", "ours", 7);
    assert_string_equal(dump(f), "a-b:1 b-b\x01:6 b\x01-bb:1 bb-bb\x01:7 bb\x01-c:1 c-c\x01:5 "
                                 "c\x01-d:1 d-d\x01:6 d\x01-g:1 | ");
    gone(f, "bb c", 8);
    assert_string_equal(dump(f), "a-b:1 b-d\x01:8 d\x01-g:1 | ");
    (void)put_change(f, "c", "c\x01", "c", "ours", 9);
    assert_string_equal(dump(f), "a-b:1 b-c:8 c-c\x01:9 c\x01-d\x01:8 d\x01-g:1 | ");
}

static void without_memory_no_deleted_row_stays(void **state)
{
    (void)state;
    long n = 1;
    for (int r = -ENOMEM; r < 0; n++) {
        struct fixture fixture, *f = &fixture;
        begin_fixture(f);
        (void)put(f, "a", "n", "b c d k", "text", 1);
        gone(f, "b", 2);
        allocations_until_failure = n;
        r = put_gone_rows(f, "c k", 30, 3);
        allocations_until_failure = 0;
        assert_true(r == 0 || r == -ENOMEM);
        assert_string_equal(dump(f),
                            r < 0 ? "| " : "a-b:1 b-c\x01:3 c\x01-k:1 k-k\x01:3 k\x01-n:1 | ");
        assert_int_equal(f->map.floor, r < 0 ? 3 : 0);
        end_fixture(f);
    }
    assert_true(n > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(range_map, deleted_rows_are_one_range_where_no_other_is_between),
        TEST_WITH(range_map, a_gap_that_is_not_known_is_not_bridged),
        TEST_WITH(range_map, a_gap_may_rest_on_several_pages),
        TEST_WITH(range_map, the_youngest_answer_decides_of_a_gap),
        TEST_WITH(range_map, a_gone_range_is_as_old_as_what_it_rests_on),
        TEST_WITH(range_map, nothing_asked_before_brings_deleted_rows_back),
        TEST_WITH(range_map, a_change_in_a_gap_stays),
        cmocka_unit_test(without_memory_no_deleted_row_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
