#include "cache/listing.h"
#include "cache/bookmarks.h"
#include "cache/level.h"
#include "cache/read/read_ahead.h"

#include <assert.h>

#define STARTS_MAX_BYTES ((size_t)64 << 20)
#define BOOKMARK_SPACING 1000
#define TELL_EVERY_MS    1000       /* that the process still reads here */
#define NOWHERE          UINT64_MAX /* first of a window that lost its place */

/* | state    | the window                      | left by                               |
 * | NEW      | at no place                     | the first call                        |
 * | BEGUN    | at the begin, without entries   | the first entry that is told: GOES_ON |
 * | GOES_ON  | anywhere, or lost its place     | the sure end: COMPLETE; cookie 0      |
 * | COMPLETE | nothing is behind it            | going back: GOES_ON; cookie 0         |
 * A listing of a level uses no window; its level tells the end. */
enum state { NEW, BEGUN, GOES_ON, COMPLETE };

/* The entries that one run of rows gave, cookies first + 1 to first + n: each row, or each row that
 * begins a partition. */
struct window {
    uint64_t first;
    size_t n;
    struct run run;
    struct buffer starts; /* of partitions: n rows, size_t */
    int64_t asked_ms;
    struct buffer begin, end; /* positions: where it was asked from, and what is behind it */
};

struct listing {
    const struct listing_source *source;
    struct directory directory; /* views of the next three */
    char *table;
    struct buffer lo, hi;
    struct level *level; /* of DIRECTORY_AUTO: has the names; what is below is not used */
    enum state state;
    struct stamp began;
    int64_t told_ms; /* when the process's reading here was noted last */
    struct window window;
    struct read_cursor cursor;
    struct bookmarks bookmarks;
};

static void window_init(struct window *window)
{
    buffer_init(&window->starts, STARTS_MAX_BYTES);
    buffer_init(&window->begin, POSITION_MAX_BYTES);
    buffer_init(&window->end, POSITION_MAX_BYTES);
}

static void window_finish(struct window *window)
{
    run_finish(&window->run);
    buffer_finish(&window->starts);
    buffer_finish(&window->begin);
    buffer_finish(&window->end);
}

/* The window before the entry behind `cookie`, with nothing in it. */
static int window_stand(struct window *window, uint64_t cookie, struct bytes position)
{
    run_finish(&window->run);
    buffer_clear(&window->starts);
    window->first = cookie;
    window->n = 0;
    buffer_clear(&window->begin);
    buffer_clear(&window->end);
    (void)buffer_append(&window->begin, position);
    int r = buffer_append(&window->end, position);
    return MIN(window->begin.error, r);
}

/* The row of the window's entry i. */
static size_t window_row(const struct window *window, size_t i)
{
    size_t row = window->run.begin + i;
    if (window->starts.size > 0)
        memcpy(&row, window->starts.data + i * sizeof(row), sizeof(row));
    return row;
}

static void check(const struct listing *listing)
{
    const struct window *window = &listing->window;
    assert(window->n == 0 || window->run.page);
    assert(!(listing->state == NEW && window->n > 0));
    assert(!(listing->level && window->n > 0));
}

int listing_create(const struct listing_source *source, const struct directory *directory,
                   struct listing **ret)
{
    _cleanup_(listing_closep) struct listing *listing = calloc(1, sizeof(*listing));
    if (!listing)
        return -ENOMEM;
    listing->source = source;
    read_cursor_init(&listing->cursor);
    window_init(&listing->window);
    buffer_init(&listing->lo, POSITION_MAX_BYTES);
    buffer_init(&listing->hi, POSITION_MAX_BYTES);
    bookmarks_init(&listing->bookmarks, BOOKMARK_SPACING);
    if (directory->table && !(listing->table = strdup(directory->table)))
        return -ENOMEM;
    (void)buffer_append(&listing->lo, directory->range.lo);
    (void)buffer_append(&listing->hi, directory->range.hi);
    int r = MIN(listing->lo.error, listing->hi.error);
    if (r < 0)
        return r;
    listing->directory =
        (struct directory){.kind = directory->kind,
                           .table = listing->table,
                           .range = {buffer_bytes(&listing->lo), buffer_bytes(&listing->hi)}};
    /* below the longest prefix there are partitions alone, and may be many */
    if (directory->kind == DIRECTORY_AUTO && !prefix_has_children(directory->range.lo))
        listing->directory.kind = DIRECTORY_FLAT;
    else if (directory->kind == DIRECTORY_AUTO)
        r = level_create(source, &listing->directory, &listing->level);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(listing);
    return 0;
}

void listing_close(struct listing *listing)
{
    if (!listing)
        return;
    level_destroy(listing->level);
    read_cursor_reset(&listing->cursor);
    window_finish(&listing->window);
    buffer_finish(&listing->lo);
    buffer_finish(&listing->hi);
    bookmarks_clear(&listing->bookmarks);
    free(listing->table);
    free(listing);
}

static int begin_anew(struct listing *listing, const struct caller *caller)
{
    const struct listing_source *source = listing->source;
    listing->state = BEGUN;
    read_ahead_tidy(source->read_ahead);
    listing->began =
        freshness_begin_listing(source->freshness, caller->process, &listing->directory);
    read_cursor_reset(&listing->cursor);
    listing->told_ms = 0;
    bookmarks_clear(&listing->bookmarks);
    if (listing->level)
        level_begin_anew(listing->level, listing->began);
    return window_stand(&listing->window, 0, buffer_bytes(&listing->lo));
}

static void note_reading(struct listing *listing, const struct caller *caller)
{
    int64_t now_ms = clock_now_ms(listing->source->clock);
    if (listing->told_ms != 0 && now_ms - listing->told_ms < TELL_EVERY_MS)
        return;
    listing->told_ms = now_ms;
    read_ahead_listed(listing->source->read_ahead, caller, &listing->directory, listing->began);
}

/* The window's entries are partitions: the rows that begin one. */
static int mark_partitions(struct window *window)
{
    size_t row = window->run.begin;
    while (row < window->run.end) {
        int r = buffer_append(&window->starts, (struct bytes){(const char *)&row, sizeof(row)});
        if (r < 0)
            return r;
        window->n++;
        row = page_next_partition(window->run.page, row, window->run.end);
    }
    return 0;
}

/* Where reading goes on behind the window's entry i. */
static int position_behind_entry(const struct listing *listing, size_t i, struct buffer *ret)
{
    const struct window *window = &listing->window;
    struct bytes position = page_position(window->run.page, window_row(window, i));
    buffer_clear(ret);
    return position_append_behind(ret, listing->directory.kind == DIRECTORY_FLAT
                                           ? position_partition_key(position)
                                           : position);
}

/* What was seen becomes the window, behind the one that was there. */
static int window_turn(struct listing *listing, struct seen *seen)
{
    struct window *window = &listing->window;
    bookmarks_add(&listing->bookmarks, window->first + window->n, buffer_bytes(&window->end));
    int r = window_stand(window, window->first + window->n, buffer_bytes(&window->end));
    if (r < 0)
        return r;
    window->run = seen->run;
    window->asked_ms = seen->asked_ms;
    (void)page_ref(seen->run.page);
    if (listing->directory.kind == DIRECTORY_FLAT)
        r = mark_partitions(window);
    else
        window->n = window->run.end - window->run.begin;
    return r < 0 ? r : position_behind_entry(listing, window->n - 1, &window->end);
}

/* How many entries the process has opened since they were listed, if it opens them in their order;
 * counted up to the last bookmark before. A process that has opened what lies ahead of the listing
 * did so for another one. */
static uint64_t count_opened(const struct listing *listing, const struct caller *caller)
{
    const struct window *window = &listing->window;
    const struct bookmark *bookmark = NULL;
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, POSITION_MAX_BYTES);
    if (freshness_asked_to(listing->source->freshness, caller->process, &listing->directory,
                           &position) == 0 &&
        bytes_compare(buffer_bytes(&position), buffer_bytes(&window->end)) < 0)
        bookmark = bookmarks_find_position(&listing->bookmarks, buffer_bytes(&position));
    return bookmark ? MIN(bookmark->cookie, window->first + window->n) : 0;
}

/* What follows the window. */
static struct question next_question(const struct listing *listing, bool names_suffice)
{
    return (struct question){
        .table = listing->table,
        .range = {buffer_bytes(&listing->window.end), buffer_bytes(&listing->hi)},
        .since = freshness_of_listing(listing->source->freshness, listing->began),
        .keys_suffice = names_suffice || listing->directory.kind != DIRECTORY_ENTITIES};
}

/* Is the window's next not known yet? 1, 0, -ENOMEM. */
static int would_wait(const struct listing *listing, bool names_suffice)
{
    struct question question = next_question(listing, names_suffice);
    struct seen seen;
    if (range_is_empty(question.range))
        return 0;
    int r = overlay_look(listing->source->overlay, &question, &seen, NULL);
    run_finish(&seen.run);
    return r < 0 ? r : r == KNOWN_NOT;
}

static int ask(struct listing *listing, struct caller *caller, bool names_suffice, struct seen *ret)
{
    uint64_t listed = listing->window.first + listing->window.n;
    struct read_step step = {.directory = &listing->directory,
                             .question = next_question(listing, names_suffice),
                             .listed = listed,
                             .unopened = listed - count_opened(listing, caller)};
    if (range_is_empty(step.question.range))
        return 0;
    return read_ahead_rows(listing->source->read_ahead, caller, &listing->cursor, &step, ret);
}

/* readdir would take ENOENT for the end. */
static int vanished(struct caller *caller)
{
    caller->call.failure.error = -ESTALE;
    return -ESTALE;
}

/* Half a window may be there: the next call seeks its place from a bookmark. */
static int lose_window(struct listing *listing, struct caller *caller, int r)
{
    listing->window.first = NOWHERE;
    listing->window.n = 0;
    return call_fail(&caller->call, r, "no memory for a page of names");
}

/* The window moves on. */
static int fill(struct listing *listing, struct caller *caller, bool names_suffice)
{
    struct seen seen = {0};
    int r = ask(listing, caller, names_suffice, &seen);
    if (r < 0)
        return r == -ENOENT ? vanished(caller) : r;
    listing->state = r == 0 ? COMPLETE : GOES_ON;
    if (r == 0)
        return 0;
    r = window_turn(listing, &seen);
    if (r == 0)
        read_cursor_took(&listing->cursor, &listing->directory, listing->window.n, &seen);
    run_finish(&seen.run);
    return r < 0 ? lose_window(listing, caller, r) : 0;
}

/* Goes to before the entry behind `cookie`, which is in the window: what is in it will not do. */
static int leave_window(struct listing *listing, uint64_t cookie)
{
    struct window *window = &listing->window;
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, POSITION_MAX_BYTES);
    int r = cookie == window->first
                ? buffer_append(&position, buffer_bytes(&window->begin))
                : position_behind_entry(listing, cookie - window->first - 1, &position);
    listing->state = GOES_ON;
    return r < 0 ? r : window_stand(window, cookie, buffer_bytes(&position));
}

/* Too old; or without the texts that are wanted now. */
static bool will_not_do(const struct listing *listing, bool names_suffice)
{
    const struct window *window = &listing->window;
    if (!window->run.page)
        return false;
    int64_t oldest_ms = freshness_of_listing(listing->source->freshness, listing->began).asked_ms;
    return window->asked_ms < oldest_ms || (listing->directory.kind == DIRECTORY_ENTITIES &&
                                            !names_suffice && page_is_keys_only(window->run.page));
}

/* Goes to the window that the entry behind `cookie` is in, or to where reading on will find it. */
static int seek(struct listing *listing, const struct caller *caller, uint64_t cookie,
                bool names_suffice)
{
    struct window *window = &listing->window;
    if (cookie == 0 || listing->state == NEW)
        return begin_anew(listing, caller);
    if (cookie >= window->first) {
        bool is_inside = cookie < window->first + window->n;
        return is_inside && will_not_do(listing, names_suffice) ? leave_window(listing, cookie) : 0;
    }
    const struct bookmark *bookmark = bookmarks_find(&listing->bookmarks, cookie);
    if (!bookmark)
        return begin_anew(listing, caller);
    listing->state = GOES_ON;
    return window_stand(window, bookmark->cookie, buffer_bytes(&bookmark->position));
}

/* cp -r visits a directory in the order of d_ino; find, grep -r, rm -r and du (fts) do so in one of
 * more than 10,000 names. In that of st_ino, hashes of partitions, they would read at random:
 * measured, with 4 times the requests and with 100 times. */
static uint64_t order_number(uint64_t cookie)
{
    return (uint64_t)1 << 63 | cookie;
}

static void describe(struct listing *listing, size_t i, struct listing_entry *ret)
{
    static const enum listing_kind kinds[] = {[DIRECTORY_TABLES] = LISTING_TABLE,
                                              [DIRECTORY_AUTO] = LISTING_PARTITION,
                                              [DIRECTORY_FLAT] = LISTING_PARTITION,
                                              [DIRECTORY_ENTITIES] = LISTING_ENTITY};
    struct window *window = &listing->window;
    struct page *page = window->run.page;
    size_t row = window_row(window, i);
    struct bytes position = page_position(page, row);
    *ret = (struct listing_entry){.kind = kinds[listing->directory.kind],
                                  .key = position_partition_key(position),
                                  .cookie = window->first + i + 1};
    if (listing->directory.kind != DIRECTORY_TABLES)
        ret->number = order_number(ret->cookie);
    if (listing->directory.kind != DIRECTORY_ENTITIES)
        return;
    ret->key = position_row_key(position);
    ret->number = page_number(page, row, listing->source->numbers);
    if (!page_is_keys_only(page))
        ret->entity = (struct entity){page, row};
}

static int next_of_level(struct listing *listing, struct caller *caller, uint64_t cookie,
                         bool may_wait, struct listing_entry *ret)
{
    struct freshness *freshness = listing->source->freshness;
    if (listing->state == NEW || (cookie == 0 && listing->state != BEGUN)) {
        if (begin_anew(listing, caller) < 0)
            return call_fail(&caller->call, -ENOMEM, "out of memory");
    }
    note_reading(listing, caller);
    struct level_name name;
    int r = level_name(listing->level, caller, cookie, may_wait, &name);
    if (r >= 0)
        listing->state = GOES_ON;
    if (r <= 0)
        return r == -ENOENT ? vanished(caller) : r;
    *ret = (struct listing_entry){.kind = name.is_prefix ? LISTING_PREFIX : LISTING_PARTITION,
                                  .key = name.key,
                                  .cookie = cookie + 1,
                                  .number = order_number(cookie + 1)};
    int64_t asked_ms = level_asked_ms(listing->level);
    caller->valid_ms = freshness_valid_ms(freshness, asked_ms);
    bool is_old = asked_ms < freshness_of_listing(freshness, listing->began).asked_ms;
    ret->valid_ms = is_old ? 0 : freshness_hold_ms(freshness, caller->valid_ms);
    return 1;
}

/* How long the window's entry i holds for callers that ask for it by name. */
static int64_t shown_ms(const struct listing *listing, size_t i, int64_t valid_ms)
{
    const struct listing_source *source = listing->source;
    const struct window *window = &listing->window;
    if (listing->directory.kind != DIRECTORY_ENTITIES)
        return freshness_hold_ms(source->freshness, valid_ms);
    switch (range_cache_superseded(source->cache, listing->table, window->run.page,
                                   window_row(window, i))) {
    case SUPERSEDED_NO:
        return freshness_hold_ms(source->freshness, valid_ms);
    case SUPERSEDED_YES:
        return 0;
    case SUPERSEDED_UNKNOWN:
        break;
    }
    return valid_ms;
}

int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 bool names_suffice, bool may_wait, struct listing_entry *ret)
{
    if (listing->level)
        return next_of_level(listing, caller, cookie, may_wait, ret);
    struct window *window = &listing->window;
    int r = seek(listing, caller, cookie, names_suffice);
    if (r < 0)
        return lose_window(listing, caller, r);
    note_reading(listing, caller);
    while (cookie >= window->first + window->n) {
        if (listing->state == COMPLETE)
            return 0;
        r = may_wait ? 0 : would_wait(listing, names_suffice);
        if (r != 0)
            return r > 0 ? -EAGAIN : call_fail(&caller->call, r, "out of memory");
        r = fill(listing, caller, names_suffice);
        if (r < 0)
            return r;
    }
    check(listing);
    describe(listing, cookie - window->first, ret);
    caller->valid_ms = freshness_valid_ms(listing->source->freshness, window->asked_ms);
    if (!names_suffice) /* else nothing is kept */
        ret->valid_ms = shown_ms(listing, cookie - window->first, caller->valid_ms);
    return 1;
}
