#include "cache/scan/divider.h"

#include <math.h>

#define SAMPLES         32    /* rows of a page that are learned */
#define UNKNOWN_PAGES   4.0   /* left, where nothing tells how many */
#define SIBLING_PAGES   5.5   /* and others may be behind: enough for two pieces and a guess */
#define DENSER          4.0   /* times that the last page must be, to be believed alone */
#define GALLOP_BEGIN    1.5   /* pages ahead */
#define GALLOP_STEP     1.6   /* at least, from one jump to the next */
#define LEAST_WIDTH     1e-12 /* of what was seen: never 0 */
#define SMALL_PARTITION 3.0   /* pages; at the end of a larger one a request more is little */
#define SIBLING_MAX     8     /* guesses at other partitions at a time */

int divider_init(struct divider *divider, size_t page_rows)
{
    *divider = (struct divider){.page_rows = page_rows};
    buffer_init(&divider->greatest, POSITION_MAX_BYTES);
    int r = key_model_create(&divider->partition_keys);
    return r < 0 ? r : key_model_create(&divider->row_keys);
}

void divider_finish(struct divider *divider)
{
    buffer_finish(&divider->greatest);
    key_model_destroy(divider->partition_keys);
    key_model_destroy(divider->row_keys);
}

static int learn_position(struct divider *divider, struct bytes previous, struct bytes position)
{
    struct bytes before = position_partition_key(previous), key = position_partition_key(position);
    bool is_new = previous.size == 0 || !bytes_equal(before, key);
    divider->partitions += is_new;
    int r = is_new ? key_model_learn(divider->partition_keys, before, key) : 0;
    if (r < 0)
        return r;
    return key_model_learn(divider->row_keys,
                           is_new ? BYTES_LITERAL("") : position_row_key(previous),
                           position_row_key(position));
}

static int learn_greatest(struct divider *divider, struct bytes position)
{
    struct bytes greatest = position_row_key(buffer_bytes(&divider->greatest));
    if (bytes_compare(position_row_key(position), greatest) <= 0)
        return 0;
    buffer_clear(&divider->greatest);
    return buffer_append(&divider->greatest, position);
}

int divider_learn(struct divider *divider, struct bytes previous, const struct run *run)
{
    size_t step = MAX((run->end - run->begin) / SAMPLES, 1);
    int r = 0;
    for (size_t row = run->begin; row < run->end && r == 0; row += step) {
        struct bytes position = page_position(run->page, row);
        r = learn_position(divider, previous, position);
        if (r == 0)
            r = learn_greatest(divider, position);
        previous = position;
    }
    struct bytes last = page_position(run->page, run->end - 1);
    return r < 0 ? r : learn_greatest(divider, last);
}

/* What a chunk has shown of the keys that it can be divided by. */
struct axis {
    struct bytes first, page_first, last; /* page_first is valid if knows_page */
    struct bytes end;
    bool has_end, knows_page;
    double rows; /* from first to last */
};

static bool is_in_partition(const struct buffer *position, struct bytes key)
{
    return bytes_equal(position_partition_key(buffer_bytes(position)), key);
}

static void look_at_partitions(const struct chunk *chunk, struct axis *ret)
{
    *ret = (struct axis){.first = position_partition_key(buffer_bytes(&chunk->first)),
                         .page_first = position_partition_key(buffer_bytes(&chunk->page_first)),
                         .last = position_partition_key(buffer_bytes(&chunk->last)),
                         .end = position_partition_key(buffer_bytes(&chunk->end)),
                         .has_end = true,
                         .knows_page = true,
                         .rows = (double)chunk->rows};
}

static void look_inside(const struct divider *divider, const struct chunk *chunk, struct axis *ret)
{
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    *ret = (struct axis){.last = position_row_key(buffer_bytes(&chunk->last)),
                         .page_first = position_row_key(buffer_bytes(&chunk->page_first)),
                         .end = position_row_key(buffer_bytes(&chunk->end)),
                         .has_end = position_has_row(buffer_bytes(&chunk->end)),
                         .knows_page = is_in_partition(&chunk->page_first, key),
                         .rows = (double)chunk->page_rows};
    if (is_in_partition(&chunk->first, key)) {
        ret->first = position_row_key(buffer_bytes(&chunk->first));
        ret->rows = (double)chunk->rows;
    } else if (ret->knows_page) {
        ret->first = ret->page_first;
    }
    struct bytes greatest = position_row_key(buffer_bytes(&divider->greatest));
    if (!ret->has_end && bytes_compare(greatest, ret->last) > 0) {
        ret->end = greatest;
        ret->has_end = true;
    }
}

/* The place of the end among the keys that begin as all of them do. */
static double place_end(const struct division *division, const struct axis *axis)
{
    if (!axis->has_end || axis->end.size <= division->common ||
        key_shared_size(axis->end, division->last) < division->common)
        return 1;
    return key_model_place(division->model, axis->end, division->common);
}

static void plan_evenly(const struct divider *divider, const struct axis *axis,
                        struct division *division)
{
    double page = (double)divider->page_rows;
    double first = key_model_place(division->model, axis->first, division->common);
    division->begin = key_model_place(division->model, axis->last, division->common);
    division->end = place_end(division, axis);
    double left = MAX(division->end - division->begin, 0);
    division->kind = DIVISION_EVEN;
    division->page_width = MAX(division->begin - first, LEAST_WIDTH) * page / axis->rows;
    division->pages = left / division->page_width;
}

/* Is the last page much denser than all before it? */
static void consider_gallop(const struct divider *divider, const struct chunk *chunk,
                            const struct axis *axis, struct division *division)
{
    double width =
        division->begin - key_model_place(division->model, axis->page_first, division->common);
    if (width <= LEAST_WIDTH || !axis->knows_page)
        return;
    width *= (double)divider->page_rows / (double)chunk->page_rows;
    double pages = (division->end - division->begin) / width;
    if (pages <= MAX(division->pages, 1) * DENSER)
        return;
    division->kind = DIVISION_GALLOP;
    division->page_width = width;
    division->pages = sqrt(pages * division->pages);
}

/* Is what is left of the partition that it reads in likely to come with the next page? So it is
 * where partitions are small and another one, that reached further than all, reached no further
 * than a page from here. To split it off would cost a request for what comes anyway. */
static bool is_nearly_through(const struct divider *divider, const struct chunk *chunk)
{
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    if (is_in_partition(&divider->greatest, key))
        return false;
    struct axis axis;
    look_inside(divider, chunk, &axis);
    axis.end = position_row_key(buffer_bytes(&divider->greatest));
    axis.has_end = true;
    struct division inside = {.model = divider->row_keys,
                              .last = axis.last,
                              .common = shared_in_range(axis.first, axis.end)};
    plan_evenly(divider, &axis, &inside);
    return inside.pages <= 1 && inside.end <= inside.page_width * SMALL_PARTITION;
}

/* Reading in one partition of several: where it ends, and where others may be. */
static void plan_partition(const struct divider *divider, const struct chunk *chunk,
                           const struct axis *axis, struct division *division)
{
    division->kind = DIVISION_PARTITION;
    division->has_siblings = divider->partitions > 1;
    if (division->has_siblings)
        division->pages = MAX(division->pages, SIBLING_PAGES);
    division->is_nearly_through = is_nearly_through(divider, chunk);
    division->is_ladder =
        ladder_is_needed(division->model, division->last, division->common, division->shared);
    division->begin = key_model_place(division->model, axis->last, division->common);
    division->end = place_end(division, axis);
}

/* The chunk's keys and what they share; false: it has shown none where it is reading. */
static bool look(const struct divider *divider, const struct chunk *chunk, struct axis *axis,
                 struct division *ret)
{
    struct range left = {buffer_bytes(&chunk->cursor), buffer_bytes(&chunk->end)};
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    *ret = (struct division){.is_inside = range_is_in_partition(left), .pages = 1};
    if (ret->is_inside && !is_in_partition(&chunk->cursor, key))
        return false;
    if (ret->is_inside)
        look_inside(divider, chunk, axis);
    else
        look_at_partitions(chunk, axis);
    ret->model = ret->is_inside ? divider->row_keys : divider->partition_keys;
    ret->last = axis->last;
    ret->common = axis->has_end ? shared_in_range(axis->first, axis->end) : 0;
    ret->shared = axis->knows_page ? shared_characters(axis->page_first, axis->last) : 0;
    return true;
}

/* The last page and what comes next are in one partition, and where others are, its pages do not
 * tell: it goes on for long, or is the first that it has shown. */
static bool is_dense(const struct divider *divider, const struct chunk *chunk)
{
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    if (!position_has_row(buffer_bytes(&chunk->cursor)) || !is_in_partition(&chunk->cursor, key) ||
        !is_in_partition(&chunk->page_first, key))
        return false;
    return is_in_partition(&chunk->first, key) || !is_nearly_through(divider, chunk);
}

void divider_plan(const struct divider *divider, const struct chunk *chunk, struct division *ret)
{
    struct axis axis;
    if (!look(divider, chunk, &axis, ret))
        return;
    ret->pages = MAX(UNKNOWN_PAGES, axis.rows / (double)divider->page_rows);
    if (!ret->is_inside && is_dense(divider, chunk)) {
        plan_partition(divider, chunk, &axis, ret);
    } else if (ladder_is_needed(ret->model, ret->last, ret->common, ret->shared)) {
        ret->kind = DIVISION_LADDER;
    } else {
        plan_evenly(divider, &axis, ret);
        consider_gallop(divider, chunk, &axis, ret);
    }
}

static int append_rung(const struct division *division, int index, int pieces, struct buffer *ret)
{
    struct ladder ladder = ladder_of(bytes_first(division->last, division->shared),
                                     division->common, LADDER_EVEN, (size_t)pieces - 1);
    return (size_t)index <= ladder.rungs ? ladder_append_rung(&ladder, (size_t)index - 1, ret) : 0;
}

static int append_jump(const struct division *division, int index, int pieces, struct buffer *ret)
{
    double span = (division->end - division->begin) / division->page_width;
    double step = MAX(GALLOP_STEP, pow(span, 1.0 / pieces));
    double pages = (GALLOP_BEGIN + 1) * pow(step, index - 1);
    if (pages > span * 0.8)
        return 0;
    return key_model_append_key(division->model, bytes_first(division->last, division->common),
                                division->begin + division->page_width * pages,
                                division->page_width * pages / 8, ret);
}

static int append_even(const struct division *division, int index, int pieces, double reach,
                       struct buffer *ret)
{
    double begin = division->begin + division->page_width;
    double piece = MIN(division->end - begin, division->page_width * reach) / pieces;
    if (piece <= 0)
        return 0;
    return key_model_append_key(division->model, bytes_first(division->last, division->common),
                                begin + piece * index, piece / 4, ret);
}

/* Index 1 is the partition's end, if it is worth a request, the others are where partitions behind
 * it may be. */
static int append_sibling(const struct division *division, int index, int pieces,
                          struct buffer *ret)
{
    pieces = MIN(pieces - 1, SIBLING_MAX);
    if (!division->has_siblings || index > pieces)
        return 0;
    if (division->is_ladder)
        return append_rung(division, index - 1, pieces, ret);
    double piece = (division->end - division->begin) / pieces;
    if (piece <= 0)
        return 0;
    return key_model_append_key(division->model, bytes_first(division->last, division->common),
                                division->begin + piece * (index - 1), piece / 4, ret);
}

static int append_key(const struct division *division, int index, int pieces, double reach,
                      struct buffer *ret)
{
    switch (division->kind) {
    case DIVISION_NONE:
        return 0;
    case DIVISION_EVEN:
        return append_even(division, index, pieces, reach, ret);
    case DIVISION_GALLOP:
        return append_jump(division, index, pieces, ret);
    case DIVISION_LADDER:
        return append_rung(division, index, pieces, ret);
    case DIVISION_PARTITION:
        return append_sibling(division, index, pieces, ret);
    }
    return 0;
}

int divider_append_point(const struct division *division, const struct chunk *chunk, int index,
                         int pieces, double reach, struct buffer *ret)
{
    if (division->kind == DIVISION_PARTITION && index == 1) {
        if (division->is_nearly_through)
            return 0;
        return position_append_behind(ret, division->last);
    }
    _cleanup_(buffer_finish) struct buffer key;
    buffer_init(&key, POSITION_MAX_BYTES);
    int r = append_key(division, index, pieces, reach, &key);
    if (r < 0 || key.size == 0)
        return r;
    /* the first row that it may stand before */
    if (!division->is_inside)
        return position_append(ret, buffer_bytes(&key), BYTES_LITERAL(""));
    struct bytes partition_key = position_partition_key(buffer_bytes(&chunk->last));
    return position_append(ret, partition_key, buffer_bytes(&key));
}
