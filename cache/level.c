#include "cache/level.h"
#include "cache/level_rows.h"

struct level {
    struct view *view;
    const struct directory *directory;
    struct stamp began;
    struct stream *stream; /* NULL: not asked yet, or not any more */
    int64_t used_ms;       /* the stream */
    int64_t asked_ms;
    struct level_names *names; /* NULL: nothing is known yet; another's when it is complete */
    bool is_complete;
};

int level_create(struct view *view, const struct directory *directory, struct level **ret)
{
    struct level *level = calloc(1, sizeof(*level));
    if (!level)
        return -ENOMEM;
    level->view = view;
    level->directory = directory;
    *ret = level;
    return 0;
}

void level_destroy(struct level *level)
{
    if (!level)
        return;
    stream_unref(level->stream);
    level_names_unref(level->names);
    free(level);
}

void level_begin_anew(struct level *level, struct stamp began)
{
    stream_unref(TAKE_PTR(level->stream));
    level_names_unref(TAKE_PTR(level->names));
    level->began = began;
    level->asked_ms = INT64_MAX;
    level->is_complete = false;
}

/* Where rows tell the names as well as keys would, they are read first. */
static int open_stream(struct level *level, struct caller *caller)
{
    struct view *view = level->view;
    const struct directory *directory = level->directory;
    struct question question = {.table = directory->table,
                                .range = directory->range,
                                .since = view_listing_since(view, level->began)};
    int r = level_rows_read(view, caller, &question);
    if (r < 0)
        return r;
    struct scan_limits limits = {
        .page_rows = TABLE_STORE_PAGE_ROWS, .fanout = view->fanout, .keys_only = true};
    struct stream_options options = {.table = directory->table,
                                     .since = view_listing_since(view, level->began),
                                     .is_of_keys = true,
                                     .is_eager = true};
    r = scan_level_create(directory->range.lo, &limits, &options.scan);
    if (r == 0)
        r = stream_open(&view->streams, &options, caller, &level->stream);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    level->used_ms = clock_now_ms(view->clock);
    return 0;
}

/* The last name that is known; false: none is. */
static bool last_name(const struct level *level, struct level_name *ret)
{
    size_t count = level_names_count(level->names);
    if (count > 0)
        *ret = level_names_at(level->names, count - 1);
    return count > 0;
}

/* What another stream told is not told again. */
static bool is_told(const struct level *level, const struct scan_item *item)
{
    struct level_name last;
    return last_name(level, &last) && (bytes_compare(item->key, last.key) <= 0 ||
                                       (last.is_prefix && bytes_start_with(item->key, last.key)));
}

/* Another stream told a part of it, before the directory grew: so it can be neither told nor not.
 */
static bool is_torn(const struct level *level, const struct scan_item *item)
{
    struct level_name last;
    if (item->kind != SCAN_PREFIX || !last_name(level, &last))
        return false;
    bool is_same = last.is_prefix && bytes_equal(item->key, last.key);
    return !is_same && bytes_start_with(last.key, item->key);
}

static int keep(struct level *level, struct caller *caller, const struct scan_item *item)
{
    struct level_name name = {item->kind == SCAN_PREFIX, item->key};
    if (is_torn(level, item))
        return call_fail(&caller->call, -ESTALE, "the directory has changed while it was listed");
    if (!is_told(level, item) && level_names_append(level->names, name) < 0)
        return call_fail(&caller->call, -ENOMEM, "no memory for names");
    return 1;
}

static void complete(struct level *level)
{
    struct stamp asked = {level->asked_ms, level->began.order};
    level->is_complete = true;
    stream_unref(TAKE_PTR(level->stream));
    level_shelf_put(level->view->shelf, level->directory, asked, level->names);
}

/* One name more, if there is one. What could not be kept is to be taken again. */
static int take(struct level *level, struct caller *caller, bool may_wait)
{
    int64_t now_ms = clock_now_ms(level->view->clock);
    if (level->stream && now_ms - level->used_ms > STREAM_KEPT_MS) /* a slow reader */
        stream_unref(TAKE_PTR(level->stream));
    if (!level->stream && !may_wait)
        return -EAGAIN;
    int r = level->stream ? 0 : open_stream(level, caller);
    if (r < 0)
        return r;
    struct scan_item item;
    r = stream_next(level->stream, caller, may_wait, &item);
    if (r == -EAGAIN)
        return r;
    level->asked_ms = MIN(level->asked_ms, stream_asked_ms(level->stream));
    level->used_ms = clock_now_ms(level->view->clock); /* however long it took */
    if (r == 0)
        complete(level);
    if (r != 1)
        return r; /* what failed is asked again, and nothing else */
    r = keep(level, caller, &item);
    if (r < 0)
        stream_unref(TAKE_PTR(level->stream));
    return r;
}

/* Names that somebody listed already, or none yet. */
static int begin(struct level *level, struct caller *caller)
{
    struct stamp since = view_listing_since(level->view, level->began);
    level->names = level_shelf_find(level->view->shelf, level->directory, since, &level->asked_ms);
    level->is_complete = level->names != NULL;
    if (level->names || level_names_create(&level->names) == 0)
        return 0;
    return call_fail(&caller->call, -ENOMEM, "no memory for names");
}

int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret)
{
    int r = level->names ? 0 : begin(level, caller);
    if (r < 0)
        return r;
    while (index >= level_names_count(level->names)) {
        r = level->is_complete ? 0 : take(level, caller, may_wait);
        if (r <= 0)
            return r;
    }
    *ret = level_names_at(level->names, index);
    return 1;
}

int64_t level_asked_ms(const struct level *level)
{
    return level->asked_ms;
}
