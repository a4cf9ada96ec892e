/* SPDX-License-Identifier: MIT */
#include "cache/scan/gap.h"
#include "cache/scan/ladder.h"
#include "cache/scan/partition_map.h"
#include "client/base/unicode.h"

#include <math.h>

#define UNBOUNDED 3.0 /* such a gap has at most this many times the rows before it */
#define UNEVEN    8.0 /* by this factor the densities before and after a gap differ */

static struct chunk *next_chunk(const struct chunk *chunk)
{
    return TAILQ_NEXT(chunk, link);
}

static struct chunk *previous_chunk(const struct chunk *chunk)
{
    return TAILQ_PREV(chunk, chunk_list, link);
}

struct range gap_range_of(const struct chunk *chunk)
{
    return (struct range){buffer_bytes(&chunk->cursor), buffer_bytes(&chunk->end)};
}

const struct run *gap_last_run(const struct chunk *chunk)
{
    const struct waiting_run *waiting = TAILQ_LAST(&chunk->runs, chunk_runs);
    return waiting ? &waiting->run : NULL;
}

static struct bytes key_at(const struct run *run, size_t row)
{
    return position_partition_key(page_position(run->page, row));
}

/* The first row of the page's last partition. */
size_t gap_first_of_last(const struct run *run)
{
    size_t row = run->end - 1;
    while (row > run->begin && bytes_equal(key_at(run, row - 1), key_at(run, run->end - 1)))
        row--;
    return row;
}

bool gap_is_known(const struct chunk *chunk)
{
    return !isinf(chunk->pages_left);
}

double gap_rows(const struct chunk *chunk) /* read, and expected */
{
    return (double)chunk->rows + (gap_is_known(chunk) ? chunk->pages_left : 0);
}

bool gap_is_inside(const struct chunk *chunk)
{
    return range_is_in_partition(gap_range_of(chunk));
}

/* Is there a gap along partition keys after its rows? */
static bool ends_across(const struct chunk *chunk)
{
    return chunk->state != CHUNK_DONE && !gap_is_inside(chunk);
}

/* Extends the stretch back over the chunk. True: it has two partitions, which show the density. */
static bool extend_before(struct gap_stretch *stretch, const struct chunk *chunk)
{
    if (!chunk_is_begun(chunk))
        return false;
    if (!stretch->last.data)
        stretch->last = position_partition_key(buffer_bytes(&chunk->last));
    stretch->first = position_partition_key(buffer_bytes(&chunk->first));
    return !bytes_equal(stretch->first, stretch->last);
}

/* The rows before the gap, back to another gap along partition keys, or until they are of two
 * partitions. */
static struct gap_stretch stretch_before(const struct chunk *chunk)
{
    struct gap_stretch stretch = {.rows = (double)chunk->rows};
    while (!extend_before(&stretch, chunk)) {
        chunk = previous_chunk(chunk);
        if (!chunk || ends_across(chunk)) {
            stretch.rows = -1;
            break;
        }
        stretch.rows += gap_rows(chunk);
    }
    return stretch;
}

/* The same after the gap, whose end is `end`. */
static struct gap_stretch stretch_behind(const struct chunk *chunk, struct bytes end)
{
    struct gap_stretch stretch = {.first = end};
    struct bytes first = {0};
    while (chunk && chunk->state != CHUNK_REQUESTED && gap_is_known(chunk)) {
        if (chunk->state == CHUNK_DONE && chunk->rows == 0 && stretch.rows == 0) {
            stretch.last = end; /* no row is there */
            return stretch;
        }
        stretch.rows += ends_across(chunk) ? (double)chunk->rows : gap_rows(chunk);
        if (chunk_is_begun(chunk)) {
            if (!first.data)
                first = position_partition_key(buffer_bytes(&chunk->first));
            stretch.last = position_partition_key(buffer_bytes(&chunk->last));
            if (!bytes_equal(first, stretch.last))
                return stretch;
        }
        if (ends_across(chunk))
            break;
        chunk = next_chunk(chunk);
    }
    stretch.rows = -1;
    return stretch;
}

/* The row keys of the last partition of the page before the gap. */
static struct gap_stretch stretch_inside(const struct chunk *chunk)
{
    const struct run *run = gap_last_run(chunk);
    size_t first = gap_first_of_last(run), last = run->end - 1;
    return (struct gap_stretch){position_row_key(page_position(run->page, first)),
                                position_row_key(page_position(run->page, last)),
                                last > first ? (double)(last - first) : -1};
}

/* The row keys of the page after the gap. */
static struct gap_stretch stretch_inside_behind(const struct chunk *chunk,
                                                struct bytes partition_key, struct bytes end)
{
    struct gap_stretch stretch = {.first = end, .last = end, .rows = -1};
    if (!chunk || chunk->state == CHUNK_REQUESTED)
        return stretch;
    if (!chunk_is_begun(chunk)) {
        stretch.rows = chunk->state == CHUNK_DONE ? 0 : -1;
        return stretch;
    }
    struct bytes last = buffer_bytes(&chunk->last);
    if (!bytes_equal(position_partition_key(last), partition_key))
        return stretch;
    stretch.last = position_row_key(last);
    stretch.rows = (double)chunk->rows;
    return stretch;
}

/* Is no row known after the gap, along its axis? */
static bool is_at_end(const struct chunk *chunk)
{
    bool is_inside = gap_is_inside(chunk);
    while (!is_inside || position_has_row(buffer_bytes(&chunk->end))) {
        chunk = next_chunk(chunk);
        if (!chunk)
            return true;
        if (chunk->state != CHUNK_DONE || chunk->rows > 0)
            return false;
    }
    return true;
}

/* Has it shown rows, all of this partition? */
bool gap_is_of_partition(const struct chunk *chunk, struct bytes key)
{
    return chunk_is_begun(chunk) &&
           bytes_equal(position_partition_key(buffer_bytes(&chunk->first)), key);
}

static void set_axis_inside(const struct gap_models *models, const struct chunk *chunk,
                            struct gap_axis *ret)
{
    struct bytes hi = buffer_bytes(&chunk->end);
    bool has_end = position_has_row(hi);
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    *ret = (struct gap_axis){.model = models->row_keys,
                             .partition_key = key,
                             .left = stretch_inside(chunk),
                             .right = {.rows = -1},
                             .is_unbounded = is_at_end(chunk)};
    if (has_end) {
        ret->end = position_row_key(hi);
        ret->right = stretch_inside_behind(next_chunk(chunk), key, ret->end);
    }
    ret->shown = (double)chunk->rows;
    ret->first = ret->left.first;
    ret->last = ret->left.last;
    ret->is_lone = true;
    for (const struct chunk *c = previous_chunk(chunk); c && !ends_across(c);
         c = previous_chunk(c)) {
        if (!gap_is_of_partition(c, key))
            continue;
        ret->shown += gap_rows(c);
        ret->first = position_row_key(buffer_bytes(&c->first));
        ret->is_lone = false;
    }
    for (const struct chunk *c = next_chunk(chunk); c && position_has_row(buffer_bytes(&c->end));
         c = next_chunk(c)) {
        if (!gap_is_of_partition(c, key))
            continue;
        ret->others += gap_rows(c);
        ret->last = position_row_key(buffer_bytes(&c->last));
        ret->is_lone = false;
    }
}

static void set_axis_across(const struct gap_models *models, const struct chunk *chunk,
                            struct gap_axis *ret)
{
    struct bytes hi = buffer_bytes(&chunk->end);
    *ret = (struct gap_axis){.model = models->partition_keys,
                             .left = stretch_before(chunk),
                             .right = {.rows = -1},
                             .is_unbounded = is_at_end(chunk)};
    if (bytes_compare(hi, BYTES_LITERAL(POSITION_END)) < 0) {
        ret->end = position_partition_key(hi);
        ret->right = stretch_behind(next_chunk(chunk), ret->end);
    }
    ret->shown = (double)chunk->rows;
    for (const struct chunk *c = previous_chunk(chunk); c && ret->is_unbounded;
         c = previous_chunk(c))
        ret->shown += gap_rows(c);
}

void gap_find_axis(const struct gap_models *models, const struct chunk *chunk, struct gap_axis *ret)
{
    if (gap_is_inside(chunk))
        set_axis_inside(models, chunk, ret);
    else
        set_axis_across(models, chunk, ret);
}

static size_t common_of(const struct gap_axis *axis)
{
    if (!axis->end.data)
        return 0;
    if (axis->right.rows > 0)
        return shared_characters(axis->left.first, axis->right.last);
    return shared_in_range(axis->left.first, axis->end);
}

static double place_of(const struct gap_axis *axis, struct bytes key, struct bytes common)
{
    return bytes_start_with(key, common) ? key_model_place(axis->model, key, common.size) : 1;
}

/* Rows per unit of the places in the model; negative: unknown. */
static double density(const struct gap_axis *axis, const struct gap_stretch *stretch,
                      struct bytes common)
{
    if (stretch->rows <= 0)
        return stretch->rows;
    double width = place_of(axis, stretch->last, common) - place_of(axis, stretch->first, common);
    return width > 0 ? stretch->rows / width : -1;
}

/* The mean of the density along the gap. If one is many times the other, the density is assumed to
 * fall exponentially. */
static double mean_density(double a, double b)
{
    double less = MIN(a, b), more = MAX(a, b);
    return more < 2 * less ? (a + b) / 2 : (more - less) / log(more / less);
}

void gap_draw_line(const struct gap_axis *axis, double page_rows, struct gap_line *ret)
{
    struct bytes common = bytes_first(axis->left.last, MIN(common_of(axis), axis->left.last.size));
    double left = density(axis, &axis->left, common), right = density(axis, &axis->right, common);
    *ret = (struct gap_line){.common = common,
                             .begin = place_of(axis, axis->left.last, common),
                             .end = axis->end.data ? place_of(axis, axis->end, common) : 1,
                             .cut = 0.5};
    double width = MAX(ret->end - ret->begin, 0);
    if (left < 0 && right < 0) {
        ret->rows = ret->by_model = MAX(axis->shown, 1);
        return;
    }
    if (left < 0 || right < 0)
        left = right = MAX(left, right);
    double least = width > 0 ? 1 / width : 1;
    left = MAX(left, least);
    right = MAX(right, least);
    double rows = mean_density(left, right) * width, most = axis->shown * UNBOUNDED;
    ret->rows = ret->by_model = rows;
    if (axis->is_unbounded) {
        ret->rows = MIN(rows, most);
        ret->cut = rows > most ? most / rows : 0.5;
    } else if (left > right * UNEVEN && rows > page_rows) {
        ret->cut = sqrt(page_rows * rows) / rows / 2;
    } else if (right > left * UNEVEN && rows > page_rows) {
        ret->cut = 1 - sqrt(page_rows * rows) / rows / 2;
    }
}

/* `character`, of `last` bytes, is the last one of `prefix`. Finds the least key after all keys
 * that start with the prefix, where the bits of `mask` in this character may differ. Appends
 * nothing if there is none. */
static int append_behind_like(struct bytes prefix, size_t last, uint32_t character, uint32_t mask,
                              struct buffer *ret)
{
    uint32_t next = (character | mask) + 1;
    buffer_clear(ret);
    if (mask == 0)
        return prefix_append_successor(ret, prefix, BYTES_LITERAL(""));
    if (character < 0x800 || next > 0xFFFF)
        return 0;
    int r = buffer_append(ret, bytes_first(prefix, prefix.size - last));
    return r < 0 ? r : cesu8_append(ret, UNICODE_IS_SURROGATE(next) ? 0xE000 : next);
}

int gap_append_rung(const struct gap_axis *axis, struct buffer *ret)
{
    static const uint32_t masks[] = {0xFFF, 0x3F, 0}; /* the bytes of CESU-8 */
    uint32_t character;
    size_t shared = shared_characters(axis->left.first, axis->left.last), n;
    size_t size = axis->end.data ? shared_characters(axis->left.last, axis->end) : 0;
    while (size <= shared && (n = cesu8_next(bytes_skip(axis->left.last, size), &character)) > 0) {
        size += n;
        for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
            int r =
                append_behind_like(bytes_first(axis->left.last, size), n, character, masks[i], ret);
            bool is_inside = !axis->end.data || bytes_compare(buffer_bytes(ret), axis->end) < 0;
            if (r < 0 || (ret->size > 0 && is_inside))
                return r;
        }
    }
    buffer_clear(ret);
    return 0;
}
