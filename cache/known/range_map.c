/* SPDX-License-Identifier: MIT */
#include "cache/known/range_map.h"

#include <assert.h>

#define GAP_STEPS 64 /* pieces of one gap that are visited; a gap with more is not closed */

static int compare_pieces(const struct piece *a, const struct piece *b)
{
    return bytes_compare(a->range.lo, b->range.lo);
}

RB_GENERATE_INTERNAL(piece_tree, piece, in_tree, compare_pieces, static __attribute__((unused)));

int cached_page_create(struct page *page, struct stamp stamp, enum page_origin origin,
                       struct cached_page **ret)
{
    struct cached_page *cached = calloc(1, sizeof(*cached));
    if (!cached)
        return -ENOMEM;
    cached->page = page_ref(page);
    cached->stamp = stamp;
    cached->origin = origin;
    cached->newest_change = origin == ORIGIN_READ ? 0 : stamp.order;
    TAILQ_INIT(&cached->pieces);
    *ret = cached;
    return 0;
}

void cached_page_destroy(struct cached_page *page)
{
    if (!page)
        return;
    page_unref(page->page);
    free(page);
}

void cached_page_move(struct cached_page *page, struct page_queue *queue,
                      struct cached_page *before)
{
    if (page->queue)
        TAILQ_REMOVE(page->queue, page, in_queue);
    if (before)
        TAILQ_INSERT_BEFORE(before, page, in_queue);
    else
        TAILQ_INSERT_TAIL(queue, page, in_queue);
    page->queue = queue;
}

static enum range_kind kind_of(const struct cached_page *page)
{
    return page_is_keys_only(page->page) && page_rows(page->page) > 0 ? RANGE_KEYS : RANGE_TEXTS;
}

static struct piece_tree *tree_of(const struct cached_page *page)
{
    return &page->map->trees[kind_of(page)];
}

size_t cached_page_bytes(const struct cached_page *page)
{
    return sizeof(*page) + page_bytes(page->page);
}

static void enter(struct range_map *map, struct cached_page *page, struct page_queue *queue)
{
    page->map = map;
    cached_page_move(page, queue, NULL);
    map->holdings->pages++;
    map->holdings->bytes += cached_page_bytes(page);
}

static void remove_if_without_piece(struct cached_page *page)
{
    struct range_holdings *holdings = page->map->holdings;
    if (!TAILQ_EMPTY(&page->pieces) || page->queue == &holdings->removed)
        return;
    cached_page_move(page, &holdings->removed, NULL);
    holdings->pages--;
    holdings->bytes -= cached_page_bytes(page);
}

static size_t piece_bytes(const struct piece *piece)
{
    return sizeof(*piece) + piece->range.lo.size + piece->range.hi.size;
}

static bool fits_in(struct piece *piece)
{
    const struct piece *before = RB_PREV(piece_tree, NULL, piece);
    const struct piece *behind = RB_NEXT(piece_tree, NULL, piece);
    return !range_is_empty(piece->range) &&
           (!before || bytes_compare(before->range.hi, piece->range.lo) <= 0) &&
           (!behind || bytes_compare(piece->range.hi, behind->range.lo) <= 0);
}

/* Adds a piece for the range, unless the range is empty. In the page's list the piece goes before
 * `before`, or (NULL) to the end. */
static int add_piece(struct cached_page *page, struct range range, struct piece *before)
{
    if (range_is_empty(range))
        return 0;
    struct piece *piece = calloc(1, sizeof(*piece) + range.lo.size + range.hi.size);
    if (!piece)
        return -ENOMEM;
    if (range.lo.size > 0)
        memcpy(piece->ends, range.lo.data, range.lo.size);
    memcpy(piece->ends + range.lo.size, range.hi.data, range.hi.size);
    piece->range.lo = (struct bytes){piece->ends, range.lo.size};
    piece->range.hi = (struct bytes){piece->ends + range.lo.size, range.hi.size};
    piece->page = page;
    (void)RB_INSERT(piece_tree, tree_of(page), piece);
    if (before)
        TAILQ_INSERT_BEFORE(before, piece, in_page);
    else
        TAILQ_INSERT_TAIL(&page->pieces, piece, in_page);
    page->map->holdings->bytes += piece_bytes(piece);
    assert(fits_in(piece));
    return 0;
}

/* Removes the range from the piece. Up to two pieces remain; fewer if there is no memory. */
static int cut_piece(struct piece *piece, struct range range)
{
    struct cached_page *page = piece->page;
    (void)RB_REMOVE(piece_tree, tree_of(page), piece);
    int left = add_piece(page, (struct range){piece->range.lo, range.lo}, piece);
    int right = add_piece(page, (struct range){range.hi, piece->range.hi}, piece);
    TAILQ_REMOVE(&page->pieces, piece, in_page);
    page->map->holdings->bytes -= piece_bytes(piece);
    free(piece);
    remove_if_without_piece(page);
    return left < 0 ? left : right;
}

static void remove_piece(struct piece *piece)
{
    (void)cut_piece(piece, piece->range); /* cannot fail: no piece remains to allocate */
}

static struct piece *last_from(struct piece_tree *tree, struct bytes position)
{
    struct piece probe = {.range.lo = position};
    struct piece *piece = RB_NFIND(piece_tree, tree, &probe);
    if (!piece)
        return RB_MAX(piece_tree, tree);
    return bytes_equal(piece->range.lo, position) ? piece : RB_PREV(piece_tree, tree, piece);
}

static struct piece *piece_at(struct piece_tree *tree, struct bytes position)
{
    struct piece *piece = last_from(tree, position);
    return piece && bytes_compare(position, piece->range.hi) < 0 ? piece : NULL;
}

static struct bytes bytes_least(struct bytes a, struct bytes b)
{
    return bytes_compare(a, b) <= 0 ? a : b;
}

/* first_in and next_in visit the pieces that overlap a range, in order. NULL: no more. */
static struct piece *first_in(struct piece_tree *tree, struct range range)
{
    struct piece *piece = last_from(tree, range.lo);
    if (!piece)
        piece = RB_MIN(piece_tree, tree);
    else if (bytes_compare(piece->range.hi, range.lo) <= 0)
        piece = RB_NEXT(piece_tree, tree, piece);
    return piece && bytes_compare(piece->range.lo, range.hi) < 0 ? piece : NULL;
}

static struct piece *next_in(struct piece *piece, struct range range)
{
    struct piece *next = RB_NEXT(piece_tree, NULL, piece);
    return next && bytes_compare(next->range.lo, range.hi) < 0 ? next : NULL;
}

void range_holdings_init(struct range_holdings *holdings)
{
    *holdings = (struct range_holdings){0};
    TAILQ_INIT(&holdings->removed);
}

void range_map_init(struct range_map *map, struct range_holdings *holdings, uint64_t floor)
{
    *map = (struct range_map){.holdings = holdings, .floor = floor};
}

bool range_map_is_empty(const struct range_map *map)
{
    return RB_EMPTY(&map->trees[RANGE_TEXTS]) && RB_EMPTY(&map->trees[RANGE_KEYS]);
}

static void inherit(struct cached_page *winner, const struct cached_page *loser)
{
    winner->newest_change = MAX(winner->newest_change, loser->newest_change);
}

/* Removes the range from all pieces that are not younger than the page `winner`. */
static int cut(struct piece_tree *tree, struct range range, struct cached_page *winner)
{
    struct piece *next;
    for (struct piece *piece = first_in(tree, range); piece; piece = next) {
        next = next_in(piece, range);
        if (stamp_is_younger(piece->page->stamp, winner->stamp))
            continue;
        inherit(winner, piece->page);
        int r = cut_piece(piece, range);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Adds pieces of the page where the range has no piece. The pieces that remain are younger. */
static int fill(struct cached_page *page, struct range range)
{
    struct bytes lo = range.lo;
    int r = 0;
    struct piece *piece = first_in(tree_of(page), range);
    for (; r == 0 && piece; piece = next_in(piece, range)) {
        inherit(piece->page, page);
        r = add_piece(page, (struct range){lo, piece->range.lo}, NULL);
        lo = piece->range.hi;
    }
    return r < 0 ? r : add_piece(page, (struct range){lo, range.hi}, NULL);
}

/* Removes the new pieces of keys where the texts are younger. */
static int yield_to_texts(struct cached_page *keys, struct range range)
{
    int r = 0;
    struct piece *piece = first_in(&keys->map->trees[RANGE_TEXTS], range);
    for (; r == 0 && piece; piece = next_in(piece, range))
        if (stamp_is_younger(piece->page->stamp, keys->stamp))
            r = cut(tree_of(keys), piece->range, piece->page);
    return r;
}

/* Removes older pieces even if the page itself is below the floor, because they are outdated. */
static int put_range(struct cached_page *page, struct range range)
{
    int r = cut(&page->map->trees[RANGE_KEYS], range, page);
    if (r == 0 && kind_of(page) == RANGE_TEXTS)
        r = cut(&page->map->trees[RANGE_TEXTS], range, page);
    if (r < 0 || page->stamp.order < page->map->floor)
        return r;
    r = fill(page, range);
    return r == 0 && kind_of(page) == RANGE_KEYS ? yield_to_texts(page, range) : r;
}

static int put(struct cached_page *page)
{
    struct range range = page_range(page->page);
    struct position end;
    int r = 0;
    if (!range_is_empty(range))
        return put_range(page, range);
    for (size_t row = 0; r == 0 && row < page_rows(page->page); row++)
        r = put_range(page, range_of_one(page_position(page->page, row), &end));
    return r;
}

int range_map_put(struct range_map *map, struct cached_page *page, struct page_queue *queue)
{
    enter(map, page, queue);
    int r = put(page);
    if (r < 0)
        range_map_drop(map, page->stamp);
    remove_if_without_piece(page);
    return r;
}

void range_map_drop(struct range_map *map, struct stamp stamp)
{
    for (enum range_kind kind = 0; kind < RANGE_KINDS; kind++) {
        struct piece *next;
        for (struct piece *piece = RB_MIN(piece_tree, &map->trees[kind]); piece; piece = next) {
            next = RB_NEXT(piece_tree, NULL, piece);
            if (!stamp_is_younger(piece->page->stamp, stamp))
                remove_piece(piece);
        }
    }
    /* This covers all dropped changes: a page's newest change is not younger than the page. */
    map->floor = MAX(map->floor, stamp.order);
}

void range_map_evict(struct cached_page *page)
{
    page->map->floor = MAX(page->map->floor, page->newest_change);
    struct piece *next;
    for (struct piece *piece = TAILQ_FIRST(&page->pieces); piece; piece = next) {
        next = TAILQ_NEXT(piece, in_page);
        remove_piece(piece);
    }
}

static struct piece *fresh_at(struct piece_tree *tree, struct bytes position, struct stamp since)
{
    struct piece *piece = piece_at(tree, position);
    return piece && stamp_satisfies(piece->page->stamp, since) ? piece : NULL;
}

struct piece *range_map_find(struct range_map *map, struct bytes position, struct stamp since)
{
    struct piece *texts = fresh_at(&map->trees[RANGE_TEXTS], position, since);
    return texts ? texts : fresh_at(&map->trees[RANGE_KEYS], position, since);
}

struct piece *range_map_youngest(struct range_map *map, struct bytes position)
{
    struct piece *texts = piece_at(&map->trees[RANGE_TEXTS], position);
    struct piece *keys = piece_at(&map->trees[RANGE_KEYS], position);
    bool is_keys = keys && (!texts || stamp_is_younger(keys->page->stamp, texts->page->stamp));
    return is_keys ? keys : texts;
}

struct piece *range_map_first_in(struct range_map *map, enum range_kind kind, struct range range)
{
    return first_in(&map->trees[kind], range);
}

struct piece *range_map_next_in(struct piece *piece, struct range range)
{
    return next_in(piece, range);
}

struct piece *range_map_before(struct range_map *map, enum range_kind kind, struct bytes position)
{
    struct piece *piece = last_from(&map->trees[kind], position);
    bool begins_there = piece && bytes_equal(piece->range.lo, position);
    return begins_there ? range_map_previous(piece) : piece;
}

struct piece *range_map_previous(struct piece *piece)
{
    return RB_PREV(piece_tree, NULL, piece);
}

/* The youngest piece at the position. *ret_end: where it ends, or where a younger piece begins.
 * Keys are never older than the texts under them. NULL: none. */
static struct piece *youngest_from(struct range_map *map, struct bytes position,
                                   struct bytes *ret_end)
{
    struct range rest = {position, BYTES_LITERAL(POSITION_END)};
    struct piece *keys = first_in(&map->trees[RANGE_KEYS], rest);
    struct piece *texts = piece_at(&map->trees[RANGE_TEXTS], position);
    if (keys && bytes_compare(keys->range.lo, position) <= 0) {
        *ret_end = keys->range.hi;
        return keys;
    }
    if (texts)
        *ret_end = keys ? bytes_least(keys->range.lo, texts->range.hi) : texts->range.hi;
    return texts;
}

/* The youngest piece that ends at the position or reaches beyond it, and begins before it.
 * *ret_begin: where it begins, or where a younger piece ends. NULL: none. */
static struct piece *youngest_until(struct range_map *map, struct bytes position,
                                    struct bytes *ret_begin)
{
    struct piece *keys = range_map_before(map, RANGE_KEYS, position);
    struct piece *texts = range_map_before(map, RANGE_TEXTS, position);
    if (keys && bytes_compare(keys->range.hi, position) >= 0) {
        *ret_begin = keys->range.lo;
        return keys;
    }
    if (!texts || bytes_compare(texts->range.hi, position) < 0)
        return NULL;
    bool is_cut = keys && bytes_compare(keys->range.hi, texts->range.lo) > 0;
    *ret_begin = is_cut ? keys->range.hi : texts->range.lo;
    return texts;
}

/* Does the piece show that no row is between `a` and `b`? Then *requested_ms becomes the older of
 * its time and the piece's.
 *
 * A page that was read counts as 1 ms older: the gone page gets a younger order than that page, and
 * a lookup in the same millisecond must not accept it in place of an answer that was requested
 * after that page. */
static bool shows_no_row(const struct piece *piece, struct bytes a, struct bytes b,
                         int64_t *requested_ms)
{
    if (!piece || page_seek(piece->page->page, a) != page_seek(piece->page->page, b))
        return false;
    int64_t piece_ms = piece->page->stamp.requested_ms - (piece->page->origin != ORIGIN_GONE);
    *requested_ms = MIN(*requested_ms, piece_ms);
    return true;
}

struct gone_run { /* a range without rows that becomes one gone page */
    struct bytes lo, hi;
    int64_t requested_ms;
};

/* Extends the run from run->hi to `end`. False: a row may be between them; nothing is changed. */
static bool add_gap(struct range_map *map, struct gone_run *run, struct bytes end)
{
    struct bytes at = run->hi, piece_end = end;
    int64_t requested_ms = run->requested_ms;
    for (int steps = 0; bytes_compare(at, end) < 0; steps++, at = piece_end) {
        struct piece *piece = steps < GAP_STEPS ? youngest_from(map, at, &piece_end) : NULL;
        piece_end = bytes_least(piece_end, end);
        if (!shows_no_row(piece, at, piece_end, &requested_ms))
            return false;
    }
    run->requested_ms = requested_ms;
    return true;
}

/* Extends the run over the next gone page after it or before it, if no row is between them. */
static void join(struct range_map *map, struct gone_run *run, bool is_behind)
{
    struct bytes *run_end = is_behind ? &run->hi : &run->lo;
    struct bytes at = *run_end, end = at;
    int64_t requested_ms = run->requested_ms;
    for (int steps = 0; steps < GAP_STEPS; steps++, at = end) {
        struct piece *piece =
            is_behind ? youngest_from(map, at, &end) : youngest_until(map, at, &end);
        if (!shows_no_row(piece, at, end, &requested_ms))
            return;
        if (piece->page->origin == ORIGIN_GONE) {
            *run_end = end;
            run->requested_ms = requested_ms;
            return;
        }
    }
}

static int put_run(struct range_map *map, const struct gone_run *run, uint64_t order,
                   struct page_queue *queue)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct stamp stamp = {run->requested_ms, order};
    struct cached_page *cached = NULL;
    int r = page_create_empty((struct range){run->lo, run->hi}, &page);
    if (r == 0)
        r = cached_page_create(page, stamp, ORIGIN_GONE, &cached);
    return r == 0 ? range_map_put(map, cached, queue) : r;
}

/* Makes a run that begins at the first row and takes as many of the rows as possible. Returns their
 * number. `end` holds the run's end. */
static size_t make_run(struct range_map *map, const struct bytes *positions, size_t count,
                       struct gone_run *run, struct position *end)
{
    size_t taken = 0;
    run->lo = positions[0];
    do {
        assert(taken == 0 || bytes_compare(positions[taken - 1], positions[taken]) < 0);
        run->hi = range_of_one(positions[taken++], end).hi;
    } while (taken < count && add_gap(map, run, positions[taken]));
    join(map, run, false);
    join(map, run, true);
    return taken;
}

int range_map_put_gone(struct range_map *map, const struct bytes *positions, size_t count,
                       struct stamp stamp, struct page_queue *queue)
{
    struct position end;
    int r = 0;
    for (size_t taken; r == 0 && count > 0; positions += taken, count -= taken) {
        struct gone_run run = {.requested_ms = stamp.requested_ms};
        taken = make_run(map, positions, count, &run, &end);
        r = put_run(map, &run, stamp.order, queue);
    }
    if (r < 0)
        range_map_drop(map, stamp);
    return r;
}
