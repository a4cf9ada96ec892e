#include "cache/listing.h"
#include "cache/bookmarks.h"
#include "cache/level.h"
#include "cache/prefetch.h"
#include "cache/view.h"

#define STARTS_MAX_BYTES ((size_t)64 << 20)
#define BOOKMARK_SPACING 1000
#define ANSWER_BYTES     ((size_t)32 << 20) /* to ask for at once, if rows are as large as before */
#define TELL_EVERY_MS    1000               /* that the process still reads here */
#define NOWHERE          UINT64_MAX         /* first of a window that lost its place */
#define JUMP_TOP_MIN     16 /* enough where partitions are huge: of each page one key is used */

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
    struct view *view;
    struct directory directory; /* views of the next three */
    char *table;
    struct buffer lo, hi;
    struct level *level; /* of DIRECTORY_AUTO it has the names, and what is below is not used */
    struct stamp began;
    int64_t told_ms; /* when the process's history was last told */
    bool is_started;
    bool is_fresh;    /* begun, and nothing was told yet: a call that failed is made again */
    bool is_complete; /* nothing is behind the window */
    struct window window;
    struct prefetch prefetch;
    int top;             /* rows to ask for */
    size_t listed_bytes; /* of the pages that it showed, whoever brought them */
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

int listing_create(struct view *view, const struct directory *directory, struct listing **ret)
{
    _cleanup_(listing_closep) struct listing *listing = calloc(1, sizeof(*listing));
    if (!listing)
        return -ENOMEM;
    listing->view = view;
    prefetch_init(&listing->prefetch, view);
    listing->top = TABLE_STORE_PAGE_ROWS;
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
        r = level_create(view, &listing->directory, &listing->level);
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
    prefetch_reset(&listing->prefetch);
    window_finish(&listing->window);
    buffer_finish(&listing->lo);
    buffer_finish(&listing->hi);
    bookmarks_finish(&listing->bookmarks);
    free(listing->table);
    free(listing);
}

static int begin_anew(struct listing *listing, const struct caller *caller)
{
    listing->is_started = true;
    listing->is_complete = false;
    listing->began = view_listing_begins(listing->view, caller, &listing->directory);
    listing->listed_bytes = 0;
    prefetch_reset(&listing->prefetch);
    listing->told_ms = 0;
    bookmarks_clear(&listing->bookmarks);
    return window_stand(&listing->window, 0, buffer_bytes(&listing->lo));
}

/* The process lists here, and has left where it came from. */
static void tell_history(struct listing *listing, const struct caller *caller)
{
    struct view *view = listing->view;
    int64_t now_ms = clock_now_ms(view->clock);
    if (listing->told_ms != 0 && now_ms - listing->told_ms < TELL_EVERY_MS)
        return;
    listing->told_ms = now_ms;
    _cleanup_(region_finish) struct region left;
    region_init(&left);
    if (process_history_listed(view->history, caller->process, &listing->directory,
                               listing->began.asked_ms + view->ttl_ms, now_ms, &left))
        range_cache_passed(view->cache, left.table, left.range);
    view_walk_comes_to(view, caller, &listing->directory);
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

/* Of partitions: fewer rows while pages hold one partition, of which one key is used; more where
 * they are made of many. Of large entities as many as fit. */
static void adapt_top(struct listing *listing, const struct seen *seen)
{
    size_t rows = listing->window.run.end - listing->window.run.begin;
    if (listing->directory.kind == DIRECTORY_FLAT && listing->window.n == 1 && rows >= JUMP_TOP_MIN)
        listing->top = JUMP_TOP_MIN;
    else if (listing->window.n * 4 >= rows)
        listing->top = MIN(listing->top * 4, TABLE_STORE_PAGE_ROWS);
    if (seen->fetched_bytes > 0) {
        size_t fitting = ANSWER_BYTES / (seen->fetched_bytes / MAX(seen->fetched_rows, 1) + 1);
        listing->top = (int)MAX(MIN((size_t)listing->top, fitting), 1);
    }
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
    seen->run = (struct run){0};
    window->asked_ms = seen->asked_ms;
    if (listing->directory.kind == DIRECTORY_FLAT)
        r = mark_partitions(window);
    else
        window->n = window->run.end - window->run.begin;
    if (r < 0)
        return r;
    adapt_top(listing, seen);
    return position_behind_entry(listing, window->n - 1, &window->end);
}

/* How many entries its process has opened since they were listed, if it does so in their order; up
 * to the last bookmark before. Who is ahead of the listing was there in another one. */
static uint64_t count_opened(const struct listing *listing, const struct caller *caller)
{
    const struct window *window = &listing->window;
    const struct bookmark *bookmark = NULL;
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, POSITION_MAX_BYTES);
    if (process_history_reads_at(listing->view->history, caller->process, listing->table,
                                 listing->directory.range, &position) &&
        bytes_compare(buffer_bytes(&position), buffer_bytes(&window->end)) < 0)
        bookmark = bookmarks_find_position(&listing->bookmarks, buffer_bytes(&position));
    return bookmark ? MIN(bookmark->cookie, window->first + window->n) : 0;
}

/* Of what was listed and not opened yet, as if all entries were of one size. */
static size_t unopened_bytes(const struct listing *listing, const struct caller *caller)
{
    uint64_t listed = listing->window.first + listing->window.n;
    uint64_t unopened = listed - count_opened(listing, caller);
    return listing->listed_bytes / MAX(listed, 1) * unopened;
}

/* More than this would drive out what was listed first, before it is opened. */
static bool is_long(const struct listing *listing, const struct caller *caller)
{
    return unopened_bytes(listing, caller) > view_names_only_bytes(listing->view);
}

/* Pages hold several partitions: then rows tell their names in as many requests as keys would, and
 * what walks from here needs no more. */
static bool is_dense(const struct listing *listing, const struct caller *caller)
{
    return listing->top == TABLE_STORE_PAGE_ROWS && !is_long(listing, caller);
}

static enum prefetch_kind choose_prefetch(const struct listing *listing,
                                          const struct caller *caller, bool names_suffice)
{
    switch (listing->directory.kind) {
    case DIRECTORY_TABLES:
        return PREFETCH_NONE;
    case DIRECTORY_AUTO:
    case DIRECTORY_FLAT:
        return is_dense(listing, caller) ? PREFETCH_ROWS : PREFETCH_PARTITIONS;
    case DIRECTORY_ENTITIES:
        break;
    }
    return names_suffice && is_long(listing, caller) ? PREFETCH_KEYS : PREFETCH_ROWS;
}

/* What follows the window. */
static struct question next_question(const struct listing *listing, bool names_suffice)
{
    return (struct question){
        .table = listing->table,
        .range = {buffer_bytes(&listing->window.end), buffer_bytes(&listing->hi)},
        .since = view_listing_since(listing->view, listing->began),
        .keys_suffice = names_suffice || listing->directory.kind != DIRECTORY_ENTITIES};
}

/* Is the window's next not known yet? 1, 0, -ENOMEM. */
static int would_wait(const struct listing *listing, bool names_suffice)
{
    struct question question = next_question(listing, names_suffice);
    _cleanup_(buffer_finish) struct buffer until;
    buffer_init(&until, POSITION_MAX_BYTES);
    return range_is_empty(question.range)
               ? 0
               : overlay_misses(listing->view->overlay, &question, &until);
}

static int ask(struct listing *listing, struct caller *caller, bool names_suffice, struct seen *ret)
{
    struct view *view = listing->view;
    enum prefetch_kind kind = choose_prefetch(listing, caller, names_suffice);
    struct question question = next_question(listing, names_suffice);
    struct ahead ahead = {.top = listing->top, .keys_only = kind != PREFETCH_ROWS};
    _cleanup_(page_unrefp) struct page *page = NULL;
    if (range_is_empty(question.range))
        return 0;
    int reached = prefetch_reach(&listing->prefetch, caller, kind, listing->directory.range,
                                 &question, &page);
    int r = reached < 0 ? reached : overlay_next(view->overlay, caller, &question, &ahead, ret);
    view_count(view, reached, r, ret);
    return r;
}

/* ENOENT would be the end to who reads. */
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

/* Its part of the page. */
static size_t run_bytes(const struct run *run)
{
    return page_bytes(run->page) / page_rows(run->page) * (run->end - run->begin);
}

/* The window moves on. */
static int fill(struct listing *listing, struct caller *caller, bool names_suffice)
{
    struct seen seen = {0};
    int r = ask(listing, caller, names_suffice, &seen);
    if (r < 0)
        return r == -ENOENT ? vanished(caller) : r;
    listing->is_complete = r == 0;
    if (r == 0)
        return 0;
    listing->listed_bytes += run_bytes(&seen.run);
    r = window_turn(listing, &seen);
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
    listing->is_complete = false;
    return r < 0 ? r : window_stand(window, cookie, buffer_bytes(&position));
}

/* Too old; or without the texts that are wanted now. */
static bool will_not_do(const struct listing *listing, bool names_suffice)
{
    const struct window *window = &listing->window;
    if (!window->run.page)
        return false;
    return window->asked_ms < view_listing_since(listing->view, listing->began).asked_ms ||
           (listing->directory.kind == DIRECTORY_ENTITIES && !names_suffice &&
            page_is_keys_only(window->run.page));
}

/* Goes to the window that the entry behind `cookie` is in, or to where reading on will find it. */
static int seek(struct listing *listing, const struct caller *caller, uint64_t cookie,
                bool names_suffice)
{
    struct window *window = &listing->window;
    if (cookie == 0 || !listing->is_started)
        return begin_anew(listing, caller);
    if (cookie >= window->first) {
        bool is_inside = cookie < window->first + window->n;
        return is_inside && will_not_do(listing, names_suffice) ? leave_window(listing, cookie) : 0;
    }
    const struct bookmark *bookmark = bookmarks_find(&listing->bookmarks, cookie);
    if (!bookmark)
        return begin_anew(listing, caller);
    listing->is_complete = false;
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
    ret->number = page_number(page, row, &listing->view->numbers);
    if (!page_is_keys_only(page))
        ret->entity = (struct entity){page, row};
}

static int next_of_level(struct listing *listing, struct caller *caller, uint64_t cookie,
                         bool may_wait, struct listing_entry *ret)
{
    if (!listing->is_started || (cookie == 0 && !listing->is_fresh)) {
        if (begin_anew(listing, caller) < 0)
            return call_fail(&caller->call, -ENOMEM, "out of memory");
        level_begin_anew(listing->level, listing->began);
        listing->is_fresh = true;
    }
    tell_history(listing, caller);
    struct level_name name;
    int r = level_name(listing->level, caller, cookie, may_wait, &name);
    listing->is_fresh = listing->is_fresh && r < 0;
    if (r <= 0)
        return r == -ENOENT ? vanished(caller) : r;
    *ret = (struct listing_entry){.kind = name.is_prefix ? LISTING_PREFIX : LISTING_PARTITION,
                                  .key = name.key,
                                  .cookie = cookie + 1,
                                  .number = order_number(cookie + 1)};
    int64_t asked_ms = level_asked_ms(listing->level);
    view_set_valid(listing->view, caller, asked_ms);
    bool is_old = asked_ms < view_listing_since(listing->view, listing->began).asked_ms;
    ret->valid_ms = is_old ? 0 : view_hold_for_tools(listing->view, caller->valid_ms);
    return 1;
}

/* Of the window's entry i, as long as it holds for who asks for it by name. */
static int64_t shown_ms(const struct listing *listing, size_t i, int64_t valid_ms)
{
    const struct view *view = listing->view;
    const struct window *window = &listing->window;
    if (listing->directory.kind != DIRECTORY_ENTITIES)
        return view_hold_for_tools(view, valid_ms);
    switch (range_cache_superseded(view->cache, listing->table, window->run.page,
                                   window_row(window, i))) {
    case SUPERSEDED_NO:
        return view_hold_for_tools(view, valid_ms);
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
    tell_history(listing, caller);
    while (cookie >= window->first + window->n) {
        if (listing->is_complete)
            return 0;
        r = may_wait ? 0 : would_wait(listing, names_suffice);
        if (r != 0)
            return r > 0 ? -EAGAIN : call_fail(&caller->call, r, "out of memory");
        r = fill(listing, caller, names_suffice);
        if (r < 0)
            return r;
    }
    describe(listing, cookie - window->first, ret);
    view_set_valid(listing->view, caller, window->asked_ms);
    if (!names_suffice) /* else nothing is kept */
        ret->valid_ms = shown_ms(listing, cookie - window->first, caller->valid_ms);
    return 1;
}
