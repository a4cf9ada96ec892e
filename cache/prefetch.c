#include "cache/prefetch.h"

void prefetch_init(struct prefetch *prefetch, struct view *view)
{
    *prefetch = (struct prefetch){.view = view};
}

void prefetch_reset(struct prefetch *prefetch)
{
    stream_unref(TAKE_PTR(prefetch->stream));
    prefetch->misses = 0;
}

static int create_scan(const struct prefetch *prefetch, struct range range, struct scan **ret)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = stream_window_bytes(&prefetch->view->streams),
                                 .keys_only = prefetch->kind != PREFETCH_ROWS};
    return prefetch->kind == PREFETCH_PARTITIONS ? scan_partitions_create(range, &limits, ret)
                                                 : scan_rows_create(range, &limits, ret);
}

static int open_stream(struct prefetch *prefetch, const struct caller *caller,
                       const struct question *question, struct bytes position)
{
    struct stream_options options = {.table = question->table,
                                     .since = question->since,
                                     .is_of_keys = prefetch->kind == PREFETCH_PARTITIONS};
    int r = create_scan(prefetch, (struct range){position, question->range.hi}, &options.scan);
    return r < 0 ? r : stream_open(&prefetch->view->streams, &options, caller, &prefetch->stream);
}

/* A scan of another kind, or one that nobody has used for long, is of no use. */
static bool is_of_use(const struct prefetch *prefetch, enum prefetch_kind kind)
{
    return prefetch->kind == kind &&
           clock_now_ms(prefetch->view->clock) - prefetch->reached_ms <= STREAM_KEPT_MS;
}

static int reach(struct prefetch *prefetch, struct caller *caller, const struct question *question,
                 struct bytes position, struct page **ret_page)
{
    int r = prefetch->stream ? 0 : open_stream(prefetch, caller, question, position);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    r = stream_reach(prefetch->stream, caller, position, ret_page);
    prefetch->reached_ms = clock_now_ms(prefetch->view->clock);
    r = caller_forgive(caller, r);
    if (r == REACH_NOT) /* the reader is elsewhere, or something failed */
        stream_unref(TAKE_PTR(prefetch->stream));
    return r;
}

/* One request at a time: nothing is gained ahead of the reader; but a scan of rows goes on inside a
 * partition that a page ends in, and over its border, where the reader can only ask for what is
 * behind that. */
static bool gains_by_scan(const struct prefetch *prefetch, enum prefetch_kind kind,
                          struct range directory)
{
    return prefetch->view->parallelism > 1 ||
           (kind == PREFETCH_ROWS && !range_is_in_partition(directory));
}

int prefetch_reach(struct prefetch *prefetch, struct caller *caller, enum prefetch_kind kind,
                   struct range directory, const struct question *question, struct page **ret_page)
{
    struct view *view = prefetch->view;
    _cleanup_(buffer_finish) struct buffer until;
    buffer_init(&until, POSITION_MAX_BYTES);
    int r = kind == PREFETCH_NONE ? 0 : overlay_misses(view->overlay, question, &until);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    if (r == 0 && prefetch->stream && prefetch->kind == kind) {
        stream_follow(prefetch->stream, question->range.lo);
        prefetch->reached_ms = clock_now_ms(view->clock);
    }
    if (r == 0)
        return REACH_NOT;
    r = kind == PREFETCH_ROWS
            ? view_walk_to(view, caller, directory, question, buffer_bytes(&until), ret_page)
            : REACH_NOT;
    if (r != REACH_NOT)
        return r;
    bool is_first = prefetch->misses++ == 0; /* left to who lists: most directories are small */
    if (is_first || !gains_by_scan(prefetch, kind, directory))
        return REACH_NOT;
    if (!is_of_use(prefetch, kind))
        stream_unref(TAKE_PTR(prefetch->stream));
    prefetch->kind = kind;
    return reach(prefetch, caller, question, buffer_bytes(&until), ret_page);
}
