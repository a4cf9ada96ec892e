/* SPDX-License-Identifier: MIT */
#include "cache/bulk/compare.h"
#include "client/entity/entity_compare.h"

#include <assert.h>

static struct bytes text_of(struct pair_row row)
{
    return page_text(row.page, row.row);
}

static bool is_readable(struct pair_row row)
{
    return !row.page ||
           (!page_is_bad(row.page, row.row) && entity_text_equal(text_of(row), text_of(row)));
}

enum pair_kind compare_rows(struct pair_row from, struct pair_row to)
{
    bool has_both = from.page && to.page;
    bool is_bad = (from.page && page_is_bad(from.page, from.row)) ||
                  (to.page && page_is_bad(to.page, to.row));
    if (has_both && !is_bad && bytes_equal(text_of(from), text_of(to)))
        return PAIR_EQUAL;
    if (!is_readable(from) || !is_readable(to))
        return PAIR_UNREADABLE;
    if (!has_both)
        return from.page ? PAIR_ONLY_FROM : PAIR_ONLY_TO;
    return entity_text_equal(text_of(from), text_of(to)) ? PAIR_EQUAL : PAIR_DIFFERENT;
}

void compare_finish(struct compare *compare)
{
    for (int side = 0; side < COMPARE_SIDES; side++)
        run_finish(&compare->streams[side].rows);
}

void compare_give(struct compare *compare, enum compare_side side, struct run *rows)
{
    struct compare_stream *stream = &compare->streams[side];
    assert(!stream->rows.page && !stream->has_ended && rows->begin < rows->end);
    stream->rows = *rows;
    *rows = (struct run){0};
}

void compare_give_end(struct compare *compare, enum compare_side side)
{
    compare->streams[side].has_ended = true;
}

/* Is the next row known, or that there is none? */
static bool is_known(struct compare_stream *stream)
{
    if (stream->rows.page && stream->rows.begin == stream->rows.end)
        run_finish(&stream->rows);
    return stream->rows.page || stream->has_ended;
}

static struct bytes position_of(const struct compare_stream *stream)
{
    return page_position(stream->rows.page, stream->rows.begin);
}

static struct pair_row take(struct compare_stream *stream)
{
    return (struct pair_row){stream->rows.page, stream->rows.begin++};
}

enum compare_step compare_next(struct compare *compare, struct pair *ret)
{
    struct compare_stream *from = &compare->streams[COMPARE_FROM];
    struct compare_stream *to = &compare->streams[COMPARE_TO];
    if (!is_known(from))
        return COMPARE_NEEDS_FROM;
    if (!is_known(to))
        return COMPARE_NEEDS_TO;
    if (!from->rows.page && !to->rows.page)
        return COMPARE_END;
    int order = !from->rows.page ? 1
                : !to->rows.page ? -1
                                 : bytes_compare(position_of(from), position_of(to));
    struct pair pair = {.position = position_of(order <= 0 ? from : to)};
    if (order <= 0)
        pair.sides[COMPARE_FROM] = take(from);
    if (order >= 0)
        pair.sides[COMPARE_TO] = take(to);
    pair.kind = compare_rows(pair.sides[COMPARE_FROM], pair.sides[COMPARE_TO]);
    *ret = pair;
    return COMPARE_PAIR;
}
