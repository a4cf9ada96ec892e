/* SPDX-License-Identifier: MIT */
#include "cache/ahead/read_ahead.h"
#include "cache/ahead/by_name.h"
#include "cache/ahead/rows_first.h"
#include "cache/ahead/traversals.h"

#include <stdatomic.h>

/* Of the cache: the most that one miss by name fetches ahead, what prefetchers may not hold, and
 * the most that keys apart from the cache run ahead. */
#define CACHE_PART   8
#define ANSWER_BYTES ((size_t)32 << 20) /* of one request, if rows are as large as before */

struct read_ahead {
    struct read_ahead_source source;
    struct request_window *window;
    struct worker_pool *workers;
    struct prefetcher_source prefetchers;
    struct traversals *traversals;
    struct by_name *by_name;
    _Atomic bool is_closing;
    _Atomic size_t live; /* prefetchers */
    _Atomic uint64_t hits, misses;
};

static int create_parts(struct read_ahead *read_ahead)
{
    const struct read_ahead_source *source = &read_ahead->source;
    struct by_name_source by_name = {.fetcher = source->fetcher,
                                     .overlay = source->overlay,
                                     .clock = source->clock,
                                     .max_bytes = source->cache_bytes / CACHE_PART,
                                     .ttl_ms = source->ttl_ms};
    int r = request_window_create(source->parallelism, &read_ahead->window);
    if (r == 0)
        r = worker_pool_create(source->parallelism, &read_ahead->workers);
    if (r == 0)
        r = by_name_create(&by_name, &read_ahead->by_name);
    if (r < 0)
        return r;
    int64_t kept_ms = MAX(FRESHNESS_KEPT_MS, source->ttl_ms);
    read_ahead->prefetchers = (struct prefetcher_source){
        .fetcher = source->fetcher,
        .overlay = source->overlay,
        .workers = read_ahead->workers,
        .window = read_ahead->window,
        .clock = source->clock,
        .kept_ms = kept_ms,
        .ahead_bytes = source->cache_bytes - source->cache_bytes / CACHE_PART,
        .live = &read_ahead->live,
        .is_closing = &read_ahead->is_closing};
    return traversals_create(&read_ahead->prefetchers, FRESHNESS_KEPT_MS, &read_ahead->traversals);
}

int read_ahead_create(const struct read_ahead_source *source, struct read_ahead **ret)
{
    _cleanup_(read_ahead_destroyp) struct read_ahead *read_ahead = calloc(1, sizeof(*read_ahead));
    if (!read_ahead)
        return -ENOMEM;
    read_ahead->source = *source;
    int r = create_parts(read_ahead);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(read_ahead);
    return 0;
}

void read_ahead_destroy(struct read_ahead *read_ahead)
{
    if (!read_ahead)
        return;
    atomic_store(&read_ahead->is_closing, true);
    traversals_destroy(read_ahead->traversals);
    worker_pool_destroy(read_ahead->workers);
    request_window_destroy(read_ahead->window);
    by_name_destroy(read_ahead->by_name);
    free(read_ahead);
}

/* The answer to the question: what was known, or else what overlay_next finds after `reached`, the
 * result (-errno or not) of reading ahead. Counts the question once, however often it looked at the
 * cache. */
static int answer(struct read_ahead *read_ahead, struct caller *caller,
                  const struct question *question, const struct on_miss *on_miss,
                  enum knowledge known, int reached, struct seen *ret)
{
    int r = known == KNOWN_NOT ? MIN(reached, 0) : known == KNOWN_ROWS;
    if (known == KNOWN_NOT && r == 0)
        r = overlay_next(read_ahead->source.overlay, caller, question, on_miss, ret);
    bool is_hit = known != KNOWN_NOT && r >= 0;
    atomic_fetch_add(is_hit ? &read_ahead->hits : &read_ahead->misses, 1);
    return r;
}

static void pass_rows_before(struct read_ahead *read_ahead, const struct question *question)
{
    struct bytes position = question->range.lo, key = position_partition_key(position);
    range_cache_passed(read_ahead->source.cache, question->table,
                       (struct range){bytes_first(position, key.size + 1), position});
}

int read_ahead_entity(struct read_ahead *read_ahead, struct caller *caller,
                      const struct question *question, bool is_in_order, struct seen *ret)
{
    const struct on_miss alone = {.top = 1};
    _cleanup_(page_unrefp) struct page *page = NULL;
    enum knowledge known = overlay_find(read_ahead->source.overlay, question, ret, NULL);
    int r = 0;
    if (known == KNOWN_NOT && read_ahead->source.ttl_ms > 0) /* else it would not be used */
        r = by_name_fetch_entity(read_ahead->by_name, caller, question, &page);
    r = answer(read_ahead, caller, question, &alone, known, r, ret);
    if (r == 1)
        by_name_used(read_ahead->by_name, question->table, &ret->run);
    else if (r == 0)
        by_name_absent(read_ahead->by_name, question->table, question->range.lo);
    if (r >= 0 && is_in_order)
        pass_rows_before(read_ahead, question);
    return r;
}

/* If the process traverses here, its traversal answers. enum reach, or -errno. ret_traverses: does
 * it traverse here? */
static int reach_by_traversal(struct read_ahead *read_ahead, struct caller *caller,
                              struct range directory, const struct question *question,
                              struct bytes position, struct page **ret_page, bool *ret_traverses)
{
    _cleanup_(owned_range_finish) struct owned_range whole;
    owned_range_init(&whole);
    *ret_traverses = freshness_traverses(read_ahead->source.freshness, caller->process,
                                         question->table, directory, &whole);
    struct traversal_step step = {
        .whole = &whole, .begin = directory.lo, .position = position, .since = question->since};
    return *ret_traverses ? traversals_reach(read_ahead->traversals, caller, &step, ret_page)
                          : REACH_NOT;
}

/* Fetches what the lookup of a directory lacks at `position`, with what is read ahead. 0 or -errno;
 * overlay_next fetches what is still unknown then, at most *ret_top rows. A process that traverses
 * here lists the directory next: it gets at once what its listing would request. Fewer rows would
 * be a second miss at the same place, and its traversal would count as left. */
static int reach_directory(struct read_ahead *read_ahead, struct caller *caller,
                           enum directory_kind kind, const struct question *question,
                           struct bytes position, struct page **ret_page, int *ret_top)
{
    bool traverses;
    int r = reach_by_traversal(read_ahead, caller, question->range, question, position, ret_page,
                               &traverses);
    bool is_by_name = kind == DIRECTORY_ENTITIES && read_ahead->source.ttl_ms > 0 &&
                      position_row_key(question->range.lo).size == 0;
    *ret_top = traverses ? TABLE_STORE_PAGE_ROWS : BY_NAME_FIRST_ROWS;
    if (traverses || !is_by_name)
        return MIN(r, 0);
    return by_name_fetch_partition(read_ahead->by_name, caller, question, ret_page);
}

int read_ahead_directory(struct read_ahead *read_ahead, struct caller *caller,
                         enum directory_kind kind, const struct question *question,
                         struct seen *ret)
{
    struct on_miss first = {.top = BY_NAME_FIRST_ROWS};
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct position until;
    enum knowledge known = overlay_find(read_ahead->source.overlay, question, ret, &until);
    int r = 0;
    if (known == KNOWN_NOT && question->table)
        r = reach_directory(read_ahead, caller, kind, question, position_bytes(&until), &page,
                            &first.top);
    r = answer(read_ahead, caller, question, &first, known, r, ret);
    if (r == 1 && question->table)
        by_name_used(read_ahead->by_name, question->table, &ret->run);
    return r;
}

void read_cursor_init(struct read_cursor *cursor)
{
    *cursor = (struct read_cursor){.top = TABLE_STORE_PAGE_ROWS};
}

void read_cursor_reset(struct read_cursor *cursor)
{
    row_reader_destroy(TAKE_PTR(cursor->reader));
    cursor->misses = 0;
    cursor->listed_bytes = 0;
}

/* Three quarters of the cache: more rows would evict the first ones before they are opened. */
static bool is_long(const struct read_ahead *read_ahead, const struct read_cursor *cursor,
                    const struct read_step *step)
{
    size_t unopened = cursor->listed_bytes / MAX(step->listed, 1) * step->unopened;
    return unopened > read_ahead->source.cache_bytes / 4 * 3;
}

/* Rows serve what the process opens next; keys are less, where the rows would not stay until then.
 * Of partitions rows are read as long as pages hold several of them: then they show the names in as
 * many requests as keys would. */
static enum read_kind choose_kind(const struct read_ahead *read_ahead,
                                  const struct read_cursor *cursor, const struct read_step *step)
{
    bool is_too_long = is_long(read_ahead, cursor, step);
    if (step->directory->kind != DIRECTORY_ENTITIES)
        return is_too_long || cursor->top < TABLE_STORE_PAGE_ROWS ? READ_PARTITIONS : READ_ROWS;
    return is_too_long && step->question.keys_suffice ? READ_KEYS : READ_ROWS;
}

/* By the listing's own reader. enum reach, or -errno. */
static int reach_by_cursor(struct read_ahead *read_ahead, struct caller *caller,
                           struct read_cursor *cursor, enum read_kind kind,
                           const struct question *question, struct bytes position,
                           struct page **ret_page)
{
    const struct clock *clock = read_ahead->source.clock;
    bool is_of_use =
        cursor->kind == kind && clock_now_ms(clock) - cursor->used_ms <= FRESHNESS_KEPT_MS;
    if (!is_of_use)
        row_reader_destroy(TAKE_PTR(cursor->reader));
    cursor->kind = kind;
    struct prefetcher_options options = {.kind = kind,
                                         .table = question->table,
                                         .range = {position, question->range.hi},
                                         .since = question->since};
    int r = cursor->reader
                ? 0
                : row_reader_create(&read_ahead->prefetchers, &options, caller, &cursor->reader);
    if (r < 0)
        return r;
    r = row_reader_reach(cursor->reader, caller, position, false, ret_page);
    cursor->used_ms = clock_now_ms(clock);
    r = caller_forgive(caller, r);
    if (r == REACH_NOT) /* the listing is elsewhere, or something failed */
        row_reader_destroy(TAKE_PTR(cursor->reader));
    return r;
}

/* The listing itself reads at the first miss: most directories are small. With one request at a
 * time nothing is gained ahead of a listing. But a scan of rows continues inside the partition that
 * a page ends in, and over its border; a listing could only query what is after the border. */
static bool gains_by_reader(const struct read_ahead *read_ahead, struct read_cursor *cursor,
                            enum read_kind kind, struct range directory)
{
    bool is_first = cursor->misses++ == 0;
    return !is_first && (read_ahead->source.parallelism > 1 ||
                         (kind == READ_ROWS && !range_is_in_partition(directory)));
}

/* Fetches what the listing lacks at `position`: enum reach, or -errno. */
static int reach_rows(struct read_ahead *read_ahead, struct caller *caller,
                      struct read_cursor *cursor, enum read_kind kind, const struct read_step *step,
                      struct bytes position, struct page **ret_page)
{
    struct range directory = step->directory->range;
    bool traverses;
    int r = kind == READ_ROWS ? reach_by_traversal(read_ahead, caller, directory, &step->question,
                                                   position, ret_page, &traverses)
                              : REACH_NOT;
    if (r != REACH_NOT || !gains_by_reader(read_ahead, cursor, kind, directory))
        return r;
    return reach_by_cursor(read_ahead, caller, cursor, kind, &step->question, position, ret_page);
}

/* The listing takes its next rows from the cache. Its reader continues, too. */
static void follow(struct read_ahead *read_ahead, struct read_cursor *cursor, enum read_kind kind,
                   struct bytes position)
{
    if (!cursor->reader || cursor->kind != kind)
        return;
    row_reader_follow(cursor->reader, position);
    cursor->used_ms = clock_now_ms(read_ahead->source.clock);
}

int read_ahead_rows(struct read_ahead *read_ahead, struct caller *caller,
                    struct read_cursor *cursor, const struct read_step *step, struct seen *ret)
{
    enum read_kind kind = choose_kind(read_ahead, cursor, step);
    struct on_miss on_miss = {.top = cursor->top, .keys_only = kind != READ_ROWS};
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct position until;
    enum knowledge known = overlay_find(read_ahead->source.overlay, &step->question, ret, &until);
    int r = 0;
    if (known != KNOWN_NOT)
        follow(read_ahead, cursor, kind, step->question.range.lo);
    else if (step->directory->table) /* of all tables one answer is enough */
        r = reach_rows(read_ahead, caller, cursor, kind, step, position_bytes(&until), &page);
    return answer(read_ahead, caller, &step->question, &on_miss, known, r, ret);
}

/* Of partitions: fewer rows while pages hold one partition, of which one key is used; more where
 * they are made of many. Of large entities as many as fit. */
void read_cursor_took(struct read_cursor *cursor, const struct directory *directory, size_t entries,
                      const struct seen *seen)
{
    const struct run *run = &seen->run;
    size_t rows = run->end - run->begin;
    cursor->listed_bytes += page_bytes(run->page) / page_rows(run->page) * rows;
    if (directory->kind == DIRECTORY_FLAT && scan_is_of_huge(entries, rows, cursor->top))
        cursor->top = SCAN_HUGE_TOP;
    else if (entries * 4 >= rows)
        cursor->top = MIN(cursor->top * 4, TABLE_STORE_PAGE_ROWS);
    if (seen->fetched_bytes > 0) {
        size_t fitting = ANSWER_BYTES / (seen->fetched_bytes / MAX(seen->fetched_rows, 1) + 1);
        cursor->top = (int)MAX(MIN((size_t)cursor->top, fitting), 1);
    }
}

int read_ahead_names(struct read_ahead *read_ahead, struct caller *caller,
                     const struct directory *directory, struct stamp since, struct prefetcher **ret)
{
    const struct read_ahead_source *source = &read_ahead->source;
    struct rows_first rows_first = {.traversals = read_ahead->traversals,
                                    .prefetchers = &read_ahead->prefetchers,
                                    .cache_bytes = source->cache_bytes,
                                    .fanout = source->fanout};
    struct question question = {
        .table = directory->table, .range = directory->range, .since = since};
    _cleanup_(owned_range_finish) struct owned_range whole;
    owned_range_init(&whole);
    bool traverses = freshness_traverses(source->freshness, caller->process, directory->table,
                                         directory->range, &whole);
    int r = rows_first_read(&rows_first, caller, &question, traverses ? &whole : NULL);
    int fanout = 0;
    if (r == 0)
        r = fanout_of_level(source->fanout, source->overlay, source->fetcher, caller, &question,
                            &fanout);
    if (r < 0)
        return r;
    struct prefetcher_options options = {.kind = READ_LEVEL,
                                         .table = directory->table,
                                         .range = directory->range,
                                         .since = since,
                                         .fanout = fanout,
                                         .is_traversal = traverses};
    return prefetcher_create(&read_ahead->prefetchers, &options, caller, ret);
}

int read_ahead_apart(struct read_ahead *read_ahead, struct caller *caller,
                     const struct read_ahead_apart *apart, struct prefetcher **ret)
{
    size_t keys_bytes = read_ahead->source.cache_bytes / CACHE_PART;
    _cleanup_(buffer_finish) struct buffer lo = {.max = 2 * FILTER_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer hi = {.max = 2 * FILTER_MAX_BYTES};
    struct range bounds = RANGE_ALL;
    int r = apart->filter ? filter_bounds(apart->filter, &lo, &hi, &bounds) : 0;
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    struct prefetcher_options options = {.kind = apart->keys_only ? READ_KEYS : READ_ROWS,
                                         .table = apart->table,
                                         .range = range_meet(apart->range, bounds),
                                         .filter =
                                             apart->filter ? filter_text(apart->filter) : NULL,
                                         .select = apart->select,
                                         .ahead_bytes = apart->keys_only ? keys_bytes : 0,
                                         .is_apart = !apart->is_kept};
    return prefetcher_create(&read_ahead->prefetchers, &options, caller, ret);
}

int read_ahead_borders(struct read_ahead *read_ahead, struct caller *caller, const char *table,
                       struct range range, size_t parts, struct prefetcher **ret)
{
    struct prefetcher_options options = {
        .kind = READ_BORDERS, .table = table, .range = range, .parts = parts, .is_apart = true};
    return prefetcher_create(&read_ahead->prefetchers, &options, caller, ret);
}

void read_ahead_listed(struct read_ahead *read_ahead, const struct caller *caller,
                       const struct directory *directory, struct stamp began)
{
    const struct read_ahead_source *source = &read_ahead->source;
    struct bytes position = directory->range.lo;
    _cleanup_(owned_range_finish) struct owned_range left, whole;
    owned_range_init(&left);
    owned_range_init(&whole);
    if (freshness_listed(source->freshness, caller->process, directory, began, &left))
        range_cache_passed(source->cache, left.table, left.range);
    if (!freshness_traverses(source->freshness, caller->process, directory->table, directory->range,
                             &whole))
        return;
    range_cache_passed(source->cache, directory->table, (struct range){whole.range.lo, position});
    traversals_follow(read_ahead->traversals, caller->process, directory->table, position);
}

void read_ahead_tidy(struct read_ahead *read_ahead)
{
    traversals_end_quiet(read_ahead->traversals);
}

void read_ahead_stats(struct read_ahead *read_ahead, struct read_ahead_stats *ret)
{
    *ret = (struct read_ahead_stats){.hits = read_ahead->hits, .misses = read_ahead->misses};
    request_window_stats(read_ahead->window, &ret->window);
}
