/* SPDX-License-Identifier: MIT */
#include "cache/known/range_cache.h"
#include "tests/unit/cache/known/range_cache_fixture.h"

/* A cache for `count` pages as put_numbered makes them, and not one more. */
static struct range_cache *new_cache_of(size_t count)
{
    struct range_cache *probe = new_cache(LARGE);
    put(probe, "000", "001", "000 0000", "0123456789", 1);
    struct range_cache *cache = new_cache(count * stats_of(probe).bytes);
    free_cache(probe);
    return cache;
}

/* [number, number + 1), with two rows. */
static void put_numbered(struct range_cache *cache, int number, uint64_t order)
{
    char lo[16], hi[16], rows[32];
    (void)snprintf(lo, sizeof(lo), "%03d", number);
    (void)snprintf(hi, sizeof(hi), "%03d", number + 1);
    (void)snprintf(rows, sizeof(rows), "%03d %03d0", number, number);
    put(cache, lo, hi, rows, "0123456789", order);
}

static bool is_known(struct range_cache *cache, int number, struct run *ret)
{
    char lo[16], hi[16];
    (void)snprintf(lo, sizeof(lo), "%03d", number);
    (void)snprintf(hi, sizeof(hi), "%03d", number + 1);
    struct question question = ask(lo, hi);
    int64_t requested_ms;
    struct position until;
    return range_cache_next(cache, &question, ret, &requested_ms, &until) == KNOWN_ROWS;
}

static void use(struct range_cache *cache, int number)
{
    struct run run = {0};
    assert_true(is_known(cache, number, &run));
    run_finish(&run);
}

/* Which of the first ten are there; the question is a use of them, so the cache ends here. */
static void assert_left(struct range_cache *cache, const char *expected)
{
    char left[16] = "";
    assert_cache_is_sound(cache);
    for (int i = 0; i < 10; i++) {
        struct run run = {0};
        if (is_known(cache, i, &run))
            (void)snprintf(left + strlen(left), sizeof(left) - strlen(left), "%d", i);
        run_finish(&run);
    }
    assert_string_equal(left, expected);
    free_cache(cache);
}

static void passed(struct range_cache *cache, const char *lo, const char *hi)
{
    range_cache_passed(cache, "t", (struct range){bytes_of(lo), bytes_of(hi)});
    assert_cache_is_sound(cache);
}

static void the_least_recently_used_page_leaves(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(4);
    for (int i = 0; i < 4; i++)
        put_numbered(cache, i, (uint64_t)i + 1);
    assert_int_equal(stats_of(cache).evicted, 0);
    use(cache, 0);
    use(cache, 2);
    put_numbered(cache, 4, 5);
    put_numbered(cache, 5, 6);
    assert_int_equal(stats_of(cache).evicted, 2);
    assert_left(cache, "0245");
}

/* The row of the first page, as `cat` reads it, leaves. An older page of the table, still on its
 * way, is taken nevertheless. */
static void a_row_that_was_read_leaves_no_trace(void **state)
{
    (void)state;
    for (int is_change = 0; is_change < 2; is_change++) {
        struct range_cache *cache = new_cache_of(2);
        if (is_change)
            put_change(cache, "000", "001", "000", "0123456789", 10);
        else
            put(cache, "000", "001", "000", "0123456789", 10);
        put_numbered(cache, 1, 11);
        put_numbered(cache, 2, 12);
        assert_int_equal(stats_of(cache).evicted, 1);
        put_numbered(cache, 3, 9);
        assert_int_equal(stats_of(cache).evicted, is_change ? 1 : 2);
        assert_left(cache, is_change ? "12" : "23");
    }
}

static void the_budget_is_over_all_tables(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(2);
    put_in(cache, "u", "000", "001", "000 0000", "0123456789", 1);
    put_numbered(cache, 1, 2);
    put_numbered(cache, 2, 3);
    struct question question = ask("000", "001");
    question.table = "u";
    assert_answer(cache, &question, "until 000 @-1");
    assert_left(cache, "12");
}

static void the_page_put_last_stays_however_large(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache(10);
    put_numbered(cache, 0, 1);
    put_numbered(cache, 1, 2);
    assert_int_equal(stats_of(cache).pages, 1);
    assert_left(cache, "1");
}

static void passed_pages_leave_first_and_in_order(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(6);
    for (int i = 0; i < 6; i++)
        put_numbered(cache, i, (uint64_t)i + 1);
    use(cache, 2);
    passed(cache, "002", "0030"); /* 3 is not after yet */
    passed(cache, "002", "005");
    put_numbered(cache, 6, 7);
    put_numbered(cache, 7, 8);
    assert_int_equal(stats_of(cache).evicted, 2); /* 2 and 3 */
    next(cache, "004", "005", "004=0123456789 0040=0123456789 @50");
    passed(cache, "004", "005");
    put_numbered(cache, 8, 9);  /* and 4 */
    put_numbered(cache, 9, 10); /* and the oldest */
    assert_left(cache, "156789");
}

/* So that it costs nothing to tell it at each step. */
static void passing_stops_where_it_was_before(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(5);
    for (int i = 0; i < 5; i++)
        put_numbered(cache, i, (uint64_t)i + 1);
    passed(cache, "002", "003");
    use(cache, 1);
    passed(cache, "001", "004");
    put_numbered(cache, 5, 6);
    put_numbered(cache, 6, 7);
    put_numbered(cache, 7, 8); /* 2 and 3, and the oldest, not passed */
    assert_left(cache, "14567");
}

static void a_page_that_begins_before_the_range_is_not_passed(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(3);
    for (int i = 0; i < 3; i++)
        put_numbered(cache, i, (uint64_t)i + 1);
    passed(cache, "0000", "002");
    put_numbered(cache, 3, 4);
    assert_left(cache, "023");
}

static void a_passed_page_that_is_asked_for_is_used_again(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(3);
    for (int i = 0; i < 3; i++)
        put_numbered(cache, i, (uint64_t)i + 1);
    passed(cache, "000", "002");
    use(cache, 0);
    put_numbered(cache, 3, 4);
    put_numbered(cache, 4, 5);
    assert_left(cache, "034");
}

/* A page of several pieces is passed with its last; one that begins before the range never. */
static void pages_are_passed_as_a_whole(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache(LARGE);
    put(cache, "a", "m", "b k", "x", 1);
    put(cache, "e", "f", "e ee", "y", 2);
    put(cache, "m", "p", "n o", "z", 3);
    put(cache, "h", "n", "h i", NULL, 4);
    passed(cache, "a", "l");
    size_t bytes = stats_of(cache).bytes;
    range_cache_destroy(cache);

    cache = new_cache(bytes);
    put(cache, "a", "m", "b k", "x", 1);
    put(cache, "e", "f", "e ee", "y", 2);
    put(cache, "m", "p", "n o", "z", 3);
    put(cache, "h", "n", "h i", NULL, 4);
    next(cache, "e", "f", "e=y ee=y @20");
    passed(cache, "a", "l"); /* only [e, f) lies wholly in it */
    put(cache, "s", "t", "s t", "w", 5);
    next(cache, "e", "f", "until e @-1");
    next(cache, "f", "m", "k=x @10");
    passed(cache, "a", "n"); /* two pieces of the first page and the keys */
    put(cache, "t", "u", "t tt", "w", 6);
    next(cache, "f", "m", "until f @-1"); /* the texts went first */
    next_key(cache, "h", "n", "h= i= @40");
    free_cache(cache);
}

static void a_page_that_somebody_holds_stays(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(2);
    struct run held = {0};
    put_numbered(cache, 0, 1);
    assert_true(is_known(cache, 0, &held));
    put_numbered(cache, 1, 2);
    put_numbered(cache, 2, 3); /* not 0 leaves, but 1 */
    assert_int_equal(stats_of(cache).evicted, 1);
    passed(cache, "000", "001");
    put_numbered(cache, 3, 4);
    assert_int_equal(stats_of(cache).evicted, 2);
    run_finish(&held);
    assert_left(cache, "03");
}

/* Their memory would stay: it is over the budget, and within it when they are let go. */
static void held_pages_may_be_more_than_the_budget(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache_of(2);
    struct run held[200] = {{0}};
    for (int i = 0; i < 200; i++) {
        put_numbered(cache, i, (uint64_t)i + 1);
        assert_true(is_known(cache, i, &held[i]));
    }
    assert_int_equal(stats_of(cache).pages, 200);
    for (int i = 0; i < 200; i++)
        run_finish(&held[i]);
    put_numbered(cache, 5, 300);
    assert_int_equal(stats_of(cache).pages, 2);
    free_cache(cache);
}

/* A row outlives its page's place in the cache. */
static void rows_hold_their_page(void **state)
{
    (void)state;
    struct range_cache *cache = new_cache(LARGE);
    struct run run = {0};
    put_numbered(cache, 1, 1);
    assert_true(is_known(cache, 1, &run));
    put_numbered(cache, 1, 2);
    range_cache_destroy(cache);
    assert_bytes(page_position(run.page, run.begin), B("001"));
    run_finish(&run);
}

#define DELETED_ROWS 170000
#define PAGE_ROWS    1000
#define BATCH_ROWS   100

static struct bytes number_at(char *memory, int number)
{
    (void)snprintf(memory, 8, "%06u", (unsigned)number % 1000000);
    return (struct bytes){memory, 6};
}

/* A page of PAGE_ROWS numbered rows. */
static void put_rows(struct range_cache *cache, const char *table, int first, uint64_t order)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(page_unrefp) struct page *page = NULL;
    char lo[8], hi[8], row[8];
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (int i = first; i < first + PAGE_ROWS; i++) {
        (void)buffer_append_string(page_builder_text(builder), "{\"A\":\"0123456789\"}");
        assert_int_equal(page_builder_end_row(builder, number_at(row, i), B("etag"), 1), 0);
    }
    struct range range = {number_at(lo, first), number_at(hi, first + PAGE_ROWS)};
    assert_int_equal(page_builder_finish(builder, range, false, &page), 0);
    assert_int_equal(range_cache_put(cache, table, page, at(order)), 0);
}

/* Deletes a batch of `count` rows, `step` apart. */
static void delete_rows(struct range_cache *cache, int first, int count, int step,
                        _Atomic uint64_t *orders)
{
    char memory[BATCH_ROWS][8];
    struct bytes positions[BATCH_ROWS];
    for (int i = 0; i < count; i++)
        positions[i] = number_at(memory[i], first + i * step);
    assert_int_equal(
        range_cache_put_gone(cache, "t", positions, (size_t)count, orders, 1000000 + first), 0);
}

/* Two tables of DELETED_ROWS rows each, in a cache with hardly any room for more. */
static struct range_cache *new_full_cache(size_t *ret_bytes)
{
    struct range_cache *cache = NULL;
    for (size_t max_bytes = LARGE; !cache || max_bytes == LARGE; max_bytes = *ret_bytes + 4096) {
        range_cache_destroy(cache);
        cache = new_cache(max_bytes);
        for (int first = 0; first < DELETED_ROWS; first += PAGE_ROWS) {
            put_rows(cache, "t", first, (uint64_t)first + 1);
            put_rows(cache, "u", first, (uint64_t)first + 2);
        }
        *ret_bytes = stats_of(cache).bytes;
    }
    assert_int_equal(stats_of(cache).evicted, 0);
    return cache;
}

/* Of the table one gone page, and the page that tells of the gap after the last row. Of the other
 * table everything. */
static void assert_only_the_deleted_left(struct range_cache *cache, size_t bytes_before)
{
    char last[8];
    struct range_cache_stats stats = stats_of(cache);
    assert_int_equal(stats.evicted, 0);
    size_t pages = DELETED_ROWS / PAGE_ROWS, page_bytes = bytes_before / (2 * pages);
    assert_int_equal(stats.pages, pages + 2);
    assert_in_range(stats.bytes, bytes_before / 2, (pages + 1) * page_bytes + 1024);
    (void)number_at(last, DELETED_ROWS);
    struct question question = {.table = "t", .range = {B("000000"), {last, 6}}};
    assert_answer(cache, &question, "none @9"); /* as old as the first page, less 1 ms */
    free_cache(cache);
}

static void many_deletes_leave_one_page(void **state)
{
    (void)state;
    size_t bytes;
    _Atomic uint64_t orders = 1000000;
    struct range_cache *cache = new_full_cache(&bytes);
    for (int first = 0; first < DELETED_ROWS; first += BATCH_ROWS)
        delete_rows(cache, first, BATCH_ROWS, 1, &orders);
    assert_only_the_deleted_left(cache, bytes);

    cache = new_full_cache(&bytes);
    for (int first = DELETED_ROWS; first > 0;)
        delete_rows(cache, first -= BATCH_ROWS, BATCH_ROWS, 1, &orders);
    assert_only_the_deleted_left(cache, bytes);
}

/* One by one, from the middle in both directions. */
static void single_deletes_leave_one_page_too(void **state)
{
    (void)state;
    size_t bytes;
    _Atomic uint64_t orders = 1000000;
    struct range_cache *cache = new_full_cache(&bytes);
    for (int i = 0; i < DELETED_ROWS / 2; i++) {
        delete_rows(cache, DELETED_ROWS / 2 + i, 1, 1, &orders);
        delete_rows(cache, DELETED_ROWS / 2 - 1 - i, 1, 1, &orders);
    }
    assert_only_the_deleted_left(cache, bytes);
}

/* Every second row of a page, and then the others. */
static void deletes_with_rows_between_join_when_those_go(void **state)
{
    (void)state;
    _Atomic uint64_t orders = 1000000;
    struct range_cache *cache = new_cache(LARGE);
    put_rows(cache, "t", 0, 1);
    for (int first = 0; first < PAGE_ROWS; first += 2 * BATCH_ROWS)
        delete_rows(cache, first, BATCH_ROWS, 2, &orders);
    assert_int_equal(stats_of(cache).pages, 1 + PAGE_ROWS / 2);
    next(cache, "000000", "000003", "000001={\"A\":\"0123456789\"} @10");
    for (int first = 1; first < PAGE_ROWS; first += 2 * BATCH_ROWS)
        delete_rows(cache, first, BATCH_ROWS, 2, &orders);
    assert_int_equal(stats_of(cache).pages, 2);
    next(cache, "000000", "001000", "none @9");
    free_cache(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_recently_used_page_leaves),
        cmocka_unit_test(a_row_that_was_read_leaves_no_trace),
        cmocka_unit_test(the_budget_is_over_all_tables),
        cmocka_unit_test(the_page_put_last_stays_however_large),
        cmocka_unit_test(passed_pages_leave_first_and_in_order),
        cmocka_unit_test(passing_stops_where_it_was_before),
        cmocka_unit_test(a_page_that_begins_before_the_range_is_not_passed),
        cmocka_unit_test(a_passed_page_that_is_asked_for_is_used_again),
        cmocka_unit_test(pages_are_passed_as_a_whole),
        cmocka_unit_test(a_page_that_somebody_holds_stays),
        cmocka_unit_test(held_pages_may_be_more_than_the_budget),
        cmocka_unit_test(rows_hold_their_page),
        cmocka_unit_test(many_deletes_leave_one_page),
        cmocka_unit_test(single_deletes_leave_one_page_too),
        cmocka_unit_test(deletes_with_rows_between_join_when_those_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
