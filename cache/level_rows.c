#include "cache/level_rows.h"

#define WALKED_PART 4 /* of the cache */
/* Some pages: what is ahead when it turns out not to be worth it is for nothing. */
#define DENSE_WINDOW_BYTES ((size_t)4 << 20)

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

/* How often another partition than that of the row before begins in the run. */
static size_t count_borders(const struct run *run, struct bytes before)
{
    size_t partitions = 0;
    for (size_t row = run->begin; row < run->end;
         row = page_next_partition(run->page, row, run->end))
        partitions++;
    struct bytes first = position_partition_key(page_position(run->page, run->begin));
    return partitions - bytes_equal(first, before);
}

struct dense {
    struct buffer last; /* PartitionKey that was seen */
    size_t partitions, pages, bytes;
};

/* Is one page more worth it? 1, 0 or -ENOMEM. */
static int count_page(struct dense *dense, const struct view *view, const struct run *run)
{
    bool is_first = dense->partitions == 0;
    size_t begins = count_borders(run, buffer_bytes(&dense->last));
    dense->partitions += begins;
    dense->pages++;
    dense->bytes += page_bytes(run->page);
    buffer_clear(&dense->last);
    struct bytes last = position_partition_key(page_position(run->page, run->end - 1));
    int r = buffer_append(&dense->last, last);
    return r < 0 ? r
                 : begins > is_first && dense->partitions <= (size_t)view->fanout &&
                       dense->bytes < view_names_only_bytes(view);
}

/* Until more partitions than `fanout` are counted, if the next pages hold as many as those had. */
static size_t pages_to_count(const struct dense *dense, const struct view *view)
{
    return ((size_t)view->fanout - dense->partitions) * dense->pages / dense->partitions + 1;
}

/* Reads one page more: 1 where the next is worth it, too; 0, or -errno. */
static int read_page(struct dense *dense, const struct view *view, struct stream *stream,
                     struct caller *caller)
{
    struct scan_item item = {0};
    int r = stream_next(stream, caller, true, &item);
    if (r > 0 && (r = count_page(dense, view, &item.rows)) < 0)
        (void)call_fail(&caller->call, r, "out of memory");
    if (r > 0)
        stream_want(stream, pages_to_count(dense, view));
    run_finish(&item.rows);
    return r;
}

static int read_dense(struct view *view, struct caller *caller, const struct question *question)
{
    _cleanup_(stream_unrefp) struct stream *stream = NULL;
    struct dense dense = {0};
    buffer_init(&dense.last, POSITION_MAX_BYTES);
    (void)buffer_append_char(&dense.last, '\0'); /* no key is like that */
    int r = open_stream(view, caller, question, &stream);
    if (r < 0)
        (void)call_fail(&caller->call, r, "out of memory");
    for (bool goes_on = r == 0; goes_on; goes_on = r > 0)
        r = read_page(&dense, view, stream, caller);
    buffer_finish(&dense.last);
    return stream_forgive(caller, MIN(r, 0));
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
