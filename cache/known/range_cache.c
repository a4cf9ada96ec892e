/* SPDX-License-Identifier: MIT */
#include "cache/known/range_cache.h"
#include "cache/known/range_cache_parts.h"
#include "client/base/locked.h"

#define IDLE_TABLES    64  /* tables without a page that are kept for their floor */
#define WALK_STEPS     256 /* pieces that a question looks at before it releases the lock */
#define EVICTION_LOOKS 64  /* pages that eviction looks at before it releases the lock */
#define PASSED_LOOKS   64  /* pieces that range_cache_passed looks at */

static int compare_tables(const struct table *a, const struct table *b)
{
    return strcmp(a->name, b->name);
}

RB_GENERATE_INTERNAL(table_tree, table, by_name, compare_tables, static __attribute__((unused)));

int range_cache_create(size_t max_bytes, struct range_cache **ret)
{
    struct range_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return -ENOMEM;
    (void)pthread_mutex_init(&cache->lock, NULL);
    cache->max_bytes = max_bytes;
    TAILQ_INIT(&cache->idle);
    TAILQ_INIT(&cache->passed);
    TAILQ_INIT(&cache->used);
    range_holdings_init(&cache->holdings);
    *ret = cache;
    return 0;
}

/* Frees the removed pages after the lock is released, because there may be many. */
static void unlock_and_free(struct range_cache *cache)
{
    struct cached_page *next, *page = TAILQ_FIRST(&cache->holdings.removed);
    TAILQ_INIT(&cache->holdings.removed);
    (void)pthread_mutex_unlock(&cache->lock);
    for (; page; page = next) {
        next = TAILQ_NEXT(page, in_queue);
        cached_page_destroy(page);
    }
}

/* The name "" stands for the account. No table has it. */
static const char *name_of(const char *table)
{
    return table ? table : "";
}

static struct table *find_table_locked(struct range_cache *cache, const char *name)
{
    struct table probe = {.name = name_of(name)};
    return RB_FIND(table_tree, &cache->tables, &probe);
}

/* The floor of the tables that are not kept rises to this table's. */
static void forget_table_locked(struct range_cache *cache, struct table *table)
{
    cache->floor = MAX(cache->floor, table->map.floor);
    TAILQ_REMOVE(&cache->idle, table, in_idle);
    cache->idle_count--;
    (void)RB_REMOVE(table_tree, &cache->tables, table);
    free(table);
}

/* Called after every change of the table's pages. Keeps the list of tables without a page. */
static void settle_table_locked(struct range_cache *cache, struct table *table)
{
    bool is_idle = range_map_is_empty(&table->map);
    if (is_idle == table->is_idle)
        return;
    table->is_idle = is_idle;
    if (!is_idle) {
        TAILQ_REMOVE(&cache->idle, table, in_idle);
        cache->idle_count--;
        return;
    }
    TAILQ_INSERT_TAIL(&cache->idle, table, in_idle);
    if (++cache->idle_count > IDLE_TABLES)
        forget_table_locked(cache, TAILQ_FIRST(&cache->idle));
}

/* The table, created if it is not there. NULL: out of memory. */
static struct table *enter_table_locked(struct range_cache *cache, const char *name)
{
    struct table *table = find_table_locked(cache, name);
    if (table)
        return table;
    struct bytes text = bytes_of(name_of(name));
    table = calloc(1, sizeof(*table) + text.size + 1);
    if (!table)
        return NULL;
    memcpy(table->text, text.data, text.size);
    table->name = table->text;
    range_map_init(&table->map, &cache->holdings, cache->floor);
    (void)RB_INSERT(table_tree, &cache->tables, table);
    settle_table_locked(cache, table);
    return table;
}

static void use_locked(struct range_cache *cache, struct cached_page *page)
{
    cached_page_move(page, &cache->used, NULL);
}

/* Evicts the next page, unless another holder references it: then it counts as used now. So does
 * the page that is being put. False: nothing was evicted. */
static bool evict_next_locked(struct range_cache *cache)
{
    struct cached_page *page = TAILQ_FIRST(&cache->passed);
    if (!page)
        page = TAILQ_FIRST(&cache->used);
    if (page_is_shared(page->page)) {
        use_locked(cache, page);
        return false;
    }
    struct table *table = (struct table *)page->map;
    range_map_evict(page);
    cache->evicted++;
    settle_table_locked(cache, table);
    return true;
}

/* Evicts a bounded number of pages if the cache is over its budget. True: call again. */
static bool evict_some(struct range_cache *cache)
{
    (void)pthread_mutex_lock(&cache->lock);
    int looks = 0, evicted = 0;
    for (; cache->holdings.bytes > cache->max_bytes && looks < EVICTION_LOOKS; looks++)
        evicted += evict_next_locked(cache);
    unlock_and_free(cache);
    return looks == EVICTION_LOOKS && evicted > 0;
}

static void drop_table_locked(struct range_cache *cache, const char *name, struct stamp stamp)
{
    struct table *table = enter_table_locked(cache, name);
    /* Without memory the floor of the tables that are not kept rises. This costs requests only. */
    if (!table) {
        cache->floor = MAX(cache->floor, stamp.order);
        return;
    }
    range_map_drop(&table->map, stamp);
    settle_table_locked(cache, table);
}

static int put_locked(struct range_cache *cache, const char *name, struct page *page,
                      struct stamp stamp, enum page_origin origin)
{
    struct table *table = enter_table_locked(cache, name);
    struct cached_page *cached = NULL;
    int r = table ? cached_page_create(page, stamp, origin, &cached) : -ENOMEM;
    if (r == 0) {
        r = range_map_put(&table->map, cached, &cache->used);
        settle_table_locked(cache, table);
    }
    if (r < 0)
        drop_table_locked(cache, name, stamp);
    return r;
}

static void unlock_and_trim(struct range_cache *cache)
{
    unlock_and_free(cache);
    while (evict_some(cache))
        ;
}

int range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                    struct stamp stamp)
{
    (void)pthread_mutex_lock(&cache->lock);
    int r = put_locked(cache, table, page, stamp, ORIGIN_READ);
    unlock_and_trim(cache);
    return r;
}

int range_cache_put_change(struct range_cache *cache, const char *table, struct page *page,
                           _Atomic uint64_t *orders, int64_t answered_ms)
{
    (void)pthread_mutex_lock(&cache->lock);
    struct stamp stamp = stamp_take(orders, answered_ms);
    int r = put_locked(cache, table, page, stamp, ORIGIN_CHANGE);
    unlock_and_trim(cache);
    return r;
}

static int put_gone_locked(struct range_cache *cache, const char *name,
                           const struct bytes *positions, size_t count, struct stamp stamp)
{
    struct table *table = enter_table_locked(cache, name);
    int r = -ENOMEM;
    if (table) {
        r = range_map_put_gone(&table->map, positions, count, stamp, &cache->used);
        settle_table_locked(cache, table);
    }
    if (r < 0)
        drop_table_locked(cache, name, stamp);
    return r;
}

int range_cache_put_gone(struct range_cache *cache, const char *table,
                         const struct bytes *positions, size_t count, _Atomic uint64_t *orders,
                         int64_t answered_ms)
{
    (void)pthread_mutex_lock(&cache->lock);
    struct stamp stamp = stamp_take(orders, answered_ms);
    int r = put_gone_locked(cache, table, positions, count, stamp);
    unlock_and_trim(cache);
    return r;
}

void range_cache_drop_table(struct range_cache *cache, const char *table, struct stamp stamp)
{
    (void)pthread_mutex_lock(&cache->lock);
    drop_table_locked(cache, table, stamp);
    unlock_and_free(cache);
}

void range_cache_destroy(struct range_cache *cache)
{
    if (!cache)
        return;
    struct stamp last = {.order = UINT64_MAX};
    (void)pthread_mutex_lock(&cache->lock);
    for (struct table *table; (table = RB_ROOT(&cache->tables)) != NULL;) {
        range_map_drop(&table->map, last);
        settle_table_locked(cache, table);
        forget_table_locked(cache, table);
    }
    unlock_and_free(cache);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

struct walk { /* the state of a question that goes from piece to piece */
    const struct question *question;
    struct bytes lo; /* no row is before it */
    int64_t requested_ms;
    enum knowledge known;
    struct run run;
};

static bool decide(struct walk *walk, enum knowledge known)
{
    walk->known = known;
    return true;
}

/* Looks at one piece. True: the walk has its answer. */
static bool step_locked(struct range_cache *cache, struct table *table, struct walk *walk)
{
    const struct question *question = walk->question;
    if (bytes_compare(walk->lo, question->range.hi) >= 0)
        return decide(walk, KNOWN_EMPTY);
    struct piece *piece = table ? range_map_find(&table->map, walk->lo, question->since) : NULL;
    if (!piece)
        return decide(walk, KNOWN_NOT);
    use_locked(cache, piece->page);
    walk->requested_ms = MIN(walk->requested_ms, piece->page->stamp.requested_ms);

    struct page *page = piece->page->page;
    bool ends_there = bytes_compare(question->range.hi, piece->range.hi) < 0;
    struct bytes hi = ends_there ? question->range.hi : piece->range.hi;
    struct run run = {page, page_seek(page, walk->lo), page_seek(page, hi)};
    if (run.begin == run.end) {
        walk->lo = hi;
        return false;
    }
    if (page_is_keys_only(page) && !question->keys_suffice) {
        struct bytes row = page_position(page, run.begin);
        if (bytes_equal(row, walk->lo)) /* no fresh page has the text of this row */
            return decide(walk, KNOWN_NOT);
        walk->lo = row;
        return false;
    }
    walk->run = run;
    (void)page_ref(page);
    return decide(walk, KNOWN_ROWS);
}

static void keep_position(struct walk *walk, struct position *ret)
{
    position_set(ret, walk->lo);
    walk->lo = position_bytes(ret);
}

/* Looks at up to WALK_STEPS pieces. True: the walk has its answer. If not, or for KNOWN_NOT,
 * walk->lo is copied to `position`, because the piece that it is a view of may go when the lock is
 * released. */
static bool walk_locked(struct range_cache *cache, struct walk *walk, struct position *position)
{
    struct table *table = find_table_locked(cache, walk->question->table);
    bool is_decided = false;
    for (int step = 0; !is_decided && step < WALK_STEPS; step++)
        is_decided = step_locked(cache, table, walk);
    if (!is_decided || walk->known == KNOWN_NOT)
        keep_position(walk, position);
    return is_decided;
}

enum knowledge range_cache_next(struct range_cache *cache, const struct question *question,
                                struct run *ret_run, int64_t *ret_requested_ms,
                                struct position *ret_until)
{
    struct walk walk = {.question = question, .lo = question->range.lo, .requested_ms = INT64_MAX};
    for (bool is_decided = false; !is_decided;) {
        LOCKED(&cache->lock);
        is_decided = walk_locked(cache, &walk, ret_until);
    }
    if (walk.known != KNOWN_NOT)
        ret_until->size = 0;
    if (walk.known == KNOWN_ROWS)
        *ret_run = walk.run;
    if (walk.requested_ms != INT64_MAX)
        *ret_requested_ms = walk.requested_ms;
    return walk.known;
}

/* NULL: no such piece has a row in the range, or none of the first WALK_STEPS. */
static const struct piece *find_row_locked(struct range_map *map, enum range_kind kind,
                                           const struct question *question, size_t *ret_row)
{
    struct piece *piece = range_map_first_in(map, kind, question->range);
    for (int step = 0; piece && step < WALK_STEPS; step++) {
        const struct page *page = piece->page->page;
        struct bytes lo = piece->range.lo, hi = piece->range.hi;
        size_t end =
            page_seek(page, bytes_compare(hi, question->range.hi) < 0 ? hi : question->range.hi);
        *ret_row =
            page_seek(page, bytes_compare(lo, question->range.lo) > 0 ? lo : question->range.lo);
        if (*ret_row < end && stamp_satisfies(piece->page->stamp, question->since))
            return piece;
        piece = range_map_next_in(piece, question->range);
    }
    return NULL;
}

bool range_cache_find_row(struct range_cache *cache, const struct question *question,
                          struct position *ret_position, int64_t *ret_requested_ms)
{
    const struct piece *piece = NULL;
    size_t row;
    LOCKED(&cache->lock);
    struct table *table = find_table_locked(cache, question->table);
    for (enum range_kind kind = 0; table && !piece && kind < RANGE_KINDS; kind++)
        piece = find_row_locked(&table->map, kind, question, &row);
    if (!piece)
        return false;
    *ret_requested_ms = piece->page->stamp.requested_ms;
    position_set(ret_position, page_position(piece->page->page, row));
    return true;
}

static uint64_t floor_locked(const struct range_cache *cache, const struct table *table)
{
    return table ? table->map.floor : cache->floor;
}

uint64_t range_cache_floor(struct range_cache *cache, const char *table)
{
    LOCKED(&cache->lock);
    return floor_locked(cache, find_table_locked(cache, table));
}

enum superseded range_cache_superseded(struct range_cache *cache, const char *table,
                                       const struct page *page, size_t row, uint64_t floor)
{
    LOCKED(&cache->lock);
    struct table *found = find_table_locked(cache, table);
    struct piece *piece = found ? range_map_youngest(&found->map, page_position(page, row)) : NULL;
    if (piece)
        return piece->page->page == page ? SUPERSEDED_NO : SUPERSEDED_YES;
    return floor_locked(cache, found) > floor ? SUPERSEDED_YES : SUPERSEDED_UNKNOWN;
}

/* Is this the last piece of a page whose pieces all lie in the range? */
static bool ends_page_in(const struct piece *piece, struct range range)
{
    const struct piece *first = TAILQ_FIRST(&piece->page->pieces);
    return !TAILQ_NEXT(piece, in_page) && bytes_compare(piece->range.hi, range.hi) <= 0 &&
           bytes_compare(first->range.lo, range.lo) >= 0;
}

/* Goes from the end of the range back, and queues each page before the one that follows it. So the
 * pages at the beginning are evicted first. */
static void pass_locked(struct range_cache *cache, struct range_map *map, enum range_kind kind,
                        struct range range)
{
    struct cached_page *following = NULL;
    struct piece *piece = range_map_before(map, kind, range.hi);
    for (int looks = 0; piece && looks < PASSED_LOOKS; piece = range_map_previous(piece)) {
        struct cached_page *page = piece->page;
        if (bytes_compare(piece->range.hi, range.lo) <= 0)
            return;
        looks++;
        if (!ends_page_in(piece, range))
            continue;
        if (page->queue == &cache->passed)
            return;
        cached_page_move(page, &cache->passed, following);
        following = page;
    }
}

void range_cache_passed(struct range_cache *cache, const char *table, struct range range)
{
    LOCKED(&cache->lock);
    struct table *found = find_table_locked(cache, table);
    for (enum range_kind kind = 0; found && kind < RANGE_KINDS; kind++)
        pass_locked(cache, &found->map, kind, range);
}

void range_cache_stats(struct range_cache *cache, struct range_cache_stats *ret)
{
    LOCKED(&cache->lock);
    *ret = (struct range_cache_stats){
        .evicted = cache->evicted, .pages = cache->holdings.pages, .bytes = cache->holdings.bytes};
}
