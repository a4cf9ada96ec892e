#include "cache/level_rows.h"

#define WALKED_PART 4 /* of the cache */
/* Some pages: what is ahead when it turns out not to be worth it may be for nothing, and waits. */
#define DENSE_WINDOW_BYTES ((size_t)4 << 20)
#define SHORT_PAGES        4 /* within one partition, beside one a partition */

/* By the walk that the process is on. */
static int read_walked(struct view *view, struct caller *caller, const struct question *question,
                       const struct region *whole)
{
    struct question rest = *question;
    size_t bytes = 0;
    int r;
    _cleanup_(buffer_finish) struct buffer until, next;
    buffer_init(&until, POSITION_MAX_BYTES);
    buffer_init(&next, POSITION_MAX_BYTES);
    do {
        _cleanup_(page_unrefp) struct page *page = NULL;
        r = overlay_lacks(view->overlay, &rest, &next);
        if (r < 0)
            return call_fail(&caller->call, r, "out of memory");
        struct buffer passed = until;
        until = next;
        next = passed;
        rest.range.lo = buffer_bytes(&until);
        if (r > 0)
            r = walks_reach(view->walks, caller, whole, rest.range.lo, rest.since, &page);
        bytes += page ? page_bytes(page) : 0;
    } while (r == REACH_IN_CACHE && bytes < view->cache_bytes / WALKED_PART);
    return MIN(r, 0);
}

/* What is known of it was asked by others: their names were sought. */
static bool is_new(struct view *view, const struct question *question)
{
    _cleanup_(buffer_finish) struct buffer until;
    buffer_init(&until, POSITION_MAX_BYTES);
    return overlay_misses(view->overlay, question, &until) > 0 &&
           bytes_equal(buffer_bytes(&until), question->range.lo);
}

static int open_stream(struct view *view, const struct caller *caller,
                       const struct question *question, struct stream **ret)
{
    size_t share = stream_window_bytes(&view->streams);
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = MIN(share, DENSE_WINDOW_BYTES)};
    struct stream_options options = {.table = question->table, .since = question->since};
    int r = scan_rows_create(question->range, &limits, &options.scan);
    return r < 0 ? r : stream_open(&view->streams, &options, caller, ret);
}

struct dense {
    struct buffer last; /* position of the last row that was seen; empty: none was */
    size_t partitions, pages, bytes;
    size_t rows; /* of the last partition */
};

/* Counts the partitions that begin in the run, and the rows of the last. */
static void count_partitions(struct dense *dense, const struct run *run)
{
    struct bytes last = buffer_bytes(&dense->last);
    struct bytes key = position_partition_key(page_position(run->page, run->begin));
    size_t row = run->begin;
    if (last.size > 0 && bytes_equal(key, position_partition_key(last))) {
        row = page_next_partition(run->page, row, run->end);
        dense->rows += row - run->begin;
    }
    while (row < run->end) {
        size_t next = page_next_partition(run->page, row, run->end);
        dense->rows = next - row;
        dense->partitions++;
        row = next;
    }
}

/* Is one page more worth it? Not where a partition takes a page, or many pages do not cross a
 * border; the ends of some pieces may be as short as they like. 1, 0 or -ENOMEM. */
static int count_page(struct dense *dense, const struct view *view, const struct run *run)
{
    count_partitions(dense, run);
    dense->pages++;
    dense->bytes += page_bytes(run->page);
    buffer_clear(&dense->last);
    int r = buffer_append(&dense->last, page_position(run->page, run->end - 1));
    return r < 0 ? r
                 : dense->rows < TABLE_STORE_PAGE_ROWS &&
                       dense->pages <= dense->partitions + SHORT_PAGES &&
                       dense->partitions <= (size_t)view->fanout &&
                       dense->bytes < view_names_only_bytes(view);
}

/* Until more partitions than `fanout` are counted, if the next pages hold as many as those had. */
static size_t pages_to_count(const struct dense *dense, const struct view *view)
{
    return ((size_t)view->fanout - dense->partitions) * dense->pages / dense->partitions + 1;
}

/* 1: there may be rows behind those that were seen; 0: not; or -errno. */
static int read_pages(const struct view *view, struct caller *caller, struct stream *stream,
                      struct dense *dense)
{
    struct scan_item item = {0};
    int r, goes_on = 1;
    while (goes_on > 0 && (r = stream_next(stream, caller, true, &item)) > 0) {
        goes_on = count_page(dense, view, &item.rows);
        run_finish(&item.rows);
        if (goes_on > 0)
            stream_want(stream, pages_to_count(dense, view));
    }
    return goes_on < 0 ? call_fail(&caller->call, goes_on, "out of memory") : r;
}

/* What is ahead, or on its way, is what a walk reads next. */
static void leave_to_walk(struct view *view, const struct caller *caller,
                          const struct question *question, const struct dense *dense,
                          struct stream *stream)
{
    _cleanup_(buffer_finish) struct buffer behind;
    _cleanup_(region_finish) struct region rest;
    region_init(&rest);
    buffer_init(&behind, POSITION_MAX_BYTES);
    int r = position_append_behind(&behind, buffer_bytes(&dense->last));
    struct range range = {buffer_bytes(&behind), question->range.hi};
    if (r == 0 && region_set(&rest, question->table, range))
        walks_adopt(view->walks, caller->process, &rest, stream);
    else
        stream_unref(stream);
}

static int read_dense(struct view *view, struct caller *caller, const struct question *question)
{
    _cleanup_(stream_unrefp) struct stream *stream = NULL;
    struct dense dense = {0};
    buffer_init(&dense.last, POSITION_MAX_BYTES);
    int r = open_stream(view, caller, question, &stream);
    if (r < 0)
        (void)call_fail(&caller->call, r, "out of memory");
    else
        r = read_pages(view, caller, stream, &dense);
    if (r > 0)
        leave_to_walk(view, caller, question, &dense, TAKE_PTR(stream));
    buffer_finish(&dense.last);
    return caller_forgive(caller, MIN(r, 0));
}

int level_rows_read(struct view *view, struct caller *caller, const struct question *question)
{
    _cleanup_(region_finish) struct region whole;
    region_init(&whole);
    if (view_find_walk(view, caller, question->table, question->range, &whole))
        return read_walked(view, caller, question, &whole);
    bool is_somebody = caller->process != 0; /* else nobody comes back for the rows */
    return is_somebody && is_new(view, question) ? read_dense(view, caller, question) : 0;
}
