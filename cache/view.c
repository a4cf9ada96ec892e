#include "cache/view.h"
#include "cache/account.h"

#include <stdatomic.h>

#define AHEAD_PART  8 /* of the cache: the most that is read ahead of one who opens */
#define WINDOW_PART 2 /* that a scan runs ahead: with less its splits go badly */

int view_init(struct view *view, struct table_store *store, const struct clock *clock,
              const struct account_options *options)
{
    view->clock = clock;
    view->ttl_ms = options->ttl_ms;
    view->cache_bytes = options->cache_bytes;
    view->fanout = options->fanout;
    view->parallelism = options->parallelism;
    atomic_init(&view->numbers, 2);
    int r = range_cache_create(options->cache_bytes, &view->cache);
    if (r < 0)
        return r;
    struct reader_source source = {.store = store,
                                   .cache = view->cache,
                                   .clock = clock,
                                   .orders = &view->orders,
                                   .ttl_ms = options->ttl_ms};
    r = reader_create(&source, &view->reader);
    if (r == 0)
        r = overlay_create(view->cache, view->reader, &view->overlay);
    if (r == 0)
        r = process_history_create(options->ttl_ms, options->cache_bytes / AHEAD_PART,
                                   &view->history);
    if (r == 0)
        r = request_window_create(options->parallelism, &view->window);
    if (r == 0)
        r = worker_pool_create(options->parallelism, &view->workers);
    if (r == 0)
        r = level_shelf_create(&view->shelf);
    if (r < 0)
        return r;
    view->streams = (struct stream_source){.reader = view->reader,
                                           .overlay = view->overlay,
                                           .workers = view->workers,
                                           .window = view->window,
                                           .clock = clock,
                                           .kept_ms = MAX(PROCESS_HISTORY_KEPT_MS, options->ttl_ms),
                                           .window_bytes = options->cache_bytes / WINDOW_PART,
                                           .live = &view->live_streams,
                                           .is_closing = &view->is_closing};
    return walks_create(&view->streams, &view->walks);
}

void view_finish(struct view *view)
{
    atomic_store(&view->is_closing, true);
    walks_destroy(view->walks);
    level_shelf_destroy(view->shelf);
    worker_pool_destroy(view->workers);
    request_window_destroy(view->window);
    process_history_destroy(view->history);
    overlay_destroy(view->overlay);
    reader_destroy(view->reader);
    range_cache_destroy(view->cache);
}

/* Three quarters: more would drive out its own begin before that is opened. */
size_t view_names_only_bytes(const struct view *view)
{
    return view->cache_bytes / 4 * 3;
}

/* Of now or later, unless a listing decides: from now on. That is what ttl 0 means. */
static struct stamp wanted(struct view *view, int64_t now_ms, int64_t not_before_ms, bool is_served)
{
    return is_served || not_before_ms < now_ms ? stamp_since(not_before_ms)
                                               : stamp_from_now(&view->orders, now_ms);
}

struct stamp view_since(struct view *view, const struct caller *caller, const char *table,
                        struct bytes position, bool *ret_is_served)
{
    int64_t now_ms = clock_now_ms(view->clock);
    bool is_served;
    int64_t not_before_ms = process_history_not_before(view->history, caller->process, table,
                                                       position, now_ms, &is_served);
    if (ret_is_served)
        *ret_is_served = is_served;
    return wanted(view, now_ms, not_before_ms, is_served);
}

struct stamp view_listing_begins(struct view *view, const struct caller *caller,
                                 const struct directory *directory)
{
    int64_t now_ms = clock_now_ms(view->clock);
    bool is_served;
    walks_end_quiet(view->walks);
    int64_t not_before_ms = process_history_listing_not_before(view->history, caller->process,
                                                               directory, now_ms, &is_served);
    return wanted(view, now_ms, not_before_ms, is_served);
}

struct stamp view_listing_since(const struct view *view, struct stamp began)
{
    int64_t oldest_ms = clock_now_ms(view->clock) - view->streams.kept_ms;
    began.asked_ms = MAX(began.asked_ms, oldest_ms);
    return began;
}

void view_set_valid(const struct view *view, struct caller *caller, int64_t asked_ms)
{
    caller->valid_ms = MAX(asked_ms + view->ttl_ms - clock_now_ms(view->clock), 0);
}

int64_t view_hold_for_tools(const struct view *view, int64_t valid_ms)
{
    return MAX(valid_ms, MIN(PROCESS_HISTORY_REPEAT_MS, view->ttl_ms));
}

bool view_find_walk(struct view *view, const struct caller *caller, const char *table,
                    struct range directory, struct region *ret_whole)
{
    return table && process_history_walks(view->history, caller->process, table, directory,
                                          clock_now_ms(view->clock), ret_whole);
}

int view_walk_to(struct view *view, struct caller *caller, struct range directory,
                 const struct question *question, struct bytes position, struct page **ret_page)
{
    _cleanup_(region_finish) struct region whole;
    region_init(&whole);
    return view_find_walk(view, caller, question->table, directory, &whole)
               ? walks_reach(view->walks, caller, &whole, position, question->since, ret_page)
               : REACH_NOT;
}

int view_walk(struct view *view, struct caller *caller, struct range directory,
              const struct question *question, struct page **ret_page)
{
    _cleanup_(buffer_finish) struct buffer until;
    buffer_init(&until, POSITION_MAX_BYTES);
    int r = overlay_misses(view->overlay, question, &until);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    return r == 0 ? REACH_NOT
                  : view_walk_to(view, caller, directory, question, buffer_bytes(&until), ret_page);
}

void view_count(struct view *view, int reached, int r, const struct seen *seen)
{
    bool was_known = reached == REACH_NOT && r >= 0 && !seen->was_fetched;
    atomic_fetch_add(was_known ? &view->hits : &view->misses, 1);
}

void view_walk_comes_to(struct view *view, const struct caller *caller,
                        const struct directory *directory)
{
    struct bytes position = directory->range.lo;
    _cleanup_(region_finish) struct region whole;
    region_init(&whole);
    if (!view_find_walk(view, caller, directory->table, directory->range, &whole))
        return;
    range_cache_passed(view->cache, directory->table, (struct range){whole.range.lo, position});
    walks_follow(view->walks, caller->process, directory->table, position);
}
