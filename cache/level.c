#include "cache/level.h"

#define NAMES_MAX_BYTES ((size_t)256 << 20)

struct name { /* of the key at `start`, up to the next one's */
    size_t start;
    bool is_prefix;
};

struct level {
    struct view *view;
    const struct directory *directory;
    struct stamp began;
    struct stream *stream; /* NULL: not asked yet, or not any more */
    int64_t used_ms;       /* the stream */
    int64_t asked_ms;
    bool is_complete;
    struct buffer keys, names; /* names: struct name */
};

int level_create(struct view *view, const struct directory *directory, struct level **ret)
{
    struct level *level = calloc(1, sizeof(*level));
    if (!level)
        return -ENOMEM;
    level->view = view;
    level->directory = directory;
    buffer_init(&level->keys, NAMES_MAX_BYTES);
    buffer_init(&level->names, NAMES_MAX_BYTES);
    *ret = level;
    return 0;
}

void level_destroy(struct level *level)
{
    if (!level)
        return;
    stream_unref(level->stream);
    buffer_finish(&level->keys);
    buffer_finish(&level->names);
    free(level);
}

void level_begin_anew(struct level *level, struct stamp began)
{
    stream_unref(TAKE_PTR(level->stream));
    buffer_clear(&level->keys);
    buffer_clear(&level->names);
    level->began = began;
    level->asked_ms = INT64_MAX;
    level->is_complete = false;
}

static size_t count(const struct level *level)
{
    return level->names.size / sizeof(struct name);
}

static struct name name_at(const struct level *level, size_t i)
{
    struct name name;
    memcpy(&name, level->names.data + i * sizeof(name), sizeof(name));
    return name;
}

static struct bytes key_at(const struct level *level, size_t i)
{
    size_t start = name_at(level, i).start;
    size_t end = i + 1 < count(level) ? name_at(level, i + 1).start : level->keys.size;
    return bytes_first(bytes_skip(buffer_bytes(&level->keys), start), end - start);
}

/* A process on a walk reads the rows of a small directory next anyway: so they are read first, and
 * tell the names. */
static int open_stream(struct level *level, struct caller *caller)
{
    struct view *view = level->view;
    const struct directory *directory = level->directory;
    struct question question = {.table = directory->table,
                                .range = directory->range,
                                .since = view_listing_since(view, level->began)};
    int r = view_walk_through(view, caller, &question);
    if (r < 0)
        return r;
    struct scan_limits limits = {
        .page_rows = TABLE_STORE_PAGE_ROWS, .fanout = view->fanout, .keys_only = true};
    _cleanup_(scan_destroyp) struct scan *scan = NULL;
    r = scan_level_create(directory->range.lo, &limits, &scan);
    struct stream_options options = {.table = directory->table,
                                     .scan = scan,
                                     .since = view_listing_since(view, level->began),
                                     .is_of_keys = true,
                                     .is_eager = true};
    if (r == 0)
        r = stream_open(&view->streams, &options, caller, &level->stream);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    TAKE_PTR(scan);
    level->used_ms = clock_now_ms(view->clock);
    return 0;
}

/* What another stream told is not told again. */
static bool is_told(const struct level *level, const struct scan_item *item)
{
    if (count(level) == 0)
        return false;
    size_t last = count(level) - 1;
    return bytes_compare(item->key, key_at(level, last)) <= 0 ||
           (name_at(level, last).is_prefix && bytes_start_with(item->key, key_at(level, last)));
}

/* Another stream told a part of it, before the directory grew: so it can be neither told nor not.
 */
static bool is_torn(const struct level *level, const struct scan_item *item)
{
    if (count(level) == 0 || item->kind != SCAN_PREFIX)
        return false;
    size_t last = count(level) - 1;
    bool is_same = name_at(level, last).is_prefix && bytes_equal(item->key, key_at(level, last));
    return !is_same && bytes_start_with(key_at(level, last), item->key);
}

static int add(struct level *level, const struct scan_item *item)
{
    struct name name = {.start = level->keys.size, .is_prefix = item->kind == SCAN_PREFIX};
    int r = buffer_append(&level->keys, item->key);
    if (r < 0)
        return r;
    r = buffer_append(&level->names, (struct bytes){(const char *)&name, sizeof(name)});
    if (r < 0)
        level->keys.size = name.start;
    return r;
}

static int keep(struct level *level, struct caller *caller, const struct scan_item *item)
{
    if (is_torn(level, item))
        return call_fail(&caller->call, -ESTALE, "the directory has changed while it was listed");
    if (!is_told(level, item) && add(level, item) < 0)
        return call_fail(&caller->call, -ENOMEM, "no memory for names");
    return 1;
}

/* One name more, if there is one. What could not be kept is to be taken again. */
static int take(struct level *level, struct caller *caller, bool may_wait)
{
    int64_t now_ms = clock_now_ms(level->view->clock);
    if (level->stream && now_ms - level->used_ms > PROCESS_HISTORY_KEPT_MS) /* a slow reader */
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
        level->is_complete = true;
    if (r == 1)
        r = keep(level, caller, &item);
    if (r < 0)
        stream_unref(TAKE_PTR(level->stream));
    return r;
}

int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret)
{
    while (index >= count(level)) {
        int r = level->is_complete ? 0 : take(level, caller, may_wait);
        if (r <= 0)
            return r;
    }
    struct name name = name_at(level, index);
    *ret = (struct level_name){.is_prefix = name.is_prefix, .key = key_at(level, index)};
    return 1;
}

int64_t level_asked_ms(const struct level *level)
{
    return level->asked_ms;
}
