#include "cache/view.h"
#include "cache/account.h"

#include <stdatomic.h>

#define COMMIT_WORKERS 1 /* nothing is written yet */
#define AHEAD_PART     8 /* of the cache: the most that is read ahead of one who opens */
#define WINDOW_PART    2 /* that a scan runs ahead: with less its splits go badly */
#define THROUGH_PART   4 /* a directory's that is read whole, where its rows are wanted next */

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
    const int shares[WORKER_SHARES] = {
        [WORKER_SCANS] = options->parallelism, [WORKER_COMMITS] = COMMIT_WORKERS};
    r = reader_create(&source, &view->reader);
    if (r == 0)
        r = overlay_create(view->cache, view->reader, &view->overlay);
    if (r == 0)
        r = process_history_create(options->ttl_ms, options->cache_bytes / AHEAD_PART,
                                   &view->history);
    if (r == 0)
        r = request_window_create(options->parallelism, &view->window);
    if (r == 0)
        r = worker_pool_create(shares, &view->workers);
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
                        struct bytes position)
{
    int64_t now_ms = clock_now_ms(view->clock);
    bool is_served;
    int64_t not_before_ms = process_history_not_before(view->history, caller->process, table,
                                                       position, now_ms, &is_served);
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

/* The largest range that the caller's process is walking through here, if it is. */
static bool find_walk(struct view *view, const struct caller *caller, const char *table,
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
    return find_walk(view, caller, question->table, directory, &whole)
               ? walks_reach(view->walks, caller, &whole, position, question->since, ret_page)
               : 0;
}

int view_walk(struct view *view, struct caller *caller, struct range directory,
              const struct question *question, struct page **ret_page)
{
    _cleanup_(buffer_finish) struct buffer until;
    buffer_init(&until, POSITION_MAX_BYTES);
    int r = overlay_misses(view->overlay, question, &until);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    return r == 0 ? 0
                  : view_walk_to(view, caller, directory, question, buffer_bytes(&until), ret_page);
}

void view_walk_comes_to(struct view *view, const struct caller *caller,
                        const struct directory *directory)
{
    struct bytes position = directory->range.lo;
    _cleanup_(region_finish) struct region whole;
    region_init(&whole);
    if (!find_walk(view, caller, directory->table, directory->range, &whole))
        return;
    range_cache_passed(view->cache, directory->table, (struct range){whole.range.lo, position});
    walks_follow(view->walks, caller->process, directory->table, position);
}

/* Of a page that was read on from `position`: how often another partition begins in it. */
static size_t count_borders(const struct page *page, struct bytes position)
{
    size_t partitions = 0, rows = page_rows(page);
    for (size_t row = 0; row < rows; row = page_next_partition(page, row, rows))
        partitions++;
    bool is_border = position_has_row(position) && rows > 0 &&
                     !bytes_equal(position_partition_key(page_position(page, 0)),
                                  position_partition_key(position));
    return MAX(partitions, 1) - 1 + is_border;
}

/* What the range misses first, `until`, and what the walk brings there: 1, and the page (NULL: the
 * end), 0 where nothing is missed, or it is not on the walk's way, or -errno. */
static int read_missing(struct view *view, struct caller *caller, const struct region *whole,
                        const struct question *question, struct buffer *until,
                        struct page **ret_page)
{
    int r = overlay_lacks(view->overlay, question, until);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    return r == 0 ? 0
                  : walks_reach(view->walks, caller, whole, buffer_bytes(until), question->since,
                                ret_page);
}

/* Who walks visits what is below next. */
static int read_part(struct view *view, struct caller *caller, const struct region *whole,
                     const struct question *question, struct buffer *until)
{
    size_t bytes = 0;
    int r;
    do {
        _cleanup_(page_unrefp) struct page *page = NULL;
        r = read_missing(view, caller, whole, question, until, &page);
        bytes += page ? page_bytes(page) : 0;
    } while (r > 0 && bytes < view->cache_bytes / THROUGH_PART);
    return MIN(r, 0);
}

/* To jump from key to key would take as many requests. */
static int read_while_dense(struct view *view, struct caller *caller, const struct region *whole,
                            const struct question *question, struct buffer *until)
{
    size_t bytes = 0, partitions = 1, borders;
    int r = overlay_lacks(view->overlay, question, until);
    if (r <= 0 || !bytes_equal(buffer_bytes(until), question->range.lo))
        return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
    do {
        _cleanup_(page_unrefp) struct page *page = NULL;
        r = read_missing(view, caller, whole, question, until, &page);
        borders = page ? count_borders(page, buffer_bytes(until)) : 0;
        partitions += borders;
        bytes += page ? page_bytes(page) : 0;
    } while (r > 0 && borders > 0 && partitions < (size_t)view->fanout &&
             bytes < view_names_only_bytes(view));
    return MIN(r, 0);
}

int view_walk_through(struct view *view, struct caller *caller, const struct question *question)
{
    _cleanup_(buffer_finish) struct buffer until;
    _cleanup_(region_finish) struct region whole;
    buffer_init(&until, POSITION_MAX_BYTES);
    region_init(&whole);
    if (find_walk(view, caller, question->table, question->range, &whole))
        return read_part(view, caller, &whole, question, &until);
    if (caller->process == 0 || !region_set(&whole, question->table, question->range))
        return 0; /* nobody's walk could begin here */
    return read_while_dense(view, caller, &whole, question, &until);
}
