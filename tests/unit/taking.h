#ifndef TESTS_UNIT_TAKING_H
#define TESTS_UNIT_TAKING_H
/* What the tests of streams share: all rows or names of one, taken in order and looked at. */
#include "tests/unit/streaming.h"

/* Rows so far; each is behind the one before. */
struct taken {
    size_t rows;
    struct buffer last; /* position, or name */
};

static inline void taken_init(struct taken *taken)
{
    taken->rows = 0;
    buffer_init(&taken->last, STREAMED_MAX);
}

static inline void take_position(struct taken *taken, struct bytes position)
{
    assert_true(bytes_compare(buffer_bytes(&taken->last), position) < 0);
    buffer_clear(&taken->last);
    assert_int_equal(buffer_append(&taken->last, position), 0);
    taken->rows++;
}

/* Its rows are in the cache before anybody has them. */
static inline void assert_cached(struct streaming *streaming, const struct run *rows)
{
    struct bytes first = page_position(rows->page, rows->begin);
    struct question question = {"t", {first, B(POSITION_END)}, stamp_since(0), false};
    struct buffer position;
    int64_t asked_ms;
    buffer_init(&position, STREAMED_MAX);
    assert_int_equal(fetching_known(&streaming->fetching, &question, &position, &asked_ms),
                     KNOWN_ROWS);
    assert_bytes(buffer_bytes(&position), first);
    buffer_finish(&position);
}

/* The next rows: 1, 0 at the end, or what failed. */
static inline int take_rows(struct streaming *streaming, struct stream *stream, struct taken *taken)
{
    struct scan_item item = {0};
    int r = streaming_next(streaming, stream, &item);
    if (r < 1)
        return r;
    assert_int_equal(item.kind, SCAN_ROWS);
    assert_true(item.rows.begin < item.rows.end);
    for (size_t row = item.rows.begin; row < item.rows.end; row++)
        take_position(taken, page_position(item.rows.page, row));
    assert_cached(streaming, &item.rows);
    run_finish(&item.rows);
    return 1;
}

static inline size_t take_all_rows(struct streaming *streaming, struct stream *stream)
{
    struct taken taken;
    int r;
    taken_init(&taken);
    while ((r = take_rows(streaming, stream, &taken)) == 1)
        continue;
    assert_int_equal(r, 0);
    buffer_finish(&taken.last);
    return taken.rows;
}

/* All names, as "p0000 " or, of a prefix, "p+ ". */
static inline void take_names(struct streaming *streaming, struct stream *stream,
                              struct buffer *ret)
{
    struct scan_item item = {0};
    int r;
    while ((r = streaming_next(streaming, stream, &item)) == 1) {
        assert_int_not_equal(item.kind, SCAN_ROWS);
        (void)buffer_append(ret, item.key);
        (void)buffer_append_string(ret, item.kind == SCAN_PREFIX ? "+ " : " ");
    }
    assert_int_equal(r, 0);
    stream_unref(stream);
}

static inline void assert_names(struct streaming *streaming, struct stream *stream,
                                const char *expected)
{
    struct buffer names;
    buffer_init(&names, STREAMED_MAX);
    take_names(streaming, stream, &names);
    assert_string_equal(buffer_string(&names), expected);
    buffer_finish(&names);
}

#endif
