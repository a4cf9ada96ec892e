/* SPDX-License-Identifier: MIT */
#include "cache/scan/row_splitter.h"

#include <math.h>

/* Each constant names a figure that gets worse without it, or with another value: a shape of
 * tests/scan/figures, requests/round trips; 1,000,000 rows if nothing else is said. */
#define SAMPLES 32 /* rows learned of a page; 24: `grep -r` of "package" 18, 22 requests */
/* Pages: taken to be left where nothing is known (2: "small": 7/5, 12/5), and the most of a small
 * partition (any size: "ten", 200,000, 32 slots: 222/24, 342/26). */
#define FEW_PAGES     4.0
#define SIBLING_PAGES 5.5   /* left where others follow; 4: "sensors" in a window: 69, 260 trips */
#define DENSER        4.0   /* times; 1: "series", 200,000, 32 slots: 19, 33 trips */
#define GALLOP_BEGIN  2.5   /* pages ahead; 2: "skew" in a window: 1,247/94, 1,255/103 */
#define LEAST_WIDTH   1e-12 /* a place of width 0 would divide by 0 */

int row_splitter_init(struct row_splitter *splitter, size_t page_rows)
{
    *splitter = (struct row_splitter){.page_rows = page_rows};
    buffer_init(&splitter->greatest, POSITION_MAX_BYTES);
    buffer_init(&splitter->sample_first, POSITION_MAX_BYTES);
    buffer_init(&splitter->sample_last, POSITION_MAX_BYTES);
    int r = key_model_create(&splitter->partition_keys);
    return r < 0 ? r : key_model_create(&splitter->row_keys);
}

void row_splitter_finish(struct row_splitter *splitter)
{
    buffer_finish(&splitter->greatest);
    buffer_finish(&splitter->sample_first);
    buffer_finish(&splitter->sample_last);
    key_model_destroy(splitter->partition_keys);
    key_model_destroy(splitter->row_keys);
}

static int learn_position(struct row_splitter *splitter, struct bytes previous,
                          struct bytes position)
{
    struct bytes before = position_partition_key(previous), key = position_partition_key(position);
    bool is_new = previous.size == 0 || !bytes_equal(before, key);
    splitter->partitions += is_new;
    int r = is_new ? key_model_learn(splitter->partition_keys, before, key) : 0;
    if (r < 0)
        return r;
    return key_model_learn(splitter->row_keys,
                           is_new ? BYTES_LITERAL("") : position_row_key(previous),
                           position_row_key(position));
}

static int learn_greatest(struct row_splitter *splitter, struct bytes position)
{
    struct bytes greatest = position_row_key(buffer_bytes(&splitter->greatest));
    if (bytes_compare(position_row_key(position), greatest) <= 0)
        return 0;
    buffer_clear(&splitter->greatest);
    return buffer_append(&splitter->greatest, position);
}

static bool is_row_key_less(struct bytes position, struct bytes other)
{
    return bytes_compare(position_row_key(position), position_row_key(other)) < 0;
}

/* Does the run lie within one partition, and begin it? Of less than half a page the row keys
 * overlap others too rarely. */
static bool is_sample(const struct row_splitter *splitter, struct bytes previous,
                      const struct run *run)
{
    struct bytes key = position_partition_key(page_position(run->page, run->begin));
    struct bytes last = page_position(run->page, run->end - 1);
    return (run->end - run->begin) * 2 > splitter->page_rows &&
           bytes_equal(position_partition_key(last), key) &&
           (previous.size == 0 || !bytes_equal(position_partition_key(previous), key));
}

static int learn_sample(struct row_splitter *splitter, const struct run *run)
{
    struct bytes first = page_position(run->page, run->begin);
    struct bytes last = page_position(run->page, run->end - 1);
    if (splitter->sample_first.size > 0)
        splitter->is_series = is_row_key_less(last, buffer_bytes(&splitter->sample_first)) ||
                              is_row_key_less(buffer_bytes(&splitter->sample_last), first);
    int r = buffer_set(&splitter->sample_first, first);
    return r < 0 ? r : buffer_set(&splitter->sample_last, last);
}

int row_splitter_learn(struct row_splitter *splitter, struct bytes previous, const struct run *run,
                       bool is_known)
{
    bool is_new = is_known && is_sample(splitter, previous, run);
    int r = is_new ? learn_sample(splitter, run) : 0;
    size_t step = MAX((run->end - run->begin) / SAMPLES, 1);
    for (size_t row = run->begin; row < run->end && r == 0; row += step) {
        struct bytes position = page_position(run->page, row);
        r = learn_position(splitter, previous, position);
        if (r == 0)
            r = learn_greatest(splitter, position);
        previous = position;
    }
    splitter->rows += run->end - run->begin;
    struct bytes last = page_position(run->page, run->end - 1);
    return r < 0 ? r : learn_greatest(splitter, last);
}

/* The keys of a chunk by which it can be split. */
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

static void set_axis_of_partitions(const struct chunk *chunk, struct axis *ret)
{
    *ret = (struct axis){.first = position_partition_key(buffer_bytes(&chunk->first)),
                         .page_first = position_partition_key(buffer_bytes(&chunk->page_first)),
                         .last = position_partition_key(buffer_bytes(&chunk->last)),
                         .end = position_partition_key(buffer_bytes(&chunk->end)),
                         .has_end = true,
                         .knows_page = true,
                         .rows = (double)chunk->rows};
}

static void set_axis_inside(const struct row_splitter *splitter, const struct chunk *chunk,
                            struct axis *ret)
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
    struct bytes greatest = position_row_key(buffer_bytes(&splitter->greatest));
    if (!ret->has_end && !splitter->is_series && bytes_compare(greatest, ret->last) > 0) {
        ret->end = greatest;
        ret->has_end = true;
    }
}

/* The place of the end among the keys that share the common beginning. */
static double place_end(const struct split_plan *plan, const struct axis *axis)
{
    if (!axis->has_end || axis->end.size <= plan->common ||
        key_shared_size(axis->end, plan->last) < plan->common)
        return 1;
    return key_model_place(plan->model, axis->end, plan->common);
}

static double mean_rows(const struct row_splitter *splitter) /* of a partition */
{
    return (double)splitter->rows / (double)splitter->partitions;
}

/* Of a series. While few partitions ended, the mean is too small: so a partition is expected to
 * have as many rows again as it has shown, too. */
static double pages_of_mean(const struct row_splitter *splitter, double shown)
{
    return MAX(mean_rows(splitter) - shown, shown) / (double)splitter->page_rows;
}

/* Of a series: does a partition like the others end within the next page? */
static bool is_mean_nearly_reached(const struct row_splitter *splitter, double shown)
{
    double page = (double)splitter->page_rows;
    return shown <= FEW_PAGES * page && shown + page >= mean_rows(splitter);
}

static void plan_evenly(const struct row_splitter *splitter, const struct axis *axis,
                        struct split_plan *plan)
{
    double page = (double)splitter->page_rows;
    double first = key_model_place(plan->model, axis->first, plan->common);
    plan->begin = key_model_place(plan->model, axis->last, plan->common);
    plan->end = place_end(plan, axis);
    plan->kind = SPLIT_EVEN;
    plan->page_width = MAX(plan->begin - first, LEAST_WIDTH) * page / axis->rows;
    double expected = plan->begin + plan->page_width * pages_of_mean(splitter, axis->rows);
    if (plan->is_inside && splitter->is_series)
        plan->end = MIN(plan->end, expected);
    double left = MAX(plan->end - plan->begin, 0);
    plan->pages = left / plan->page_width;
}

/* Is the last page much denser than all before it? */
static void consider_gallop(const struct row_splitter *splitter, const struct chunk *chunk,
                            const struct axis *axis, struct split_plan *plan)
{
    double width = plan->begin - key_model_place(plan->model, axis->page_first, plan->common);
    if (width <= LEAST_WIDTH || !axis->knows_page)
        return;
    width *= (double)splitter->page_rows / (double)chunk->page_rows;
    double pages = (plan->end - plan->begin) / width;
    if (pages <= MAX(plan->pages, 1) * DENSER)
        return;
    plan->kind = SPLIT_GALLOP;
    plan->page_width = width;
    plan->pages = sqrt(pages * plan->pages);
}

/* Is the rest of the partition expected with the next page? Yes if partitions are small, and the
 * greatest row key of any other partition lies less than a page from here. A cut at the partition's
 * end would then cost a request for rows that are read anyway. */
static bool is_nearly_through(const struct row_splitter *splitter, const struct chunk *chunk)
{
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    struct axis axis;
    set_axis_inside(splitter, chunk, &axis);
    if (splitter->is_series)
        return is_mean_nearly_reached(splitter, axis.rows);
    if (is_in_partition(&splitter->greatest, key))
        return false;
    axis.end = position_row_key(buffer_bytes(&splitter->greatest));
    axis.has_end = true;
    struct split_plan inside = {.model = splitter->row_keys,
                                .last = axis.last,
                                .common = shared_in_range(axis.first, axis.end)};
    plan_evenly(splitter, &axis, &inside);
    return inside.pages <= 1 && inside.end <= inside.page_width * FEW_PAGES;
}

/* The chunk reads in one partition of several: cuts at its end, and where others are expected. */
static void plan_partition(const struct row_splitter *splitter, const struct chunk *chunk,
                           const struct axis *axis, struct split_plan *plan)
{
    plan->kind = SPLIT_PARTITION;
    plan->has_siblings = splitter->partitions > 1;
    if (plan->has_siblings)
        plan->pages = MAX(plan->pages, SIBLING_PAGES);
    plan->is_nearly_through = is_nearly_through(splitter, chunk);
    plan->is_ladder = ladder_is_needed(plan->model, plan->last, plan->common, plan->shared);
    plan->begin = key_model_place(plan->model, axis->last, plan->common);
    plan->end = place_end(plan, axis);
}

/* The chunk's keys and their shared beginnings. False: it has shown no key where it reads. */
static bool choose_axis(const struct row_splitter *splitter, const struct chunk *chunk,
                        struct axis *axis, struct split_plan *ret)
{
    struct range left = {buffer_bytes(&chunk->cursor), buffer_bytes(&chunk->end)};
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    *ret = (struct split_plan){.is_inside = range_is_in_partition(left), .pages = 1};
    if (ret->is_inside && !is_in_partition(&chunk->cursor, key))
        return false;
    if (ret->is_inside)
        set_axis_inside(splitter, chunk, axis);
    else
        set_axis_of_partitions(chunk, axis);
    ret->model = ret->is_inside ? splitter->row_keys : splitter->partition_keys;
    ret->last = axis->last;
    ret->common = axis->has_end ? shared_in_range(axis->first, axis->end) : 0;
    ret->shared = axis->knows_page ? shared_characters(axis->page_first, axis->last) : 0;
    return true;
}

/* Are the last page and the next row in one partition? Then its pages do not show where other
 * partitions are. Not if the partition ends within the next page. */
static bool is_dense(const struct row_splitter *splitter, const struct chunk *chunk)
{
    struct bytes key = position_partition_key(buffer_bytes(&chunk->last));
    if (!position_has_row(buffer_bytes(&chunk->cursor)) || !is_in_partition(&chunk->cursor, key) ||
        !is_in_partition(&chunk->page_first, key))
        return false;
    return is_in_partition(&chunk->first, key) || !is_nearly_through(splitter, chunk);
}

void row_splitter_plan(const struct row_splitter *splitter, const struct chunk *chunk,
                       struct split_plan *ret)
{
    struct axis axis;
    if (!choose_axis(splitter, chunk, &axis, ret))
        return;
    ret->pages = MAX(FEW_PAGES, axis.rows / (double)splitter->page_rows);
    if (!ret->is_inside && is_dense(splitter, chunk)) {
        plan_partition(splitter, chunk, &axis, ret);
    } else if (ladder_is_needed(ret->model, ret->last, ret->common, ret->shared)) {
        ret->kind = SPLIT_LADDER;
    } else {
        plan_evenly(splitter, &axis, ret);
        consider_gallop(splitter, chunk, &axis, ret);
    }
}

static int append_rung(const struct split_plan *plan, int index, int pieces, struct buffer *ret)
{
    struct ladder ladder = ladder_of(bytes_first(plan->last, plan->shared), plan->common,
                                     LADDER_EVEN, (size_t)pieces - 1);
    return (size_t)index <= ladder.rungs ? ladder_append_rung(&ladder, (size_t)index - 1, ret) : 0;
}

/* Appends the key where piece `index` begins, as row_splitter_append_point. */
static int append_key(const struct split_plan *plan, int index, int pieces, double reach,
                      struct buffer *ret)
{
    double begin = plan->begin, width = plan->page_width, distance, step;
    if (plan->kind == SPLIT_NONE)
        return 0;
    if (plan->kind == SPLIT_PARTITION) { /* the first cut is its end; here are the others */
        index--;
        pieces--;
        if (!plan->has_siblings || index >= pieces)
            return 0;
    }
    if (plan->kind == SPLIT_LADDER || plan->is_ladder)
        return append_rung(plan, index, pieces, ret);
    if (plan->kind == SPLIT_GALLOP) {
        double all = (plan->end - begin) / width;
        double pages = GALLOP_BEGIN * pow(pow(all, 1.0 / pieces), index - 1);
        step = distance = pages <= all ? width * pages : 0;
    } else {
        double span = plan->end - begin;
        if (plan->kind == SPLIT_EVEN) {
            begin += width;
            span = MIN(plan->end - begin, width * reach);
        }
        step = span / pieces;
        distance = step * index;
    }
    if (step <= 0)
        return 0;
    return key_model_append_key(plan->model, bytes_first(plan->last, plan->common),
                                begin + distance, step / 4, ret);
}

int row_splitter_append_point(const struct split_plan *plan, const struct chunk *chunk, int index,
                              int pieces, double reach, struct buffer *ret)
{
    if (plan->kind == SPLIT_PARTITION && index == 1) {
        if (plan->is_nearly_through)
            return 0;
        return position_append_behind(ret, plan->last);
    }
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    int r = append_key(plan, index, pieces, reach, &key);
    if (r < 0 || key.size == 0)
        return r;
    /* as a position: the first row that the key can belong to */
    if (!plan->is_inside)
        return position_append(ret, buffer_bytes(&key), BYTES_LITERAL(""));
    struct bytes partition_key = position_partition_key(buffer_bytes(&chunk->last));
    return position_append(ret, partition_key, buffer_bytes(&key));
}
