/* SPDX-License-Identifier: MIT */
/* All rows of a range, in key order, by adaptive range splitting. The range is a list of chunks;
 * each is read page after page. While slots are free, a chunk is split where the key model expects
 * the pieces to be equal, and the new pieces are requested. These are guesses. A wrong one costs an
 * empty page or an uneven piece, but loses no row: ranges are requested, not keys.
 *
 * Without a window the chunk with the most pages left is split first. Inside a window the nearest
 * chunk is, into pieces so short that all slots find work in half of the window. A page far ahead
 * is requested only if the window has room for everything that is expected before it. Where that
 * estimate was wrong, the farthest pages are dropped, and requested again when it is their turn. */
#include "cache/scan/page_window.h"
#include "cache/scan/row_splitter.h"
#include "cache/scan/scan.h"
#include "cache/scan/speculation.h"

/* Pages. A series has a short page at the end of many partitions. That is waste, but must not make
 * the scan serial. Unlimited: "serieslong", in a window, 8 slots: 1,203/161, 1,284/319. */
#define SERIES_PIECE       3.6
#define GUESSES_PER_ANSWER 2 /* 3: "ticks", 200,000, 32 slots: 251/15, 245/22 */
/* Windows that are taken while a page waits: then it was too early. 2: "cjk", 32 slots, in a
 * window: 76, 100 round trips. Never dropped: "skew", 200 rows a page: 258, 506 round trips. */
#define FAR 4
/* Pages. In a smaller window the pages of a piece that is longer than estimated leave no room for
 * those before it. */
#define SPLIT_WINDOW 16

struct row_scan {
    struct scan scan;
    struct scan_limits limits;
    struct chunk_list chunks;
    struct row_splitter splitter;
    struct speculation speculation;
    struct page_window window;
    struct buffer previous, point; /* room for positions */
    uint64_t last_id;
    size_t in_flight; /* requests */
};

static bool is_bounded(const struct row_scan *self)
{
    return self->window.limit_bytes > 0;
}

static struct chunk *first_chunk(const struct row_scan *self)
{
    return TAILQ_FIRST(&self->chunks);
}

static struct chunk *next_chunk(const struct chunk *chunk)
{
    return TAILQ_NEXT(chunk, link);
}

static struct chunk *previous_chunk(const struct chunk *chunk)
{
    return TAILQ_PREV(chunk, chunk_list, link);
}

/* The first chunk that is not done. */
static struct chunk *find_head(const struct row_scan *self)
{
    struct chunk *chunk = first_chunk(self);
    while (chunk && chunk->state == CHUNK_DONE)
        chunk = next_chunk(chunk);
    return chunk;
}

/* Pages that are still to be requested. */
static double pages_to_request(const struct chunk *chunk)
{
    if (chunk->state == CHUNK_DONE)
        return 0;
    return MAX(chunk->pages_left - (chunk->state == CHUNK_REQUESTED), 0);
}

/* The first chunk whose next page may be requested: the head, if none of its pages wait, or one for
 * which the window has room after the pages before it. A guess also needs `may_guess`. */
static struct chunk *find_ready(const struct row_scan *self, bool may_guess)
{
    const struct chunk *head = find_head(self);
    double room = page_window_room(&self->window, self->in_flight);
    for (struct chunk *chunk = first_chunk(self); chunk; chunk = next_chunk(chunk)) {
        bool is_due = chunk == head && chunk->waiting_rows == 0;
        bool is_allowed = room >= 1 && (may_guess || chunk_is_begun(chunk));
        if (chunk->state == CHUNK_READY && (is_due || is_allowed))
            return chunk;
        room -= pages_to_request(chunk);
    }
    return NULL;
}

static int count_budget(const struct row_scan *self, int idle)
{
    size_t out = 0;
    for (const struct chunk *chunk = first_chunk(self); chunk; chunk = next_chunk(chunk))
        out += chunk->state != CHUNK_DONE && !chunk_is_begun(chunk);
    double room = page_window_room(&self->window, self->in_flight);
    size_t free = MIN((size_t)idle, (size_t)MAX(room, 0));
    return (int)speculation_budget(self->speculation.good, GUESSES_PER_ANSWER, out, free);
}

/* The fewest pages that a piece should have. */
static double least_piece(const struct row_scan *self)
{
    double least = speculation_least_piece(&self->speculation, is_bounded(self));
    return self->splitter.is_series ? MIN(least, SERIES_PIECE) : least;
}

struct candidates { /* chunks that may be split: being read, with more left than a piece */
    size_t count;
    double reach; /* the sum of their pages left inside the window */
    struct chunk *best;
    double best_reach;
};

/* The best one is the nearest in a window, otherwise the one with the most pages left. */
static void find_candidates(const struct row_scan *self, struct candidates *ret)
{
    double ahead = 0, window = page_window_pages(&self->window);
    double least = least_piece(self);
    *ret = (struct candidates){0};
    if (window < SPLIT_WINDOW)
        return;
    for (struct chunk *chunk = first_chunk(self); chunk; chunk = next_chunk(chunk)) {
        double reach = MIN(chunk->pages_left - 1, window - ahead);
        bool is_reading = chunk->state == CHUNK_REQUESTED && chunk_is_begun(chunk);
        ahead += (double)chunk->waiting_rows / self->limits.page_rows;
        ahead += chunk->state == CHUNK_DONE ? 0 : MAX(chunk->pages_left, 1);
        if (!is_reading || reach < least)
            continue;
        ret->count++;
        ret->reach += reach;
        if (!ret->best || (!is_bounded(self) && reach > ret->best_reach)) {
            ret->best = chunk;
            ret->best_reach = reach;
        }
    }
}

static void estimate(const struct row_scan *self, struct chunk *chunk)
{
    struct split_plan plan;
    row_splitter_plan(&self->splitter, chunk, &plan);
    chunk->pages_left = plan.pages;
}

/* Splits the chunk into `pieces` pieces of `pages` pages; the last one also has the rest. Returns
 * how many new chunks were made. */
static int divide(struct row_scan *self, struct chunk *chunk, int pieces, double pages)
{
    struct split_plan plan;
    row_splitter_plan(&self->splitter, chunk, &plan);
    int made = 0;
    struct chunk *piece = chunk, *behind;
    for (int i = 1; i < pieces; i++) {
        buffer_clear(&self->point);
        int r = row_splitter_append_point(&plan, chunk, i, pieces, pages * pieces, &self->point);
        if (r < 0 || !chunk_can_split(piece, buffer_bytes(&self->point)))
            continue;
        if (chunk_split(piece, buffer_bytes(&self->point), &behind) < 0)
            break;
        behind->pages_left = plan.kind == SPLIT_EVEN ? pages : 1;
        TAILQ_INSERT_AFTER(&self->chunks, piece, behind, link);
        piece = behind;
        made++;
    }
    if (made > 0)
        estimate(self, chunk);
    else
        chunk->pages_left = 0; /* no candidate before its next answer */
    return made;
}

/* Splits the best candidate into at most `budget` new chunks. Returns how many were made. */
static int divide_best(struct row_scan *self, const struct candidates *candidates, int budget,
                       int idle)
{
    double reach = candidates->best_reach;
    double least = least_piece(self);
    double share = reach / candidates->reach * (double)(candidates->count + (size_t)budget);
    double most = MIN(share + 0.5, reach / least + 1);
    int pieces = MIN(MIN((int)most, speculation_most_pieces(&self->speculation)), budget + 1);
    pieces = MAX(pieces, 2);
    double pages = reach / pieces;
    if (is_bounded(self)) { /* all slots find work in half the window */
        double slots = (double)((size_t)idle + self->in_flight);
        pages = MAX(MIN(pages, page_window_pages(&self->window) / slots / 2), least);
    }
    return divide(self, candidates->best, pieces, pages);
}

static void speculate(struct row_scan *self, int idle)
{
    int budget = count_budget(self, idle);
    struct candidates candidates;
    find_candidates(self, &candidates);
    while (budget > 0 && candidates.best) {
        budget -= divide_best(self, &candidates, budget, idle);
        find_candidates(self, &candidates);
    }
}

/* Drops the farthest pages if they waited while several windows were taken: they were requested too
 * early and fill the window. True: there is room now. */
static bool drop_farthest(struct row_scan *self)
{
    struct chunk *last = TAILQ_LAST(&self->chunks, chunk_list);
    while (last && last->waiting_rows == 0)
        last = previous_chunk(last);
    if (!last || last->state == CHUNK_REQUESTED || last == find_head(self) ||
        last == first_chunk(self))
        return false;
    double since = self->window.taken_pages - last->taken_before;
    double pages = (double)last->waiting_rows / self->limits.page_rows;
    size_t bytes = last->waiting_bytes;
    if (since < FAR * page_window_pages(&self->window) || !chunk_drop_waiting(last))
        return false;
    page_window_drop(&self->window, bytes);
    self->speculation.waste += pages;
    last->pages_left += pages;
    return true;
}

static struct chunk *choose(struct row_scan *self, int idle)
{
    struct chunk *chunk = find_ready(self, idle > 0);
    if (chunk || idle == 0)
        return chunk;
    speculate(self, idle);
    chunk = find_ready(self, true);
    if (chunk || !is_bounded(self) || !drop_farthest(self))
        return chunk;
    speculate(self, idle);
    return find_ready(self, true);
}

/* Shortens the chunk so that one query can request all of it; a new chunk has the rest. */
static int make_expressible(struct row_scan *self, struct chunk *chunk)
{
    if (chunk->token)
        return 0;
    buffer_clear(&self->point);
    struct chunk *behind;
    int r = chunk_append_expressible_end(chunk, &self->point);
    if (r < 0 || !chunk_can_split(chunk, buffer_bytes(&self->point)))
        return r;
    r = chunk_split(chunk, buffer_bytes(&self->point), &behind);
    if (r < 0)
        return r;
    behind->pages_left = 1;
    TAILQ_INSERT_AFTER(&self->chunks, chunk, behind, link);
    return 0;
}

/* False also when memory is out: then the scan waits. */
static bool rows_next_request(struct scan *scan, int idle, struct scan_request *ret)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk = choose(self, idle);
    struct range range;
    if (!chunk || make_expressible(self, chunk) < 0 || chunk_request(chunk, &range) < 0)
        return false;
    self->in_flight++;
    chunk->id = ++self->last_id;
    *ret =
        (struct scan_request){.id = chunk->id,
                              .range = range,
                              .after = chunk->token,
                              .top = self->limits.page_rows,
                              .keys_only = self->limits.keys_only,
                              .is_head = chunk == find_head(self),
                              .is_speculative = chunk != find_head(self) && !chunk_is_begun(chunk)};
    return true;
}

static struct chunk *find_requested(const struct row_scan *self, uint64_t id)
{
    struct chunk *chunk = first_chunk(self);
    while (chunk && (chunk->state != CHUNK_REQUESTED || chunk->id != id))
        chunk = next_chunk(chunk);
    return chunk;
}

/* The last known row before the rows that the chunk will show. */
static int remember_previous(struct row_scan *self, const struct chunk *chunk)
{
    while (chunk && !chunk_is_begun(chunk))
        chunk = previous_chunk(chunk);
    buffer_clear(&self->previous);
    return chunk ? buffer_append(&self->previous, buffer_bytes(&chunk->last)) : 0;
}

static void join_next(struct row_scan *self, struct chunk *chunk)
{
    struct chunk *next = chunk ? next_chunk(chunk) : NULL;
    if (!next || chunk->state != CHUNK_DONE || next->state != CHUNK_DONE)
        return;
    chunk_join(chunk, next);
    TAILQ_REMOVE(&self->chunks, next, link);
    chunk_destroy(next);
}

static int note_rows(struct row_scan *self, struct chunk *chunk, const struct run *run,
                     bool is_known)
{
    double rows = (double)(run->end - run->begin);
    if (chunk->waiting_bytes == page_bytes(run->page))
        chunk->taken_before = self->window.taken_pages;
    page_window_add(&self->window, run->page);
    self->speculation.good++;
    if (chunk->state == CHUNK_DONE)
        self->speculation.waste += 1 - rows / self->limits.page_rows;
    int r = row_splitter_learn(&self->splitter, buffer_bytes(&self->previous), run, is_known);
    if (r == 0 && chunk->state != CHUNK_DONE)
        estimate(self, chunk);
    return r;
}

static int take_answer(struct row_scan *self, struct chunk *chunk, struct answer *answer)
{
    struct run run;
    bool begins_partition = position_row_key(buffer_bytes(&chunk->cursor)).size == 0;
    bool is_known = chunk_is_begun(chunk) || begins_partition;
    int r = chunk_add_answer(chunk, answer, &run);
    if (r == 0 && run.page)
        r = note_rows(self, chunk, &run, is_known);
    else if (r == 0)
        self->speculation.empties += !chunk_is_begun(chunk);
    join_next(self, chunk);
    join_next(self, previous_chunk(chunk));
    return r;
}

static int rows_add_answer(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk = find_requested(self, id);
    self->in_flight--;
    int r = remember_previous(self, chunk);
    if (r == 0)
        return take_answer(self, chunk, answer);
    chunk_give_back(chunk);
    answer_finish(answer);
    return r;
}

static void rows_give_back(struct scan *scan, uint64_t id)
{
    struct row_scan *self = (struct row_scan *)scan;
    self->in_flight--;
    chunk_give_back(find_requested(self, id));
}

static enum scan_state rows_take(struct scan *scan, struct scan_item *ret)
{
    struct row_scan *self = (struct row_scan *)scan;
    enum scan_state state = chunk_list_take(&self->chunks, ret);
    if (state == SCAN_ITEM)
        page_window_take(&self->window, &ret->rows);
    return state;
}

static double rows_waiting(const struct scan *scan)
{
    return (double)chunk_list_waiting_pages(&((const struct row_scan *)scan)->chunks);
}

static void rows_set_window(struct scan *scan, size_t window_bytes)
{
    ((struct row_scan *)scan)->window.limit_bytes = window_bytes;
}

static void rows_destroy(struct scan *scan)
{
    struct row_scan *self = (struct row_scan *)scan;
    chunk_list_finish(&self->chunks);
    row_splitter_finish(&self->splitter);
    buffer_finish(&self->previous);
    buffer_finish(&self->point);
    free(self);
}

static const struct scan_ops rows_ops = {.next_request = rows_next_request,
                                         .add_answer = rows_add_answer,
                                         .give_back = rows_give_back,
                                         .take = rows_take,
                                         .waiting = rows_waiting,
                                         .set_window = rows_set_window,
                                         .destroy = rows_destroy};

int scan_rows_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    struct row_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    size_t page_rows = (size_t)limits->page_rows;
    *self =
        (struct row_scan){.scan = {&rows_ops},
                          .limits = *limits,
                          .window = {.limit_bytes = limits->window_bytes, .page_rows = page_rows}};
    buffer_init(&self->previous, POSITION_MAX_BYTES);
    buffer_init(&self->point, POSITION_MAX_BYTES);
    int r = chunk_list_init(&self->chunks, range);
    if (r == 0)
        r = row_splitter_init(&self->splitter, page_rows);
    if (r == 0)
        *ret = TAKE_PTR(scan);
    return r;
}
