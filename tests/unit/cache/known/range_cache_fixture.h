/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_KNOWN_RANGE_CACHE_FIXTURE_H
#define TESTS_UNIT_CACHE_KNOWN_RANGE_CACHE_FIXTURE_H
/* A range cache whose invariants are checked after each step, and its answers as lines of text. */
#include "tests/unit/page_of.h"
#include "tests/unit/range_check.h"

#define LARGE ((size_t)1 << 30)

static inline struct range_cache *new_cache(size_t max_bytes)
{
    struct range_cache *cache;
    assert_int_equal(range_cache_create(max_bytes, &cache), 0);
    return cache;
}

static inline void free_cache(struct range_cache *cache)
{
    assert_cache_is_sound(cache);
    range_cache_destroy(cache);
}

static inline void put_in(struct range_cache *cache, const char *table, const char *lo,
                          const char *hi, const char *rows, const char *text, uint64_t order)
{
    _cleanup_(page_unrefp) struct page *page = page_of(lo, hi, rows, text);
    assert_int_equal(range_cache_put(cache, table, page, at(order)), 0);
    assert_cache_is_sound(cache);
}

static inline void put(struct range_cache *cache, const char *lo, const char *hi, const char *rows,
                       const char *text, uint64_t order)
{
    put_in(cache, "t", lo, hi, rows, text, order);
}

static inline void put_change(struct range_cache *cache, const char *lo, const char *hi,
                              const char *rows, const char *text, uint64_t order)
{
    _cleanup_(page_unrefp) struct page *page = page_of(lo, hi, rows, text);
    _Atomic uint64_t orders = order - 1;
    assert_int_equal(range_cache_put_change(cache, "t", page, &orders, at(order).requested_ms), 0);
    assert_cache_is_sound(cache);
}

static inline void append_rows(struct buffer *line, const struct run *run)
{
    for (size_t row = run->begin; row < run->end; row++) {
        struct bytes position = page_position(run->page, row), text = page_text(run->page, row);
        (void)buffer_append(line, position);
        (void)buffer_append_string(line, "=");
        (void)buffer_append(line, text);
        (void)buffer_append_string(line, " ");
    }
}

/* "b=text c=text @10", "none @10", "until c @10"; "@-1" where nothing was known. */
static inline void assert_answer(struct range_cache *cache, const struct question *question,
                                 const char *expected)
{
    struct run run = {0};
    int64_t requested_ms = -1;
    struct position until;
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096};
    enum knowledge known = range_cache_next(cache, question, &run, &requested_ms, &until);
    append_rows(&line, &run);
    if (known == KNOWN_EMPTY)
        (void)buffer_append_string(&line, "none ");
    if (known == KNOWN_NOT)
        (void)buffer_append_format(&line, "until %.*s ", (int)until.size, until.data);
    else
        assert_int_equal(until.size, 0);
    (void)buffer_append_format(&line, "@%d", (int)requested_ms);
    assert_string_equal(buffer_string(&line), expected);
    assert_cache_is_sound(cache);
    run_finish(&run);
}

static inline struct question ask(const char *lo, const char *hi)
{
    return (struct question){.table = "t", .range = {bytes_of(lo), bytes_of(hi)}};
}

static inline void next(struct range_cache *cache, const char *lo, const char *hi,
                        const char *expected)
{
    struct question question = ask(lo, hi);
    assert_answer(cache, &question, expected);
}

static inline void next_key(struct range_cache *cache, const char *lo, const char *hi,
                            const char *expected)
{
    struct question question = ask(lo, hi);
    question.keys_suffice = true;
    assert_answer(cache, &question, expected);
}

static inline struct range_cache_stats stats_of(struct range_cache *cache)
{
    struct range_cache_stats stats;
    range_cache_stats(cache, &stats);
    return stats;
}

#endif
