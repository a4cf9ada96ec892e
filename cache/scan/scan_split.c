/* SPDX-License-Identifier: MIT */
/* Where a range is to be cut into equal parts, by few queries. The range is a list of chunks. Each
 * shows a page at its start, and has a gap after it that was not read (gap.h). The gap that is
 * worth most is cut in two, and the second piece is requested. So the pages get to where the rows
 * are, until no gap has more than a small share of a part. A gap is worth the rows that are
 * expected in it. A wide one is worth more: what is not dense at its ends may be dense in its
 * middle.
 *
 * A page that has rows of one partition alone shows nothing of the density along partition keys, so
 * the gap after it is cut at the end of its partition. The next partition is requested, too: the
 * distance of both, and their rows, are the density there.
 *
 * Where no row is known after a gap, the model may be wrong by orders. So there at most
 * three times as many rows are expected as were found, and where the model expects hardly any, the
 * gap is cut after all keys with the same beginning (gap_append_rung). */
#include "cache/scan/equal_parts.h"
#include "cache/scan/gap.h"
#include "cache/scan/ladder.h"
#include "cache/scan/scan.h"

#include <math.h>

#define SAMPLES         24    /* keys learned of a page */
#define REQUESTS_A_PART 16    /* at most */
#define REQUESTS_MAX    16384 /* in all: finding the next gap takes time for each */
/* Of all pages, which stay in memory until the end. A large page shows how dense keys are: with 256
 * rows a page several shapes have parts of more than twice the mean. */
#define KEYS_MAX      1048576
#define PAGE_ROWS_MIN 16
#define SMALL_SHARE   64 /* a gap with 1/64 of a part or less is not cut any more */
/* If the model expects less than 1/8 of the rows before a gap in it, the keys may end there. */
#define UNSURE 8
/* The worth of a gap by its width is this factor, times the number of rows that the gap would have
 * if all rows were spread as the model expects. The largest of 64 parts of 1,000,000 rows of
 * "package", in five orders of the answers: with 2, 3.7 to 4.3 times the mean; with 4, 2.4 to 3.1
 * times, but of 16 parts of "single" 2.1 times. */
#define WIDTH_SHARE 2.0
/* Gaps are read on, and not cut, if at least 48 are open and the table is expected to have at most
 * half of the rows that all requests can show. 64 parts of 200,000 rows of "sensors" cost 375
 * requests in place of 612. The largest of 64 parts of 1,000,000 rows has 1.02 times the mean for
 * "skew" in place of 2.6. With 24 gaps "skew" has 3.6; with 0.7 of the rows "dates" of 10,000,000
 * has 3.2 in place of 2.5. */
#define OPEN_GAPS      48
#define READABLE_SHARE 0.5

struct split_scan {
    struct scan scan;
    int page_rows;
    size_t parts, most; /* requests in all */
    struct chunk_list chunks;
    struct gap_models models;
    struct buffer point;
    double rows;           /* read, and expected */
    double partition_rows; /* the mean, of partitions with several pages; 0: none has */
    uint64_t last_id;      /* requests so far */
    size_t in_flight, pages;
    double last_worth;         /* of the gap that was requested last; infinite: none was */
    struct equal_parts *equal; /* NULL: more is to be requested */
    size_t given;              /* borders */
};

static struct chunk *next_chunk(const struct chunk *chunk)
{
    return TAILQ_NEXT(chunk, link);
}

static struct chunk *previous_chunk(const struct chunk *chunk)
{
    return TAILQ_PREV(chunk, chunk_list, link);
}

/* ---- what pages show ---- */

static int learn(struct split_scan *self, const struct run *run)
{
    struct bytes previous = {0};
    size_t step = MAX((run->end - run->begin) / SAMPLES, 1);
    int r = 0;
    for (size_t row = run->begin; row < run->end && r == 0; row += step) {
        struct bytes position = page_position(run->page, row);
        struct bytes before = position_partition_key(previous),
                     key = position_partition_key(position);
        bool is_new = !previous.data || !bytes_equal(before, key);
        if (is_new)
            r = key_model_learn(self->models.partition_keys, before, key);
        if (r == 0)
            r = key_model_learn(self->models.row_keys,
                                is_new ? BYTES_LITERAL("") : position_row_key(previous),
                                position_row_key(position));
        previous = position;
    }
    return r;
}

/* As many rows as the gap would have if all were spread as the model expects: what is not dense at
 * the ends of a gap may be dense in its middle. */
static double width_in_rows(const struct split_scan *self, const struct gap_axis *axis,
                            const struct gap_line *line)
{
    double begin = key_model_place(axis->model, axis->left.last, 0);
    double end = axis->end.data ? key_model_place(axis->model, axis->end, 0) : 1;
    if (!axis->partition_key.data)
        return MAX(end - begin, 0) * self->rows * WIDTH_SHARE;
    double first = key_model_place(axis->model, axis->first, 0);
    double last = key_model_place(axis->model, axis->last, 0);
    double width = MAX(MAX(last, end) - first, 1e-12);
    if (axis->is_unbounded)
        width = MAX(last - first, 1e-12) * (1 + line->rows / MAX(axis->shown, 1));
    return MIN(MAX(end - begin, 0) / width, 1) * (axis->shown + line->rows + axis->others) *
           WIDTH_SHARE;
}

/* Sets how many rows are expected after the cursor; infinite: the gap itself is to be requested. */
static void estimate(const struct split_scan *self, struct chunk *chunk)
{
    struct gap_axis axis;
    struct gap_line line;
    chunk->worth = chunk->pages_left = chunk->state == CHUNK_DONE ? 0 : INFINITY;
    if (chunk->state != CHUNK_READY || (gap_is_inside(chunk) && !chunk_is_begun(chunk)))
        return;
    gap_find_axis(&self->models, chunk, &axis);
    if (!axis.left.last.data || (!axis.partition_key.data && axis.left.rows < 0))
        return;
    gap_draw_line(&axis, self->page_rows, &line);
    chunk->pages_left = line.rows;
    if (axis.is_lone)
        chunk->pages_left = MAX(line.rows, self->partition_rows - axis.shown);
    chunk->worth = MAX(chunk->pages_left, width_in_rows(self, &axis, &line));
    _cleanup_(buffer_finish) struct buffer rung = {.max = POSITION_MAX_BYTES};
    if (axis.is_unbounded && gap_append_rung(&axis, &rung) == 0 && rung.size > 0)
        chunk->worth = MAX(chunk->worth, axis.shown);
}

/* Its neighbours depend on it. */
static void estimate_around(const struct split_scan *self, struct chunk *chunk)
{
    struct chunk *around[5] = {chunk};
    if ((around[1] = next_chunk(chunk)))
        around[2] = next_chunk(around[1]);
    if ((around[3] = previous_chunk(chunk)))
        around[4] = previous_chunk(around[3]);
    for (size_t i = 0; i < ARRAY_SIZE(around); i++)
        if (around[i] && (i == 0 || gap_is_known(around[i])))
            estimate(self, around[i]);
}

/* ---- what is requested next ---- */

/* Counts the rows, and those of partitions of which several pages were read. */
static void count_rows(struct split_scan *self)
{
    double rows = 0, all = 0;
    size_t partitions = 0, pages = 0;
    struct bytes key = {0};
    self->rows = 0;
    for (const struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = next_chunk(chunk)) {
        self->rows += gap_rows(chunk);
        if (!chunk_is_begun(chunk))
            continue;
        if (!key.data || !gap_is_of_partition(chunk, key)) {
            all += pages > 1 ? rows : 0;
            partitions += pages > 1;
            rows = 0;
            pages = 0;
        }
        key = position_partition_key(buffer_bytes(&chunk->last));
        rows += gap_rows(chunk);
        pages++;
    }
    all += pages > 1 ? rows : 0;
    partitions += pages > 1;
    self->partition_rows = partitions > 0 ? all / (double)partitions : 0;
}

/* NULL: no gap is worth a request. */
static struct chunk *choose(struct split_scan *self)
{
    struct chunk *best = NULL;
    count_rows(self);
    for (struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = next_chunk(chunk))
        if (chunk->state == CHUNK_READY && (!best || chunk->worth > best->worth))
            best = chunk;
    if (!best || self->last_id >= self->most ||
        best->worth * SMALL_SHARE * (double)self->parts <= self->rows)
        return NULL;
    return best;
}

/* Cuts the chunk at self->point, if that lies inside its gap. *ret: the piece after it, or NULL.
 */
static int cut(struct split_scan *self, struct chunk *chunk, struct chunk **ret)
{
    struct bytes point = buffer_bytes(&self->point);
    *ret = NULL;
    if (!chunk_can_split(chunk, point))
        return 0;
    int r = chunk_split(chunk, point, ret);
    if (r < 0)
        return r;
    continuation_destroy(TAKE_PTR(chunk->token));
    (*ret)->worth = (*ret)->pages_left = INFINITY;
    TAILQ_INSERT_AFTER(&self->chunks, chunk, *ret, link);
    return 0;
}

/* self->point becomes the first position that the key can belong to. */
static int set_point(struct split_scan *self, const struct gap_axis *axis, struct bytes key)
{
    buffer_clear(&self->point);
    if (key.size == 0 || bytes_equal(key, BYTES_LITERAL(POSITION_END)))
        return 0;
    if (axis->partition_key.data)
        return position_append(&self->point, axis->partition_key, key);
    return position_append(&self->point, key, BYTES_LITERAL(""));
}

/* After the known rows of the axis, where the model may be wrong by orders. *ret: as of cut. */
static int cut_at_end(struct split_scan *self, struct chunk *chunk, const struct gap_axis *axis,
                      struct chunk **ret)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    int r = gap_append_rung(axis, &key);
    if (r == 0)
        r = set_point(self, axis, buffer_bytes(&key));
    return r < 0 ? r : cut(self, chunk, ret);
}

/* After all keys that share a long beginning with the last one, or most of it. */
static int cut_at_rung(struct split_scan *self, struct chunk *chunk, const struct gap_axis *axis,
                       size_t common, size_t shared)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    struct chunk *behind;
    struct ladder ladder = ladder_of(bytes_first(axis->left.last, shared), common, LADDER_DEEP, 1);
    int r = ladder.rungs > 0 ? ladder_append_rung(&ladder, 0, &key) : 0;
    if (r == 0)
        r = set_point(self, axis, buffer_bytes(&key));
    return r < 0 ? r : cut(self, chunk, &behind);
}

static int append_place(struct split_scan *self, const struct gap_axis *axis,
                        const struct gap_line *line, double part, double tolerance)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = POSITION_MAX_BYTES};
    double width = line->end - line->begin;
    int r = key_model_append_key(axis->model, line->common, line->begin + width * part,
                                 width * tolerance, &key);
    return r < 0 ? r : set_point(self, axis, buffer_bytes(&key));
}

/* Do the requests suffice for the whole table? Then a gap is read on and not cut, because the piece
 * after a cut may have no row. Some gaps must be open: they are read in parallel, and show where
 * the rows are. */
static bool is_readable(const struct split_scan *self)
{
    size_t open = 0;
    for (const struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = next_chunk(chunk))
        open += chunk->state != CHUNK_DONE;
    return open >= OPEN_GAPS &&
           self->rows <= READABLE_SHARE * (double)self->most * (double)self->page_rows;
}

/* Cuts the gap where the answer shows most. */
static int divide(struct split_scan *self, struct chunk *chunk)
{
    struct gap_axis axis;
    struct gap_line line;
    struct chunk *behind;
    gap_find_axis(&self->models, chunk, &axis);
    gap_draw_line(&axis, self->page_rows, &line);
    if (axis.is_unbounded && line.by_model * UNSURE < axis.shown) {
        int r = cut_at_end(self, chunk, &axis, &behind);
        if (r < 0 || behind)
            return r;
    }
    if (is_readable(self))
        return 0;
    size_t shared = shared_characters(axis.left.first, axis.left.last);
    if (ladder_is_needed(axis.model, axis.left.last, line.common.size, shared))
        return cut_at_rung(self, chunk, &axis, line.common.size, shared);
    if (line.by_model <= self->page_rows) /* one page may show all of it */
        return 0;
    int r = append_place(self, &axis, &line, line.cut, 0);
    return r < 0 ? r : cut(self, chunk, &behind);
}

/* Cuts the gap after the partition of the last row. */
static int cut_behind_partition(struct split_scan *self, struct chunk *chunk)
{
    struct chunk *behind;
    buffer_clear(&self->point);
    int r =
        position_append_behind(&self->point, position_partition_key(buffer_bytes(&chunk->cursor)));
    if (r == 0)
        r = cut(self, chunk, &behind);
    if (r == 0)
        estimate_around(self, chunk);
    if (r == 0 && behind)
        estimate(self, behind);
    return r;
}

/* Chooses a chunk whose gap begins with the rows that are to be requested. */
static struct chunk *prepare(struct split_scan *self)
{
    struct chunk *chunk = choose(self);
    if (chunk && gap_is_known(chunk)) {
        double rows = chunk->pages_left, worth = chunk->worth;
        self->last_worth = worth;
        if (divide(self, chunk) < 0)
            return NULL;
        struct chunk *behind = next_chunk(chunk);
        if (behind && behind->state == CHUNK_READY && isinf(behind->pages_left)) {
            chunk->pages_left = rows / 2;
            chunk->worth = worth / 2;
            chunk = behind;
        }
    }
    if (chunk && !chunk->token && !range_is_expressible(gap_range_of(chunk)) &&
        cut_behind_partition(self, chunk) < 0)
        return NULL;
    return chunk;
}

static bool split_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    (void)idle; /* every request is needed */
    struct split_scan *self = (struct split_scan *)scan;
    struct range range;
    struct chunk *chunk = self->parts > 1 && !self->equal ? prepare(self) : NULL;
    if (!chunk || chunk_request(chunk, &range) < 0)
        return false;
    chunk->id = ++self->last_id;
    *ret = (struct scan_request){.id = chunk->id,
                                 .range = range,
                                 .after = chunk->token,
                                 .top = self->page_rows,
                                 .keys_only = true,
                                 .is_head = self->in_flight == 0};
    self->in_flight++;
    return true;
}

static struct chunk *find_requested(const struct split_scan *self, uint64_t id)
{
    struct chunk *chunk = TAILQ_FIRST(&self->chunks);
    while (chunk && (chunk->state != CHUNK_REQUESTED || chunk->id != id))
        chunk = next_chunk(chunk);
    return chunk;
}

/* Most of the page are rows of its last partition, and the gap reaches beyond it. */
static bool is_partition_large(const struct chunk *chunk)
{
    const struct run *run = gap_last_run(chunk);
    return chunk->state == CHUNK_READY && run && !range_is_expressible(gap_range_of(chunk)) &&
           (run->end - gap_first_of_last(run)) * 2 >= run->end - run->begin;
}

static int split_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct split_scan *self = (struct split_scan *)scan;
    struct chunk *chunk = find_requested(self, id);
    struct run run;
    self->in_flight--;
    chunk->worth = chunk->pages_left = INFINITY;
    int r = chunk_add_answer(chunk, answer, &run);
    if (r < 0)
        return r;
    if (run.page) {
        self->pages++;
        r = learn(self, &run);
    }
    if (r == 0 && is_partition_large(chunk))
        return cut_behind_partition(self, chunk);
    estimate_around(self, chunk);
    return r;
}

static void split_give_back(struct scan *scan, uint64_t id)
{
    struct split_scan *self = (struct split_scan *)scan;
    struct chunk *chunk = find_requested(self, id);
    self->in_flight--;
    self->last_id -= id == self->last_id; /* it was not sent */
    chunk_give_back(chunk);
    chunk->worth = chunk->pages_left = INFINITY;
}

/* ---- the parts ---- */

static int add_rows(struct equal_parts *equal, const struct chunk *chunk)
{
    const struct waiting_run *waiting;
    int r = 0;
    TAILQ_FOREACH(waiting, &chunk->runs, link)
    for (size_t row = waiting->run.begin; row < waiting->run.end && r == 0; row++)
        r = equal_parts_add(equal, page_position(waiting->run.page, row), 1);
    return r;
}

/* A large gap is several points, as far as the model has places for them. */
static int add_gap(struct split_scan *self, struct equal_parts *equal, const struct chunk *chunk,
                   int pieces)
{
    _cleanup_(buffer_finish) struct buffer at = {.max = POSITION_MAX_BYTES};
    struct gap_axis axis;
    struct gap_line line;
    double rows = 0;
    gap_find_axis(&self->models, chunk, &axis);
    gap_draw_line(&axis, self->page_rows, &line);
    int r = buffer_append(&at, buffer_bytes(&chunk->cursor));
    for (int i = 1; i <= pieces && r == 0; i++) {
        bool is_last = i == pieces;
        rows += chunk->pages_left / pieces;
        r = is_last ? 0 : append_place(self, &axis, &line, (double)i / pieces, 0.25 / pieces);
        struct bytes point = buffer_bytes(&self->point);
        if (r < 0 || (!is_last && (!chunk_can_split(chunk, point) ||
                                   bytes_compare(point, buffer_bytes(&at)) <= 0)))
            continue;
        r = equal_parts_add(equal, buffer_bytes(&at), rows);
        rows = 0;
        if (r == 0 && !is_last)
            r = buffer_set(&at, point);
    }
    return r;
}

static int add_chunk(struct split_scan *self, struct equal_parts *equal, const struct chunk *chunk)
{
    int r = add_rows(equal, chunk);
    double rows = gap_is_known(chunk) && chunk->state == CHUNK_READY ? chunk->pages_left : 0;
    if (r < 0 || rows <= 0)
        return r;
    double pieces = ceil(rows * SMALL_SHARE * (double)self->parts / self->rows);
    return add_gap(self, equal, chunk, (int)MIN(pieces, 1024));
}

/* No more is to be requested. The last answers may change the model, which then expects far too
 * much in a gap in which nothing was read. So it is assumed that no gap has more than the one that
 * was requested last, which was the largest then. */
static int make_parts(struct split_scan *self)
{
    _cleanup_(equal_parts_destroyp) struct equal_parts *equal = NULL;
    const struct chunk *last = TAILQ_LAST(&self->chunks, chunk_list);
    for (struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk; chunk = next_chunk(chunk))
        if (gap_is_known(chunk)) {
            estimate(self, chunk);
            chunk->pages_left = MIN(chunk->pages_left, self->last_worth);
        }
    count_rows(self);
    int r = equal_parts_create(gap_range_of(last), self->parts, &equal);
    for (const struct chunk *chunk = TAILQ_FIRST(&self->chunks); chunk && r == 0;
         chunk = next_chunk(chunk))
        r = add_chunk(self, equal, chunk);
    if (r < 0)
        return r;
    self->equal = TAKE_PTR(equal);
    self->pages = 0;
    chunk_list_finish(&self->chunks);
    return 0;
}

static enum scan_state split_take(struct scan *scan, struct scan_item *ret)
{
    struct split_scan *self = (struct split_scan *)scan;
    if (self->given + 1 >= self->parts)
        return SCAN_END;
    if (!self->equal && (self->in_flight > 0 || choose(self) || make_parts(self) < 0))
        return SCAN_WAIT;
    *ret = (struct scan_item){.kind = SCAN_BORDER, .key = equal_parts_next(self->equal)};
    self->given++;
    return SCAN_ITEM;
}

static double split_waiting(const struct scan *scan)
{
    return (double)((const struct split_scan *)scan)->pages;
}

static void split_destroy(struct scan *scan)
{
    struct split_scan *self = (struct split_scan *)scan;
    chunk_list_finish(&self->chunks);
    key_model_destroy(self->models.partition_keys);
    key_model_destroy(self->models.row_keys);
    equal_parts_destroy(self->equal);
    buffer_finish(&self->point);
    free(self);
}

static const struct scan_ops split_ops = {.next_request = split_next_request,
                                          .add_answer = split_add_answer,
                                          .give_back = split_give_back,
                                          .take = split_take,
                                          .waiting = split_waiting,
                                          .destroy = split_destroy};

int scan_split_create(struct range range, size_t parts, struct scan **ret)
{
    struct split_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    *self = (struct split_scan){.scan = {&split_ops},
                                .parts = parts,
                                .most = MIN(parts * REQUESTS_A_PART, REQUESTS_MAX),
                                .last_worth = INFINITY};
    self->page_rows = (int)MIN(MAX(KEYS_MAX / self->most, PAGE_ROWS_MIN), TABLE_STORE_PAGE_ROWS);
    TAILQ_INIT(&self->chunks);
    buffer_init(&self->point, POSITION_MAX_BYTES);
    struct chunk *chunk = NULL;
    int r = chunk_create(range, &chunk);
    if (r < 0)
        return r;
    chunk->worth = chunk->pages_left = INFINITY;
    TAILQ_INSERT_TAIL(&self->chunks, chunk, link);
    r = key_model_create(&self->models.partition_keys);
    if (r == 0)
        r = key_model_create(&self->models.row_keys);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scan);
    return 0;
}
