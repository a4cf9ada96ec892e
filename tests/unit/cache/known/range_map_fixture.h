/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_KNOWN_RANGE_MAP_FIXTURE_H
#define TESTS_UNIT_CACHE_KNOWN_RANGE_MAP_FIXTURE_H
/* A range map whose invariants are checked after each put, and its pieces as a line of text. */
#include "tests/unit/page_of.h"
#include "tests/unit/range_check.h"

struct fixture {
    struct range_holdings holdings;
    struct range_map map;
    struct page_queue queue;
    struct buffer dump;
};

static inline void begin_fixture(struct fixture *f)
{
    *f = (struct fixture){.dump = {.max = 4096}};
    range_holdings_init(&f->holdings);
    range_map_init(&f->map, &f->holdings, 0);
    TAILQ_INIT(&f->queue);
}

/* The number of pages that were removed since the last call. */
static inline size_t free_removed(struct fixture *f)
{
    size_t count = 0;
    for (struct cached_page *page; (page = TAILQ_FIRST(&f->holdings.removed)) != NULL; count++) {
        TAILQ_REMOVE(&f->holdings.removed, page, in_queue);
        cached_page_destroy(page);
    }
    return count;
}

static inline void end_fixture(struct fixture *f)
{
    range_map_drop(&f->map, at(UINT32_MAX));
    assert_true(range_map_is_empty(&f->map));
    (void)free_removed(f);
    assert_int_equal(f->holdings.pages, 0);
    assert_int_equal(f->holdings.bytes, 0);
    buffer_finish(&f->dump);
}

static inline struct cached_page *cached_of(const char *lo, const char *hi, const char *rows,
                                            const char *text, uint64_t order,
                                            enum page_origin origin)
{
    _cleanup_(page_unrefp) struct page *page = page_of(lo, hi, rows, text);
    struct cached_page *cached;
    assert_int_equal(cached_page_create(page, at(order), origin, &cached), 0);
    return cached;
}

static inline void assert_is_sound(struct fixture *f)
{
    struct range_map_check check = {0};
    check_range_map(&check, &f->map);
    assert_queues_are_sound(&check);
    assert_int_equal(check.pages, f->holdings.pages);
    assert_int_equal(check.bytes, f->holdings.bytes);
}

static inline struct cached_page *put_page(struct fixture *f, struct cached_page *cached)
{
    assert_int_equal(range_map_put(&f->map, cached, &f->queue), 0);
    assert_is_sound(f);
    return cached;
}

static inline struct cached_page *put(struct fixture *f, const char *lo, const char *hi,
                                      const char *rows, const char *text, uint64_t order)
{
    return put_page(f, cached_of(lo, hi, rows, text, order, ORIGIN_READ));
}

static inline struct cached_page *put_change(struct fixture *f, const char *lo, const char *hi,
                                             const char *rows, const char *text, uint64_t order)
{
    return put_page(f, cached_of(lo, hi, rows, text, order, ORIGIN_CHANGE));
}

static inline void put_texts(struct fixture *f, const char *lo, const char *hi, uint64_t order)
{
    (void)put(f, lo, hi, "q r", "text", order);
}

static inline void put_keys(struct fixture *f, const char *lo, const char *hi, uint64_t order)
{
    (void)put(f, lo, hi, "q r", NULL, order);
}

/* "a-c:1 c-d:2 | a-b:3": the pieces of texts and of keys, each with its stamp's order. */
static inline const char *dump(struct fixture *f)
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

DEFINE_FIXTURE(range_map, struct fixture, begin_fixture(test), end_fixture(test))

#endif
