/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/known/range_map_fixture.h"

#include "tests/unit/failing_memory.h"

static void a_younger_page_takes_its_place_from_an_older(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "b", "n", 1);
    put_texts(f, "d", "f", 2); /* inside */
    assert_string_equal(dump(f), "b-d:1 d-f:2 f-n:1 | ");
    put_texts(f, "a", "c", 3); /* over the start */
    put_texts(f, "m", "z", 4); /* over the end */
    assert_string_equal(dump(f), "a-c:3 c-d:1 d-f:2 f-m:1 m-z:4 | ");
    put_texts(f, "c", "d", 5); /* just one piece */
    assert_string_equal(dump(f), "a-c:3 c-d:5 d-f:2 f-m:1 m-z:4 | ");
    assert_int_equal(f->holdings.pages, 5);
    assert_int_equal(free_removed(f), 0);
    put_texts(f, "b", "n", 6); /* several, and parts of two */
    assert_string_equal(dump(f), "a-b:3 b-n:6 n-z:4 | ");
    assert_int_equal(free_removed(f), 3);
    put_texts(f, "", POSITION_END, 7);
    assert_string_equal(dump(f), "-\xff:7 | ");
    assert_int_equal(f->holdings.pages, 1);
}

static void an_older_page_that_comes_late_fills_the_holes(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "c", "e", 5);
    put_texts(f, "g", "i", 6);
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "a-c:4 c-e:5 e-g:4 g-i:6 i-z:4 | ");
    put_texts(f, "b", "h", 3); /* there is no hole */
    assert_string_equal(dump(f), "a-c:4 c-e:5 e-g:4 g-i:6 i-z:4 | ");
    assert_int_equal(free_removed(f), 1);
    assert_int_equal(f->holdings.pages, 3);
}

static void pages_that_touch_do_not_clip_each_other(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "b", "c", 1);
    put_texts(f, "c", "d", 2);
    put_texts(f, "a", "b", 3);
    assert_string_equal(dump(f), "a-b:3 b-c:1 c-d:2 | ");
}

/* It is of a query with a filter. Each row ends at the least position after it. */
static void a_page_that_covers_nothing_answers_for_its_rows(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "z", 1);
    put_texts(f, "c", "c", 2);
    put_keys(f, "d", "c", 3);
    assert_string_equal(dump(f), "a-q:1 q-q\1:2 q\1-r:1 r-r\1:2 r\1-z:1 | q-q\1:3 r-r\1:3 ");
    put_texts(f, "b", "y", 4);
    assert_string_equal(dump(f), "a-b:1 b-y:4 y-z:1 | ");
    assert_int_equal(free_removed(f), 2);
}

static void texts_replace_keys_and_keys_leave_texts(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "c", "g", 1);
    put_keys(f, "a", "k", 2);
    assert_string_equal(dump(f), "c-g:1 | a-k:2 ");
    put_texts(f, "e", "i", 3);
    assert_string_equal(dump(f), "c-e:1 e-i:3 | a-e:2 i-k:2 ");
    put_keys(f, "d", "j", 4);
    assert_string_equal(dump(f), "c-e:1 e-i:3 | a-d:2 d-j:4 j-k:2 ");
}

static void late_keys_yield_to_younger_texts(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "c", 1);
    put_texts(f, "c", "e", 5);
    put_keys(f, "d", "g", 3);
    put_keys(f, "b", "f", 4);
    assert_string_equal(dump(f), "a-c:1 c-e:5 | b-c:4 e-f:4 f-g:3 ");
    put_keys(f, "c", "e", 2); /* wholly */
    assert_string_equal(dump(f), "a-c:1 c-e:5 | b-c:4 e-f:4 f-g:3 ");
    assert_int_equal(free_removed(f), 1);
}

static void late_texts_go_under_younger_keys(void **state)
{
    struct fixture *f = *state;
    put_keys(f, "b", "d", 5);
    put_keys(f, "d", "f", 2);
    put_texts(f, "a", "e", 3);
    assert_string_equal(dump(f), "a-e:3 | b-d:5 e-f:2 ");
}

static void an_empty_page_has_all_its_texts(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "f", 1);
    (void)put(f, "c", "d", "", NULL, 2); /* asked for keys, and none is there */
    assert_string_equal(dump(f), "a-c:1 c-d:2 d-f:1 | ");
}

static void ends_do_not_depend_on_the_page_that_clipped(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "z", 1);
    struct cached_page *clipping = put(f, "d", "f", "q r", "text", 2);
    range_map_evict(clipping);
    assert_int_equal(free_removed(f), 1);
    assert_string_equal(dump(f), "a-d:1 f-z:1 | ");
}

static void a_page_leaves_with_all_its_pieces(void **state)
{
    struct fixture *f = *state;
    struct cached_page *split = put(f, "a", "z", "q r", "text", 1);
    put_texts(f, "d", "f", 2);
    put_texts(f, "j", "k", 3);
    size_t before = f->holdings.bytes, alone = page_bytes(split->page);
    range_map_evict(split);
    assert_true(f->holdings.bytes < before - alone);
    assert_string_equal(dump(f), "d-f:2 j-k:3 | ");
    assert_int_equal(f->holdings.pages, 2);
    assert_int_equal(f->map.floor, 0);
}

static void where_a_change_left_nothing_older_is_taken(void **state)
{
    struct fixture *f = *state;
    range_map_evict(put_change(f, "c", "d", "c", "ours", 5));
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "| ");
    put_texts(f, "a", "z", 6);
    assert_string_equal(dump(f), "a-z:6 | ");
}

/* A `cat` reads one row, and a lookup of an absent name reads none. */
static void what_was_read_is_no_change_however_small(void **state)
{
    struct fixture *f = *state;
    range_map_evict(put(f, "c", "d", "c", "text", 5));
    range_map_evict(put(f, "e", "f", "", "", 6));
    range_map_evict(put(f, "g", "h", "g", NULL, 7));
    assert_int_equal(f->map.floor, 0);
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "a-z:4 | ");
}

/* It does not get its place, and no older page keeps it. */
static void a_change_that_is_not_taken_still_takes_the_older_away(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "g", 1);
    range_map_evict(put_change(f, "m", "n", "m", "ours", 6));
    (void)put_change(f, "c", "d", "c", "ours", 5);
    assert_string_equal(dump(f), "a-c:1 d-g:1 | ");
}

/* By one that came later, by one that was there before it, from texts to texts and keys to texts.
 */
static void a_page_that_replaces_a_change_remembers_it(void **state)
{
    struct fixture *f = *state;
    (void)put_change(f, "c", "d", "c", "ours", 5);
    struct cached_page *younger = put(f, "a", "z", "q r", "text", 9);
    (void)put_change(f, "e", "f", "e", "ours", 7);
    range_map_evict(younger);
    put_texts(f, "a", "z", 6);
    assert_string_equal(dump(f), "| ");
    (void)put_change(f, "a", "z", "q", NULL, 10);
    younger = put(f, "a", "z", "q r", "text", 12);
    range_map_evict(younger);
    put_keys(f, "a", "z", 9);
    assert_string_equal(dump(f), "| ");
    younger = put(f, "a", "z", "q r", "text", 15);
    (void)put_change(f, "c", "d", "c", NULL, 14); /* late, and yields at once */
    range_map_evict(younger);
    put_keys(f, "a", "z", 13);
    assert_string_equal(dump(f), "| ");
    put_keys(f, "a", "z", 14);
    assert_string_equal(dump(f), "| a-z:14 ");
}

static void a_drop_leaves_what_is_younger(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "a", "k", 1);
    put_texts(f, "c", "d", 5);
    put_keys(f, "e", "n", 2);
    put_keys(f, "l", "m", 6);
    range_map_drop(&f->map, at(3));
    assert_string_equal(dump(f), "c-d:5 | l-m:6 ");
    put_texts(f, "a", "z", 2);
    assert_string_equal(dump(f), "c-d:5 | l-m:6 ");
    put_texts(f, "a", "e", 4);
    assert_string_equal(dump(f), "a-c:4 c-d:5 d-e:4 | l-m:6 ");
}

static uint64_t found(struct fixture *f, const char *position, struct stamp since)
{
    struct piece *piece = range_map_find(&f->map, bytes_of(position), since);
    return piece ? piece->page->stamp.order : 0;
}

static void texts_answer_first_where_they_are_fresh_enough(void **state)
{
    struct fixture *f = *state;
    put_texts(f, "b", "f", 2);
    put_keys(f, "d", "h", 4);
    assert_int_equal(found(f, "a", at(0)), 0);
    assert_int_equal(found(f, "b", at(0)), 2);
    assert_int_equal(found(f, "d", at(2)), 2);
    assert_int_equal(found(f, "d", at(3)), 4);
    assert_int_equal(found(f, "d", stamp_since(20)), 2);
    assert_int_equal(found(f, "d", stamp_since(21)), 4);
    assert_int_equal(found(f, "d", at(5)), 0);
    assert_int_equal(found(f, "f", at(0)), 4);
    assert_int_equal(found(f, "h", at(0)), 0);
}

/* Two changes split one page, and one cuts two; then all that can fail does, one after the other.
 */
static void prepare(struct fixture *f)
{
    put_texts(f, "a", "m", 1);
    put_texts(f, "e", "f", 2);
    put_keys(f, "b", "k", 3);
    put_texts(f, "g", "h", 4);
}

struct late { /* what is put when memory fails */
    const char *lo, *hi, *rows, *text;
    uint64_t order;
};

/* The nth allocation fails; false when there are fewer. */
static bool put_fails(const struct late *late, long n)
{
    struct fixture fixture, *f = &fixture;
    begin_fixture(f);
    prepare(f);
    struct cached_page *page =
        cached_of(late->lo, late->hi, late->rows, late->text, late->order, ORIGIN_READ);
    allocations_until_failure = n;
    int r = range_map_put(&f->map, page, &f->queue);
    allocations_until_failure = 0;
    assert_is_sound(f);
    assert_true(r == 0 || r == -ENOMEM);
    if (r < 0) {
        assert_string_equal(dump(f), late->order > 4 ? "| " : "g-h:4 | ");
        assert_int_equal(f->map.floor, late->order);
    }
    end_fixture(f);
    return r < 0;
}

static void without_memory_nothing_older_stays(void **state)
{
    (void)state;
    static const struct late pages[] = {{"c", "d", "c", "ours", 9},
                                        {"c", "d", "", "", 9},
                                        {"d", "l", "q r", NULL, 9},
                                        {"", "z", "q r", "text", 3}};
    for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
        long n = 1;
        while (put_fails(&pages[i], n))
            n++;
        assert_true(n > 2); /* some did fail */
    }
}

static void without_memory_there_is_no_page(void **state)
{
    (void)state;
    _cleanup_(page_unrefp) struct page *page = page_of("a", "b", "a", "text");
    struct cached_page *cached = NULL;
    allocations_until_failure = 1;
    assert_int_equal(cached_page_create(page, at(1), ORIGIN_READ, &cached), -ENOMEM);
    assert_null(cached);
    assert_false(page_is_shared(page));
    cached_page_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(range_map, a_younger_page_takes_its_place_from_an_older),
        TEST_WITH(range_map, an_older_page_that_comes_late_fills_the_holes),
        TEST_WITH(range_map, pages_that_touch_do_not_clip_each_other),
        TEST_WITH(range_map, a_page_that_covers_nothing_answers_for_its_rows),
        TEST_WITH(range_map, texts_replace_keys_and_keys_leave_texts),
        TEST_WITH(range_map, late_keys_yield_to_younger_texts),
        TEST_WITH(range_map, late_texts_go_under_younger_keys),
        TEST_WITH(range_map, an_empty_page_has_all_its_texts),
        TEST_WITH(range_map, ends_do_not_depend_on_the_page_that_clipped),
        TEST_WITH(range_map, a_page_leaves_with_all_its_pieces),
        TEST_WITH(range_map, where_a_change_left_nothing_older_is_taken),
        TEST_WITH(range_map, what_was_read_is_no_change_however_small),
        TEST_WITH(range_map, a_change_that_is_not_taken_still_takes_the_older_away),
        TEST_WITH(range_map, a_page_that_replaces_a_change_remembers_it),
        TEST_WITH(range_map, a_drop_leaves_what_is_younger),
        TEST_WITH(range_map, texts_answer_first_where_they_are_fresh_enough),
        cmocka_unit_test(without_memory_nothing_older_stays),
        cmocka_unit_test(without_memory_there_is_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
