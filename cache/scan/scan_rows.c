/* All rows of a range, in key order, by adaptive range splitting: the range is a list of chunks,
 * each read page after page. While slots are idle, chunks that seem to have the most left are split
 * where the keys seen so far say that the middle is; no guess costs a row, since ranges are asked,
 * not keys: what was guessed badly is an empty page or an uneven piece. */
#include "cache/scan/scan.h"
#include "cache/scan/divider.h"

#define POSITION_MAX_BYTES ((size_t)16 << 10)
#define SLOW_START         2 /* guesses out at once, for each page with rows so far */
#define FREE_EMPTIES       4
#define WASTE              0.25 /* empty answers, of the pages with rows */
#define TRICKLE            16   /* with too many empty answers, one guess for so many slots */

struct row_scan {
    struct scan scan;
    struct scan_limits limits;
    struct chunk_list chunks;
    struct divider divider;
    struct buffer previous, point; /* room for positions */
    uint64_t last_id;
    size_t asked;         /* requests that are out */
    size_t good, empties; /* answers with rows; guesses that found none */
    size_t told_rows, told_bytes;
    size_t waiting_bytes; /* of pages that were not taken yet */
};

static double page_weight(const struct row_scan *self)
{
    if (self->told_rows == 0)
        return 0;
    return (double)self->told_bytes / (double)self->told_rows * self->limits.page_rows;
}

/* Pages that may still be asked for. */
static double window_room(const struct row_scan *self)
{
    double weight = page_weight(self), window = (double)self->limits.window_bytes;
    if (self->limits.window_bytes == 0 || weight == 0)
        return 1e9;
    return (window - (double)self->waiting_bytes) / weight - (double)self->asked;
}

static double window_pages(const struct row_scan *self)
{
    double weight = page_weight(self);
    if (self->limits.window_bytes == 0 || weight == 0)
        return 1e9;
    return (double)self->limits.window_bytes / weight;
}

/* How far the begin of the next chunk is from what is taken now. */
static double pages_of(const struct row_scan *self, const struct chunk *chunk)
{
    double waiting = (double)chunk->waiting_rows / self->limits.page_rows;
    return waiting + (chunk->state == CHUNK_DONE ? 0 : MAX(chunk->pages_left, 1));
}

/* The first chunk that is not done: what is taken next comes from it. */
static struct chunk *find_head(const struct row_scan *self)
{
    struct chunk *chunk;
    TAILQ_FOREACH(chunk, &self->chunks, link)
    {
        if (chunk->state != CHUNK_DONE)
            break;
    }
    return chunk;
}

/* The first that may be asked: the head always, if none of its pages wait. */
static struct chunk *find_ready(const struct row_scan *self)
{
    const struct chunk *head = find_head(self);
    double ahead = 0, room = window_room(self), window = window_pages(self);
    struct chunk *chunk;
    TAILQ_FOREACH(chunk, &self->chunks, link)
    {
        bool is_due = chunk == head && chunk->waiting_rows == 0;
        if (chunk->state == CHUNK_READY && (is_due || (room >= 1 && ahead < window)))
            return chunk;
        ahead += pages_of(self, chunk);
    }
    return NULL;
}

static size_t count_guesses(const struct row_scan *self)
{
    size_t n = 0;
    const struct chunk *chunk;
    TAILQ_FOREACH(chunk, &self->chunks, link)
    n += chunk->state != CHUNK_DONE && !chunk_is_begun(chunk);
    return n;
}

/* How many guesses may be made now: few before much is known, fewer when many were wrong. */
static int guess_budget(const struct row_scan *self, int idle)
{
    double guesses = (double)count_guesses(self), good = (double)self->good;
    double empties = (double)self->empties;
    double budget = MIN(SLOW_START * good - guesses, window_room(self));
    double misses = 1 - (good + 1) / (good + empties + 1);
    if (self->empties > FREE_EMPTIES) {
        double waste = WASTE * good + FREE_EMPTIES - empties;
        budget = MIN(budget, MAX(waste, 0) / MAX(misses, 0.05) - guesses);
    }
    if (budget < 1) {
        double trickle = (double)((size_t)idle + self->asked) / TRICKLE;
        budget = MIN(MAX(trickle, 1), window_room(self)) - guesses;
        if (self->good * SLOW_START <= guesses)
            budget = 0;
    }
    return (int)MAX(MIN(budget, idle), 0);
}

/* A piece must be so many pages long: longer when guesses are bad. */
static double least_piece(const struct row_scan *self)
{
    double hits = ((double)self->good + 1) / ((double)(self->good + self->empties) + 1);
    return hits > 0.92 ? 1.25 : hits > 0.8 ? 1.6 : 2.5;
}

/* So short must pieces be that all slots work inside the window. */
static double greatest_piece(const struct row_scan *self, int idle)
{
    double slots = (double)((size_t)idle + self->asked);
    return MAX(window_pages(self) / slots / 2, 1.6);
}

struct candidates {
    size_t count;
    double pages; /* in all */
    struct chunk *best;
    double best_reach;
};

/* Chunks that are being read and have most left inside the window. */
static void find_candidates(const struct row_scan *self, struct candidates *ret)
{
    double ahead = 0, window = window_pages(self), least = least_piece(self);
    struct chunk *chunk;
    *ret = (struct candidates){0};
    TAILQ_FOREACH(chunk, &self->chunks, link)
    {
        double reach = MIN(MIN(chunk->pages_left - 1, window - ahead), 2000);
        ahead += pages_of(self, chunk);
        if (chunk->state != CHUNK_ASKED || !chunk_is_begun(chunk) || reach < least)
            continue;
        ret->count++;
        ret->pages += reach;
        if (ret->best_reach < (self->limits.window_bytes > 0 ? 1e-9 : reach)) {
            ret->best = chunk;
            ret->best_reach = reach;
        }
    }
}

static void estimate(const struct row_scan *self, struct chunk *chunk)
{
    struct division plan;
    divider_plan(&self->divider, chunk, &plan);
    chunk->pages_left = plan.pages;
}

/* Divides a chunk; the number of pieces that were made of it. */
static int divide(struct row_scan *self, struct chunk *chunk, int pieces, double reach)
{
    struct division plan;
    divider_plan(&self->divider, chunk, &plan);
    int made = 0;
    struct chunk *piece = chunk, *behind;
    for (int i = 1; i < pieces; i++) {
        buffer_clear(&self->point);
        int r = divider_append_point(&plan, chunk, i, pieces, reach, &self->point);
        if (r < 0 || !chunk_can_split(piece, buffer_bytes(&self->point)))
            continue;
        if (chunk_split(piece, buffer_bytes(&self->point), &behind) < 0)
            break;
        behind->pages_left = plan.kind == DIVISION_EVEN ? reach / pieces : 1;
        TAILQ_INSERT_AFTER(&self->chunks, piece, behind, link);
        piece = behind;
        made++;
    }
    if (made > 0)
        estimate(self, chunk);
    else
        chunk->pages_left = 0; /* until it is told more */
    return made;
}

static void speculate(struct row_scan *self, int idle)
{
    int budget = guess_budget(self, idle);
    struct candidates candidates;
    find_candidates(self, &candidates);
    while (budget > 0 && candidates.best) {
        double reach = candidates.best_reach;
        double share = reach / candidates.pages * (double)(candidates.count + (size_t)budget);
        int most = (int)(reach / least_piece(self)) + 1;
        int pieces = self->limits.window_bytes > 0 ? most : MIN((int)(share + 1.5), most);
        pieces = MAX(MIN(pieces, budget + 1), 2);
        double piece = reach / pieces;
        if (self->limits.window_bytes > 0)
            piece = MAX(1.6, MIN(piece, greatest_piece(self, idle)));
        budget -= divide(self, candidates.best, pieces, piece * pieces);
        find_candidates(self, &candidates);
    }
}

/* One query can ask for what is left of the chunk; what it cannot becomes another. */
static int make_askable(struct row_scan *self, struct chunk *chunk)
{
    buffer_clear(&self->point);
    struct chunk *behind;
    int r = chunk->token ? 0 : chunk_append_askable_end(chunk, &self->point);
    if (r < 0 || chunk->token || !chunk_can_split(chunk, buffer_bytes(&self->point)))
        return r;
    r = chunk_split(chunk, buffer_bytes(&self->point), &behind);
    if (r < 0)
        return r;
    behind->pages_left = 1;
    TAILQ_INSERT_AFTER(&self->chunks, chunk, behind, link);
    return 0;
}

static bool rows_ask(struct scan *scan, int idle, struct scan_request *ret)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk = find_ready(self);
    if (!chunk) {
        speculate(self, idle);
        chunk = find_ready(self);
    }
    struct range range;
    if (!chunk || make_askable(self, chunk) < 0 || chunk_ask(chunk, &range) < 0)
        return false;
    self->asked++;
    chunk->id = ++self->last_id;
    *ret =
        (struct scan_request){.id = chunk->id,
                              .range = range,
                              .after = chunk->token,
                              .top = self->limits.page_rows,
                              .keys_only = self->limits.keys_only,
                              .is_speculative = chunk != find_head(self) && !chunk_is_begun(chunk)};
    return true;
}

static struct chunk *find_asked(const struct row_scan *self, uint64_t id)
{
    struct chunk *chunk;
    TAILQ_FOREACH(chunk, &self->chunks, link)
    {
        if (chunk->state == CHUNK_ASKED && chunk->id == id)
            break;
    }
    return chunk;
}

/* The last row that is known before what the chunk will show. */
static int remember_previous(struct row_scan *self, const struct chunk *chunk)
{
    while (chunk && !chunk_is_begun(chunk))
        chunk = TAILQ_PREV(chunk, chunk_list, link);
    buffer_clear(&self->previous);
    return chunk ? buffer_append(&self->previous, buffer_bytes(&chunk->last)) : 0;
}

static void join_next(struct row_scan *self, struct chunk *chunk)
{
    struct chunk *next = chunk ? TAILQ_NEXT(chunk, link) : NULL;
    if (!next || chunk->state != CHUNK_DONE || next->state != CHUNK_DONE)
        return;
    chunk_join(chunk, next);
    TAILQ_REMOVE(&self->chunks, next, link);
    chunk_destroy(next);
}

static int note_answer(struct row_scan *self, struct chunk *chunk, const struct run *run)
{
    if (!run->page) {
        self->empties += !chunk_is_begun(chunk);
        return 0;
    }
    self->good++;
    self->told_rows += page_rows(run->page);
    self->told_bytes += page_bytes(run->page);
    self->waiting_bytes += page_bytes(run->page);
    int r = divider_learn(&self->divider, buffer_bytes(&self->previous), run);
    if (r == 0 && chunk->state != CHUNK_DONE)
        estimate(self, chunk);
    return r;
}

static int rows_tell(struct scan *scan, uint64_t id, struct answer *answer)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk = find_asked(self, id);
    struct run run;
    self->asked--;
    int r = remember_previous(self, chunk);
    if (r < 0) {
        chunk_give_back(chunk);
        answer_finish(answer);
        return r;
    }
    r = chunk_tell(chunk, answer, &run);
    if (r == 0)
        r = note_answer(self, chunk, &run);
    join_next(self, chunk);
    join_next(self, TAILQ_PREV(chunk, chunk_list, link));
    return r;
}

static void rows_give_back(struct scan *scan, uint64_t id)
{
    struct row_scan *self = (struct row_scan *)scan;
    self->asked--;
    chunk_give_back(find_asked(self, id));
}

static enum scan_state rows_take(struct scan *scan, struct scan_item *ret)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk;
    while ((chunk = TAILQ_FIRST(&self->chunks))) {
        *ret = (struct scan_item){.kind = SCAN_ROWS};
        if (chunk_take(chunk, &ret->rows)) {
            self->waiting_bytes -= page_bytes(ret->rows.page);
            return SCAN_ITEM;
        }
        if (chunk->state != CHUNK_DONE)
            return SCAN_WAIT;
        TAILQ_REMOVE(&self->chunks, chunk, link);
        chunk_destroy(chunk);
    }
    return SCAN_END;
}

static void rows_destroy(struct scan *scan)
{
    struct row_scan *self = (struct row_scan *)scan;
    struct chunk *chunk;
    while ((chunk = TAILQ_FIRST(&self->chunks))) {
        TAILQ_REMOVE(&self->chunks, chunk, link);
        chunk_destroy(chunk);
    }
    divider_finish(&self->divider);
    buffer_finish(&self->previous);
    buffer_finish(&self->point);
    free(self);
}

static const struct scan_ops rows_ops = {.ask = rows_ask,
                                         .tell = rows_tell,
                                         .give_back = rows_give_back,
                                         .take = rows_take,
                                         .destroy = rows_destroy};

int scan_rows_create(struct range range, const struct scan_limits *limits, struct scan **ret)
{
    struct row_scan *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    _cleanup_(scan_destroyp) struct scan *scan = &self->scan;
    *self = (struct row_scan){.scan = {&rows_ops}, .limits = *limits};
    TAILQ_INIT(&self->chunks);
    buffer_init(&self->previous, POSITION_MAX_BYTES);
    buffer_init(&self->point, POSITION_MAX_BYTES);
    int r = divider_init(&self->divider, (size_t)limits->page_rows);
    struct chunk *chunk = NULL;
    if (r == 0 && !range_is_empty(range))
        r = chunk_create(range, &chunk);
    if (r < 0)
        return r;
    if (chunk)
        TAILQ_INSERT_TAIL(&self->chunks, chunk, link);
    *ret = TAKE_PTR(scan);
    return 0;
}
