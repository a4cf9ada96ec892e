#include "cache/read/range_map.h"
#include "tests/unit/page_of.h"

#include "tests/unit/failing_memory.h"

struct fixture {
    struct range_holdings holdings;
    struct range_map map;
    struct page_queue queue;
    struct buffer dump;
};

static struct fixture *new_fixture(void)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    range_holdings_init(&f->holdings);
    range_map_init(&f->map, &f->holdings, 0);
    TAILQ_INIT(&f->queue);
    buffer_init(&f->dump, 4096);
    return f;
}

/* How many pages left since the last time. */
static size_t free_gone(struct fixture *f)
{
    size_t count = 0;
    for (struct cached_page *page; (page = TAILQ_FIRST(&f->holdings.gone)) != NULL; count++) {
        TAILQ_REMOVE(&f->holdings.gone, page, in_queue);
        cached_page_destroy(page);
    }
    return count;
}

static void free_fixture(struct fixture *f)
{
    range_map_drop(&f->map, at(UINT32_MAX));
    assert_true(range_map_is_empty(&f->map));
    (void)free_gone(f);
    assert_int_equal(f->holdings.pages, 0);
    assert_int_equal(f->holdings.bytes, 0);
    buffer_finish(&f->dump);
    free(f);
}

static struct cached_page *cached_of(const char *lo, const char *hi, const char *rows,
                                     const char *text, uint64_t order, enum page_origin origin)
{
    _cleanup_(page_unrefp) struct page *page = page_of(lo, hi, rows, text);
    struct cached_page *cached;
    assert_int_equal(cached_page_create(page, at(order), origin, &cached), 0);
    return cached;
}

static struct cached_page *put_page(struct fixture *f, struct cached_page *cached)
{
    assert_int_equal(range_map_put(&f->map, cached, &f->queue), 0);
    size_t bytes = 0;
    assert_true(range_map_is_consistent(&f->map, &bytes));
    return cached;
}

static struct cached_page *put(struct fixture *f, const char *lo, const char *hi, const char *rows,
                               const char *text, uint64_t order)
{
    return put_page(f, cached_of(lo, hi, rows, text, order, ORIGIN_READ));
}

static struct cached_page *put_change(struct fixture *f, const char *lo, const char *hi,
                                      const char *rows, const char *text, uint64_t order)
{
    return put_page(f, cached_of(lo, hi, rows, text, order, ORIGIN_CHANGE));
}

static void put_texts(struct fixture *f, const char *lo, const char *hi, uint64_t order)
{
    (void)put(f, lo, hi, "q r", "text", order);
}

static void put_keys(struct fixture *f, const char *lo, const char *hi, uint64_t order)
{
    (void)put(f, lo, hi, "q r", NULL, order);
}

/* "a-c:1 c-d:2 | a-b:3": the pieces of texts and of keys, each with its stamp's order. */
static const char *dump(struct fixture *f)
{
    buffer_clear(&f->dump);
    for (enum range_kind kind = 0; kind < RANGE_KINDS; kind++) {
        struct piece *pieces[64], *piece = range_map_before(&f->map, kind, B(POSITION_END));
        size_t n = 0;
        for (; piece; piece = range_map_previous(piece))
            pieces[n++] = piece;
        if (kind == RANGE_KEYS)
            (void)buffer_append_string(&f->dump, "| ");
        while (n-- > 0)
            (void)buffer_append_format(&f->dump, "%.*s-%.*s:%d ", (int)pieces[n]->range.lo.size,
                                       pieces[n]->range.lo.data, (int)pieces[n]->range.hi.size,
                                       pieces[n]->range.hi.data, (int)pieces[n]->page->stamp.order);
    }
    return buffer_string(&f->dump);
}

static void a_younger_page_takes_its_place_from_an_older(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "b", "n", 1);
    put_texts(f, "d", "f", 2); /* inside */
    assert_string_equal(dump(f), "b-d:1 d-f:2 f-n:1 | ");
    put_texts(f, "a", "c", 3); /* over the begin */
    put_texts(f, "m", "z", 4); /* over the end */
    assert_string_equal(dump(f), "a-c:3 c-d:1 d-f:2 f-m:1 m-z:4 | ");
    put_texts(f, "c", "d", 5); /* just one piece */
    assert_string_equal(dump(f), "a-c:3 c-d:5 d-f:2 f-m:1 m-z:4 | ");
    assert_int_equal(f->holdings.pages, 5);
    assert_int_equal(free_gone(f), 0);
    put_texts(f, "b", "n", 6); /* several, and parts of two */
    assert_string_equal(dump(f), "a-b:3 b-n:6 n-z:4 | ");
    assert_int_equal(free_gone(f), 3);
    put_texts(f, "", POSITION_END, 7);
    assert_string_equal(dump(f), "-\xff:7 | ");
    assert_int_equal(f->holdings.pages, 1);
    free_fixture(f);
}

static void an_older_page_that_comes_late_fills_the_holes(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "c", "e", 5);
    put_texts(f, "g", "i", 6);
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "a-c:4 c-e:5 e-g:4 g-i:6 i-z:4 | ");
    put_texts(f, "b", "h", 3); /* there is no hole */
    assert_string_equal(dump(f), "a-c:4 c-e:5 e-g:4 g-i:6 i-z:4 | ");
    assert_int_equal(free_gone(f), 1);
    assert_int_equal(f->holdings.pages, 3);
    free_fixture(f);
}

static void pages_that_touch_do_not_clip_each_other(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "b", "c", 1);
    put_texts(f, "c", "d", 2);
    put_texts(f, "a", "b", 3);
    assert_string_equal(dump(f), "a-b:3 b-c:1 c-d:2 | ");
    free_fixture(f);
}

static void a_page_that_covers_nothing_changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "a", "z", 1);
    put_texts(f, "c", "c", 2);
    put_keys(f, "d", "c", 3);
    assert_string_equal(dump(f), "a-z:1 | ");
    assert_int_equal(free_gone(f), 2);
    free_fixture(f);
}

static void texts_replace_keys_and_keys_leave_texts(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "c", "g", 1);
    put_keys(f, "a", "k", 2);
    assert_string_equal(dump(f), "c-g:1 | a-k:2 ");
    put_texts(f, "e", "i", 3);
    assert_string_equal(dump(f), "c-e:1 e-i:3 | a-e:2 i-k:2 ");
    put_keys(f, "d", "j", 4);
    assert_string_equal(dump(f), "c-e:1 e-i:3 | a-d:2 d-j:4 j-k:2 ");
    free_fixture(f);
}

static void late_keys_yield_to_younger_texts(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "a", "c", 1);
    put_texts(f, "c", "e", 5);
    put_keys(f, "d", "g", 3);
    put_keys(f, "b", "f", 4);
    assert_string_equal(dump(f), "a-c:1 c-e:5 | b-c:4 e-f:4 f-g:3 ");
    put_keys(f, "c", "e", 2); /* wholly */
    assert_string_equal(dump(f), "a-c:1 c-e:5 | b-c:4 e-f:4 f-g:3 ");
    assert_int_equal(free_gone(f), 1);
    free_fixture(f);
}

static void late_texts_go_under_younger_keys(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_keys(f, "b", "d", 5);
    put_keys(f, "d", "f", 2);
    put_texts(f, "a", "e", 3);
    assert_string_equal(dump(f), "a-e:3 | b-d:5 e-f:2 ");
    free_fixture(f);
}

static void put_one_of_four(struct fixture *f, int which)
{
    switch (which) {
    case 1:
        put_texts(f, "a", "g", 1);
        break;
    case 2:
        put_keys(f, "b", "i", 2);
        break;
    case 3:
        (void)put(f, "c", "d", "", "", 3);
        break;
    default:
        put_keys(f, "f", "k", 4);
    }
}

static void the_order_of_arrival_does_not_matter(void **state)
{
    (void)state;
    static const int orders[][4] = {
        {1, 2, 3, 4}, {1, 2, 4, 3}, {1, 3, 2, 4}, {1, 3, 4, 2}, {1, 4, 2, 3}, {1, 4, 3, 2},
        {2, 1, 3, 4}, {2, 1, 4, 3}, {2, 3, 1, 4}, {2, 3, 4, 1}, {2, 4, 1, 3}, {2, 4, 3, 1},
        {3, 1, 2, 4}, {3, 1, 4, 2}, {3, 2, 1, 4}, {3, 2, 4, 1}, {3, 4, 1, 2}, {3, 4, 2, 1},
        {4, 1, 2, 3}, {4, 1, 3, 2}, {4, 2, 1, 3}, {4, 2, 3, 1}, {4, 3, 1, 2}, {4, 3, 2, 1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct fixture *f = new_fixture();
        for (size_t j = 0; j < 4; j++)
            put_one_of_four(f, orders[i][j]);
        assert_string_equal(dump(f), "a-c:1 c-d:3 d-g:1 | b-c:2 d-f:2 f-k:4 ");
        free_fixture(f);
    }
}

static void an_empty_page_has_all_its_texts(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "a", "f", 1);
    (void)put(f, "c", "d", "", NULL, 2); /* asked for keys, and none is there */
    assert_string_equal(dump(f), "a-c:1 c-d:2 d-f:1 | ");
    free_fixture(f);
}

static void ends_do_not_depend_on_the_page_that_clipped(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "a", "z", 1);
    struct cached_page *clipping = put(f, "d", "f", "q r", "text", 2);
    range_map_evict(clipping);
    assert_int_equal(free_gone(f), 1);
    assert_string_equal(dump(f), "a-d:1 f-z:1 | ");
    free_fixture(f);
}

static void a_page_leaves_with_all_its_pieces(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    struct cached_page *split = put(f, "a", "z", "q r", "text", 1);
    put_texts(f, "d", "f", 2);
    put_texts(f, "j", "k", 3);
    size_t before = f->holdings.bytes, alone = page_bytes(split->page);
    range_map_evict(split);
    assert_true(f->holdings.bytes < before - alone);
    assert_string_equal(dump(f), "d-f:2 j-k:3 | ");
    assert_int_equal(f->holdings.pages, 2);
    assert_int_equal(f->map.floor, 0);
    free_fixture(f);
}

static void where_a_change_left_nothing_older_is_taken(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    range_map_evict(put_change(f, "c", "d", "c", "ours", 5));
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "| ");
    put_texts(f, "a", "z", 6);
    assert_string_equal(dump(f), "a-z:6 | ");
    free_fixture(f);
}

/* A `cat` reads one row, and a lookup of an absent name reads none. */
static void what_was_read_is_no_change_however_small(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    range_map_evict(put(f, "c", "d", "c", "text", 5));
    range_map_evict(put(f, "e", "f", "", "", 6));
    range_map_evict(put(f, "g", "h", "g", NULL, 7));
    assert_int_equal(f->map.floor, 0);
    put_texts(f, "a", "z", 4);
    assert_string_equal(dump(f), "a-z:4 | ");
    free_fixture(f);
}

/* It does not get its place, and leaves it to nobody else either. */
static void a_change_that_is_not_taken_still_takes_the_older_away(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    put_texts(f, "a", "g", 1);
    range_map_evict(put_change(f, "m", "n", "m", "ours", 6));
    (void)put_change(f, "c", "d", "c", "ours", 5);
    assert_string_equal(dump(f), "a-c:1 d-g:1 | ");
    free_fixture(f);
}

/* By one that came later, by one that was there before it, from texts to texts and keys to texts.
 */
static void who_replaces_a_change_remembers_it(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
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
    free_fixture(f);
}

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
    size_t bytes = 0;
    assert_true(range_map_is_consistent(&f->map, &bytes));
    return r;
}

static void gone(struct fixture *f, const char *rows, uint64_t order)
{
    assert_int_equal(put_gone_rows(f, rows, at(order).asked_ms, order), 0);
}

static int64_t asked_ms_at(struct fixture *f, const char *position)
{
    struct piece *piece = range_map_youngest(&f->map, bytes_of(position));
    assert_non_null(piece);
    return piece->page->stamp.asked_ms;
}

static void deleted_rows_are_one_range_where_no_other_is_between(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    (void)put(f, "", "e", "a b c d", "text", 1);
    gone(f, "a b d", 2);
    assert_string_equal(dump(f), "-a:1 a-b\x01:2 b\x01-d:1 d-d\x01:2 d\x01-e:1 | ");
    gone(f, "c", 3);
    assert_string_equal(dump(f), "-a:1 a-d\x01:3 d\x01-e:1 | ");
    assert_int_equal(free_gone(f), 2);
    free_fixture(f);
}

static void a_gap_that_is_not_known_is_not_bridged(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    gone(f, "b d", 2);
    assert_string_equal(dump(f), "b-b\x01:2 d-d\x01:2 | ");
    (void)put(f, "b", "c", "", "", 3);
    gone(f, "f", 4); /* nothing is known before it */
    (void)put(f, "c\x01", "d", "", "", 5);
    gone(f, "d", 6); /* known from c' on alone */
    assert_string_equal(dump(f), "b-c:3 c\x01-d:5 d-d\x01:6 f-f\x01:4 | ");
    free_fixture(f);
}

/* From answers of several pages, of texts and of keys. */
static void a_gap_may_rest_on_several_pages(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    (void)put(f, "a", "c", "b", "text", 3);
    (void)put(f, "c", "g", "e", NULL, 1);
    (void)put(f, "d", "e", "", "", 4);
    gone(f, "b e", 5);
    assert_string_equal(dump(f), "a-b:3 b-e\x01:5 | e\x01-g:1 ");
    assert_int_equal(asked_ms_at(f, "b"), 9); /* the oldest, less 1 ms */
    free_fixture(f);
}

/* Texts know of no row between, younger keys know one; and the other way round. */
static void the_youngest_answer_decides_of_a_gap(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    (void)put(f, "a", "g", "b e", "text", 1);
    (void)put(f, "a", "g", "b c e", NULL, 2);
    gone(f, "b e", 3);
    assert_string_equal(dump(f), "a-b:1 b-b\x01:3 b\x01-e:1 e-e\x01:3 e\x01-g:1 "
                                 "| a-b:2 b\x01-e:2 e\x01-g:2 ");
    (void)put(f, "c", "d", "", "", 4);
    gone(f, "f", 5);
    assert_string_equal(dump(f), "a-b:1 b-b\x01:3 b\x01-c:1 c-d:4 d-e:1 e-f\x01:5 f\x01-g:1 "
                                 "| a-b:2 b\x01-c:2 d-e:2 f\x01-g:2 ");
    free_fixture(f);
}

static void a_gone_range_is_as_old_as_what_it_rests_on(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
    gone(f, "x", 2); /* alone: as of the answer */
    assert_int_equal(asked_ms_at(f, "x"), 20);
    (void)put(f, "a", "g", "b c d", "text", 5);
    gone(f, "b c", 6);
    assert_int_equal(asked_ms_at(f, "c"), 49);
    gone(f, "d", 7);
    assert_int_equal(asked_ms_at(f, "b"), 49); /* not older with each that joins */
    assert_string_equal(dump(f), "a-b:5 b-d\x01:7 d\x01-g:5 x-x\x01:2 | ");
    free_fixture(f);
}

static void nothing_asked_before_brings_deleted_rows_back(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
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
    free_fixture(f);
}

/* A row that was stored in the gap since the gap was known. */
static void a_change_in_a_gap_stays(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
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
    free_fixture(f);
}

static void without_memory_no_deleted_row_stays(void **state)
{
    (void)state;
    long n = 1;
    for (int r = -ENOMEM; r < 0; n++) {
        struct fixture *f = new_fixture();
        (void)put(f, "a", "n", "b c d k", "text", 1);
        gone(f, "b", 2);
        allocations_until_failure = n;
        r = put_gone_rows(f, "c k", 30, 3);
        allocations_until_failure = 0;
        assert_true(r == 0 || r == -ENOMEM);
        assert_string_equal(dump(f),
                            r < 0 ? "| " : "a-b:1 b-c\x01:3 c\x01-k:1 k-k\x01:3 k\x01-n:1 | ");
        assert_int_equal(f->map.floor, r < 0 ? 3 : 0);
        free_fixture(f);
    }
    assert_true(n > 8);
}

static void a_drop_leaves_what_is_younger(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
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
    free_fixture(f);
}

static uint64_t found(struct fixture *f, const char *position, struct stamp since)
{
    struct piece *piece = range_map_find(&f->map, bytes_of(position), since);
    return piece ? piece->page->stamp.order : 0;
}

static void texts_answer_first_where_they_are_fresh_enough(void **state)
{
    (void)state;
    struct fixture *f = new_fixture();
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
    free_fixture(f);
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
    struct fixture *f = new_fixture();
    prepare(f);
    struct cached_page *page =
        cached_of(late->lo, late->hi, late->rows, late->text, late->order, ORIGIN_READ);
    allocations_until_failure = n;
    int r = range_map_put(&f->map, page, &f->queue);
    allocations_until_failure = 0;
    size_t bytes = 0;
    assert_true(range_map_is_consistent(&f->map, &bytes));
    assert_true(r == 0 || r == -ENOMEM);
    if (r < 0) {
        assert_string_equal(dump(f), late->order > 4 ? "| " : "g-h:4 | ");
        assert_int_equal(f->map.floor, late->order);
    }
    free_fixture(f);
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
        cmocka_unit_test(a_younger_page_takes_its_place_from_an_older),
        cmocka_unit_test(an_older_page_that_comes_late_fills_the_holes),
        cmocka_unit_test(pages_that_touch_do_not_clip_each_other),
        cmocka_unit_test(a_page_that_covers_nothing_changes_nothing),
        cmocka_unit_test(texts_replace_keys_and_keys_leave_texts),
        cmocka_unit_test(late_keys_yield_to_younger_texts),
        cmocka_unit_test(late_texts_go_under_younger_keys),
        cmocka_unit_test(the_order_of_arrival_does_not_matter),
        cmocka_unit_test(an_empty_page_has_all_its_texts),
        cmocka_unit_test(ends_do_not_depend_on_the_page_that_clipped),
        cmocka_unit_test(a_page_leaves_with_all_its_pieces),
        cmocka_unit_test(where_a_change_left_nothing_older_is_taken),
        cmocka_unit_test(what_was_read_is_no_change_however_small),
        cmocka_unit_test(a_change_that_is_not_taken_still_takes_the_older_away),
        cmocka_unit_test(who_replaces_a_change_remembers_it),
        cmocka_unit_test(deleted_rows_are_one_range_where_no_other_is_between),
        cmocka_unit_test(a_gap_that_is_not_known_is_not_bridged),
        cmocka_unit_test(a_gap_may_rest_on_several_pages),
        cmocka_unit_test(the_youngest_answer_decides_of_a_gap),
        cmocka_unit_test(a_gone_range_is_as_old_as_what_it_rests_on),
        cmocka_unit_test(nothing_asked_before_brings_deleted_rows_back),
        cmocka_unit_test(a_change_in_a_gap_stays),
        cmocka_unit_test(without_memory_no_deleted_row_stays),
        cmocka_unit_test(a_drop_leaves_what_is_younger),
        cmocka_unit_test(texts_answer_first_where_they_are_fresh_enough),
        cmocka_unit_test(without_memory_nothing_older_stays),
        cmocka_unit_test(without_memory_there_is_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
