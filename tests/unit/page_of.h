/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_PAGE_OF_H
#define TESTS_UNIT_PAGE_OF_H
/* Pages for tests, and questions answered in a line of text. Positions are short words. */
#include "cache/known/range_cache.h"
#include "tests/unit/unit.h"

/* Covers [lo, hi). `rows`: words with a blank between; `text` is every row's, NULL: keys only. */
static inline struct page *page_of(const char *lo, const char *hi, const char *rows,
                                   const char *text)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    while (*rows) {
        struct bytes row = {rows, strcspn(rows, " ")};
        (void)buffer_append_string(page_builder_text(builder), text ? text : "");
        assert_int_equal(page_builder_end_row(builder, row, B("e"), 1), 0);
        rows += row.size + (rows[row.size] == ' ');
    }
    struct range range = {bytes_of(lo), bytes_of(hi)};
    assert_int_equal(page_builder_finish(builder, range, !text, &page), 0);
    return page;
}

/* A stamp of this order. Its time is 10 ms times the order. */
static inline struct stamp at(uint64_t order)
{
    return (struct stamp){(int64_t)order * 10, order};
}

#endif
