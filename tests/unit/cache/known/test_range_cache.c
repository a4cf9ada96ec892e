/* SPDX-License-Identifier: MIT */
#include "cache/known/range_cache.h"
#include "tests/unit/cache/known/range_cache_fixture.h"

#include "tests/unit/failing_memory.h"

#include <limits.h>

DEFINE_OBJECT_FIXTURE(cache, new_cache(LARGE), free_cache)

static void rows_of_one_piece_follow(void **state)
{
    struct range_cache *cache = *state;
    next(cache, "a", "z", "until a @-1");
    put(cache, "b", "m", "c e g", "x", 1);
    next(cache, "b", "z", "c=x e=x g=x @10");
    next(cache, "c", "g", "c=x e=x @10");
    next(cache, "cc", "z", "e=x g=x @10");
    next(cache, "e", "f", "e=x @10");
    next(cache, "f", "g", "none @10");
    next(cache, "h", "m", "none @10");
    next(cache, "h", "z", "until m @10");
    next(cache, "a", "z", "until a @-1");
    next(cache, "q", "z", "until q @-1");
    next(cache, "q", "q", "none @-1"); /* there is nothing in it */
}

static void the_walk_goes_on_along_adjacent_pieces(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "d", "b", "x", 3);
    put(cache, "d", "g", "", "", 2);
    put(cache, "g", "k", "h i", "y", 4);
    next(cache, "a", "z", "b=x @30");
    next(cache, "b\x01", "z", "h=y i=y @20"); /* the oldest of what it rests on */
    next(cache, "c", "h", "none @20");
    next(cache, "j", "z", "until k @40");
    put(cache, "m", "z", "n", "x", 5);
    next(cache, "e", "h", "none @20");
    next(cache, "i\x01", "z", "until k @40");
}

static void a_walk_over_very_many_pieces_comes_to_its_end(void **state)
{
    struct range_cache *cache = *state;
    for (uint64_t i = 0; i < 2000; i++) {
        char lo[8], hi[8];
        (void)snprintf(lo, sizeof(lo), "p%04d", (int)i);
        (void)snprintf(hi, sizeof(hi), "p%04d", (int)i + 1);
        _cleanup_(page_unrefp) struct page *page = page_of(lo, hi, "", "");
        assert_int_equal(range_cache_put(cache, "t", page, at(2000 - i)), 0);
    }
    next(cache, "p0000", "p2000", "none @10");
    next(cache, "p0000", "p3", "until p2000 @10");
    put(cache, "p2000", "p3", "p2500", "x", 5000);
    next(cache, "p0000", "p3", "p2500=x @10");
}

static void an_answer_must_be_fresh_enough(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "d", "b", "x", 3);
    put(cache, "d", "g", "e", "y", 2);
    struct question question = ask("c", "g");
    question.since = stamp_since(20);
    assert_answer(cache, &question, "e=y @20");
    question.since = stamp_since(21);
    assert_answer(cache, &question, "until d @30");
    question.since = (struct stamp){0, 3};
    assert_answer(cache, &question, "until d @30");
    question.since = (struct stamp){0, 4};
    assert_answer(cache, &question, "until c @-1");
}

static void keys_answer_questions_that_want_no_texts(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "m", "b d", NULL, 1);
    next_key(cache, "a", "m", "b= d= @10");
    next(cache, "a", "m", "until b @10"); /* there is a row, its text is not known */
    next(cache, "c", "d", "none @10");    /* what is not there has no text */
    next(cache, "e", "z", "until m @10");
    put(cache, "c", "f", "d", "x", 2);
    next(cache, "c", "m", "d=x @20");
    next_key(cache, "a", "m", "b= @10");
    next_key(cache, "b\x01", "m", "d=x @10");
}

static void older_texts_stay_under_younger_keys(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "m", "b d", "x", 1);
    put(cache, "a", "m", "b c", NULL, 2);
    next_key(cache, "a", "m", "b=x d=x @10"); /* fresh enough, and it is more */
    struct question question = ask("a", "m");
    question.keys_suffice = true;
    question.since = at(2);
    assert_answer(cache, &question, "b= c= @20");
    question.keys_suffice = false;
    assert_answer(cache, &question, "until b @20");
    question.range.lo = B("d");
    assert_answer(cache, &question, "none @20");
    /* keys lead up to texts that are fresh enough, and past one that they know to be gone */
    put(cache, "a", "z", "b c n", NULL, 4);
    put(cache, "g", "z", "i n", "y", 3);
    question = ask("c\x01", "z");
    question.since = at(2);
    assert_answer(cache, &question, "n=y @30");
    question.range.lo = B("g");
    assert_answer(cache, &question, "i=y n=y @30");
}

static void a_row_of_a_page_is_superseded_by_a_younger_answer(void **state)
{
    struct range_cache *cache = *state;
    _cleanup_(page_unrefp) struct page *page = page_of("a", "m", "b d f", "x");
    assert_int_equal(range_cache_superseded(cache, "t", page, 0, 0), SUPERSEDED_UNKNOWN);
    assert_int_equal(range_cache_put(cache, "t", page, at(2)), 0);
    assert_int_equal(range_cache_superseded(cache, "t", page, 0, 0), SUPERSEDED_NO);
    assert_int_equal(range_cache_superseded(cache, NULL, page, 0, 0), SUPERSEDED_UNKNOWN);
    put(cache, "a", "c", "b", NULL, 1); /* older */
    assert_int_equal(range_cache_superseded(cache, "t", page, 0, 0), SUPERSEDED_NO);
    put(cache, "a", "c", "", NULL, 3);
    put(cache, "e", "g", "f", "y", 3);
    assert_int_equal(range_cache_superseded(cache, "t", page, 0, 0), SUPERSEDED_YES);
    assert_int_equal(range_cache_superseded(cache, "t", page, 1, 0), SUPERSEDED_NO);
    assert_int_equal(range_cache_superseded(cache, "t", page, 2, 0), SUPERSEDED_YES);
    put(cache, "d", "e", "d", NULL, 4); /* keys lie over the text */
    assert_int_equal(range_cache_superseded(cache, "t", page, 1, 0), SUPERSEDED_YES);
    range_cache_drop_table(cache, "t", at(5));
    assert_int_equal(range_cache_superseded(cache, "t", page, 1, 0), SUPERSEDED_YES);
    assert_int_equal(range_cache_floor(cache, "t"), 5);
    assert_int_equal(range_cache_superseded(cache, "t", page, 1, 5), SUPERSEDED_UNKNOWN);
}

static void nothing_older_lies_over_a_change_of_our_own(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "z", "b c d", "old", 1);
    put(cache, "a", "z", "b c d", NULL, 2);
    put_change(cache, "c", "c\x01", "c", "new", 10);
    put_change(cache, "d", "d\x01", "", "", 11);
    put(cache, "a", "z", "b c d", "late", 8);
    put(cache, "a", "z", "b c d", NULL, 9);
    for (int keys_suffice = 0; keys_suffice < 2; keys_suffice++) {
        struct question question = ask("c", "c\x01");
        question.keys_suffice = keys_suffice;
        assert_answer(cache, &question, "c=new @100");
        question = ask("d", "d\x01");
        question.keys_suffice = keys_suffice;
        assert_answer(cache, &question, "none @110");
    }
    next(cache, "a", "c", "b=late @80");
    next(cache, "c", "z", "c=new @100");
    next(cache, "c\x01", "z", "none @80");
}

static void tables_and_the_account_are_apart(void **state)
{
    struct range_cache *cache = *state;
    put_in(cache, "t", "a", "z", "b", "x", 1);
    put_in(cache, "u", "a", "z", "c", "y", 2);
    put_in(cache, NULL, "t", "v", "t u", "", 3);
    next(cache, "a", "z", "b=x @10");
    struct question question = ask("t", "v");
    question.table = NULL;
    assert_answer(cache, &question, "t= u= @30");
    question.table = "T"; /* names are compared as they are */
    assert_answer(cache, &question, "until t @-1");
    range_cache_drop_table(cache, "t", at(4));
    next(cache, "a", "z", "until a @-1");
    question = ask("a", "z");
    question.table = "u";
    assert_answer(cache, &question, "c=y @20");
}

static void what_was_asked_before_a_drop_is_not_taken(void **state)
{
    struct range_cache *cache = *state;
    put(cache, "a", "m", "b", "x", 1);
    put(cache, "m", "z", "n", "y", 7);
    range_cache_drop_table(cache, "t", at(5));
    assert_int_equal(stats_of(cache).pages, 1);
    next(cache, "a", "z", "until a @-1");
    next(cache, "m", "z", "n=y @70"); /* asked after it: the table is there again */
    put(cache, "a", "m", "b", "x", 4);
    next(cache, "a", "z", "until a @-1");
    put(cache, "a", "m", "b", "x", 6);
    next(cache, "a", "z", "b=x @60");
    range_cache_drop_table(cache, "t", at(9));
    assert_int_equal(stats_of(cache).bytes, 0);
    put(cache, "a", "m", "b", "x", 8); /* also when nothing else is known of it */
    next(cache, "a", "z", "until a @-1");
    assert_int_equal(stats_of(cache).evicted, 0);
}

/* Of more tables than are remembered: then it is asked again, of any table. */
static void drops_of_very_many_tables_hold(void **state)
{
    struct range_cache *cache = *state;
    put_in(cache, "u", "a", "z", "b", "x", 400);
    for (uint64_t i = 0; i < 300; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "t%d", (int)i);
        range_cache_drop_table(cache, name, at(1000 + i));
        assert_cache_is_sound(cache);
    }
    put_in(cache, "t0", "a", "z", "b", "x", 999);
    put_in(cache, "t299", "a", "z", "b", "x", 1298);
    assert_int_equal(stats_of(cache).pages, 1);
    put_in(cache, "u", "a", "z", "b", "x", 401); /* is here: others' drops are not its own */
    struct question question = ask("a", "z");
    question.table = "u";
    assert_answer(cache, &question, "b=x @4010");
    put_in(cache, "t0", "a", "z", "b", "x", 1300);
    put_in(cache, "t299", "a", "z", "b", "x", 1301);
    assert_int_equal(stats_of(cache).pages, 3);
}

/* The nth allocation fails, and maybe all that follow; false when there are fewer. */
static bool put_fails(bool is_known, long n, long failures)
{
    struct range_cache *cache = new_cache(LARGE);
    put_in(cache, "u", "a", "z", "b c", "kept", 1);
    if (is_known)
        put(cache, "a", "z", "c", "old", 2);
    _cleanup_(page_unrefp) struct page *page = page_of("c", "d", "c", "new");
    allocations_until_failure = n;
    failures_in_a_row = failures;
    int r = range_cache_put(cache, "t", page, at(9));
    allocations_until_failure = failures_in_a_row = 0;
    assert_true(r == 0 || r == -ENOMEM);
    put(cache, "a", "z", "c", "late", 8);
    next(cache, "c", "d", r < 0 ? "until c @-1" : "c=new @90");
    struct question question = ask("a", "z");
    question.table = "u";
    assert_answer(cache, &question, "b=kept c=kept @10");
    free_cache(cache);
    return r < 0;
}

static void without_memory_the_older_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        long n = 1;
        while (put_fails(i & 1, n, i & 2 ? LONG_MAX : 0))
            n++;
        assert_int_equal(n, i & 1 ? 5 : 4); /* page, table or left and right, piece */
    }
    struct range_cache *cache = NULL;
    allocations_until_failure = 1;
    assert_int_equal(range_cache_create(1, &cache), -ENOMEM);
    assert_null(cache);
    range_cache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(cache, rows_of_one_piece_follow),
        TEST_WITH(cache, the_walk_goes_on_along_adjacent_pieces),
        TEST_WITH(cache, a_walk_over_very_many_pieces_comes_to_its_end),
        TEST_WITH(cache, an_answer_must_be_fresh_enough),
        TEST_WITH(cache, keys_answer_questions_that_want_no_texts),
        TEST_WITH(cache, older_texts_stay_under_younger_keys),
        TEST_WITH(cache, a_row_of_a_page_is_superseded_by_a_younger_answer),
        TEST_WITH(cache, nothing_older_lies_over_a_change_of_our_own),
        TEST_WITH(cache, tables_and_the_account_are_apart),
        TEST_WITH(cache, what_was_asked_before_a_drop_is_not_taken),
        TEST_WITH(cache, drops_of_very_many_tables_hold),
        cmocka_unit_test(without_memory_the_older_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
