#include "cache/listing.h"
#include "cache/bookmarks.h"
#include "cache/freshness.h"
#include "cache/scan/scan.h"

#include <stdatomic.h>

#define POSITION_MAX_BYTES ((size_t)16 << 10)
#define NAMES_MAX_BYTES    ((size_t)16 << 20) /* of one page: 1,000 names, however long */
#define BOOKMARK_SPACING   1000

/* The entries that one page gave, cookies first + 1 to first + n. */
struct window {
    uint64_t first;
    size_t n;
    int64_t fresh_until_ms;
    struct page *page;    /* entities; else: */
    struct buffer names;  /* n keys, NUL behind each */
    struct buffer starts; /* n offsets into names, size_t */
    uint64_t number;      /* of the first name */
};

struct listing {
    struct listing_source source;
    enum directory_kind kind;
    char *table;
    struct buffer lo, hi; /* of the directory */
    struct window window;
    struct buffer position;    /* where what is behind the window begins; of tables: unused */
    struct continuation *next; /* behind an empty page; of tables: behind the window */
    struct scan *scan; /* of partitions: it stands behind the window; NULL: begins at position */
    int top;           /* rows to ask for */
    bool is_started, is_complete; /* complete: nothing is behind the window */
    struct bookmarks bookmarks;
};

int listing_create(const struct listing_source *source, const struct directory *directory,
                   struct listing **ret)
{
    _cleanup_(listing_closep) struct listing *listing = calloc(1, sizeof(*listing));
    if (!listing)
        return -ENOMEM;
    listing->source = *source;
    listing->kind = directory->kind;
    listing->top = TABLE_STORE_PAGE_ROWS;
    buffer_init(&listing->lo, POSITION_MAX_BYTES);
    buffer_init(&listing->hi, POSITION_MAX_BYTES);
    buffer_init(&listing->position, POSITION_MAX_BYTES);
    buffer_init(&listing->window.names, NAMES_MAX_BYTES);
    buffer_init(&listing->window.starts, NAMES_MAX_BYTES);
    bookmarks_init(&listing->bookmarks, BOOKMARK_SPACING);
    if (directory->table && !(listing->table = strdup(directory->table)))
        return -ENOMEM;
    (void)buffer_append(&listing->lo, directory->range.lo);
    (void)buffer_append(&listing->position, directory->range.lo);
    (void)buffer_append(&listing->hi, directory->range.hi);
    int r = MIN(listing->lo.error, listing->hi.error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(listing);
    return 0;
}

static void window_clear(struct window *window)
{
    page_unref(TAKE_PTR(window->page));
    buffer_clear(&window->names);
    buffer_clear(&window->starts);
    window->n = 0;
}

void listing_close(struct listing *listing)
{
    if (!listing)
        return;
    window_clear(&listing->window);
    buffer_finish(&listing->window.names);
    buffer_finish(&listing->window.starts);
    buffer_finish(&listing->lo);
    buffer_finish(&listing->hi);
    buffer_finish(&listing->position);
    continuation_destroy(listing->next);
    scan_destroy(listing->scan);
    bookmarks_finish(&listing->bookmarks);
    free(listing->table);
    free(listing);
}

/* Stands before the entry behind `cookie`, which is at `position`, with nothing read. */
static int stand_at(struct listing *listing, uint64_t cookie, struct bytes position)
{
    window_clear(&listing->window);
    listing->window.first = cookie;
    continuation_destroy(TAKE_PTR(listing->next));
    scan_destroy(TAKE_PTR(listing->scan));
    listing->is_complete = false;
    buffer_clear(&listing->position);
    return buffer_append(&listing->position, position);
}

static int stand_at_begin(struct listing *listing)
{
    bookmarks_clear(&listing->bookmarks);
    return stand_at(listing, 0, buffer_bytes(&listing->lo));
}

/* The window is replaced by the next one; `first` stays right. */
static void window_turn(struct listing *listing)
{
    struct window *window = &listing->window;
    window->first += window->n;
    window_clear(window);
    if (listing->kind != DIRECTORY_TABLES)
        bookmarks_add(&listing->bookmarks, window->first, buffer_bytes(&listing->position));
}

static int window_add_name(struct window *window, struct bytes name)
{
    size_t start = window->names.size;
    (void)buffer_append(&window->starts, (struct bytes){(const char *)&start, sizeof(start)});
    (void)buffer_append(&window->names, name);
    (void)buffer_append_char(&window->names, '\0');
    window->n++;
    return MIN(window->starts.error, window->names.error);
}

static struct bytes window_name(const struct window *window, size_t i)
{
    size_t start;
    memcpy(&start, window->starts.data + i * sizeof(start), sizeof(start));
    return bytes_of(window->names.data + start);
}

static int position_behind(struct listing *listing, struct bytes key_or_position)
{
    buffer_clear(&listing->position);
    (void)buffer_append(&listing->position, key_or_position);
    return buffer_append_string(&listing->position, POSITION_AFTER);
}

/* Puts an answer in place: its rows are the window, and the next question begins behind the last of
 * them. */
static int take_entities(struct listing *listing, struct answer *answer)
{
    size_t rows = page_rows(answer->page);
    continuation_destroy(TAKE_PTR(listing->next));
    listing->is_complete = answer->next == NULL;
    if (rows == 0) {
        listing->next = TAKE_PTR(answer->next);
        return 0;
    }
    window_turn(listing);
    listing->window.page = TAKE_PTR(answer->page);
    listing->window.n = rows;
    return position_behind(listing, page_position(listing->window.page, rows - 1));
}

static int fill_entities(struct listing *listing, struct caller *caller)
{
    struct query query = {.table = listing->table,
                          .range = {buffer_bytes(&listing->position), buffer_bytes(&listing->hi)},
                          .after = listing->next,
                          .top = listing->top};
    if (range_is_empty(query.range)) {
        listing->is_complete = true;
        return 0;
    }
    _cleanup_(answer_finish) struct answer answer = {0};
    int r = table_store_query(listing->source.store, &query, &caller->call, &answer);
    if (r == -EFBIG && listing->top > 1) { /* a thousand entities of up to 1 MiB: fewer, then */
        listing->top = MAX(listing->top / 8, 1);
        return 0;
    }
    return r < 0 ? r : take_entities(listing, &answer);
}

/* One request of the scan, sent and told. */
static int feed_scan(struct listing *listing, struct caller *caller)
{
    struct scan_request request;
    if (!scan_ask(listing->scan, 1, &request))
        return call_fail(&caller->call, -EIO, "a scan that neither asks nor ends");
    struct query query = {.table = listing->table,
                          .range = request.range,
                          .after = request.after,
                          .top = request.top,
                          .keys_only = request.keys_only};
    _cleanup_(answer_finish) struct answer answer = {0};
    int r = table_store_query(listing->source.store, &query, &caller->call, &answer);
    if (r < 0) {
        scan_give_back(listing->scan, request.id);
        return r;
    }
    return scan_tell(listing->scan, request.id, &answer);
}

/* Everything the scan has ready becomes the window. */
static int take_partitions(struct listing *listing, enum scan_state state, struct scan_item *item)
{
    int r = 0;
    if (state == SCAN_ITEM)
        window_turn(listing);
    while (state == SCAN_ITEM && r == 0) {
        r = window_add_name(&listing->window, item->key);
        if (r == 0)
            r = position_behind(listing, item->key);
        state = scan_take(listing->scan, item);
    }
    listing->is_complete = state == SCAN_END;
    return r;
}

static int fill_partitions(struct listing *listing, struct caller *caller)
{
    struct range range = {buffer_bytes(&listing->position), buffer_bytes(&listing->hi)};
    if (!listing->scan) {
        struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS};
        int r = scan_partitions_create(range, &limits, &listing->scan);
        if (r < 0)
            return r;
    }
    struct scan_item item;
    enum scan_state state = scan_take(listing->scan, &item);
    if (state == SCAN_WAIT) {
        int r = feed_scan(listing, caller);
        if (r < 0)
            return r;
        state = scan_take(listing->scan, &item);
    }
    return take_partitions(listing, state, &item);
}

static int take_tables(struct listing *listing, const struct table_names *names)
{
    window_turn(listing);
    struct bytes rest = buffer_bytes(&names->names);
    while (rest.size > 0) {
        struct bytes name = bytes_of(rest.data);
        int r = window_add_name(&listing->window, name);
        if (r < 0)
            return r;
        rest = bytes_skip(rest, name.size + 1);
    }
    return 0;
}

static int fill_tables(struct listing *listing, struct caller *caller)
{
    struct table_names names;
    buffer_init(&names.names, NAMES_MAX_BYTES);
    struct continuation *next = NULL;
    int r = table_store_list_tables(listing->source.store, NULL, listing->next, &caller->call,
                                    &names, &next);
    if (r == 0) {
        continuation_destroy(listing->next);
        listing->next = next;
        listing->is_complete = next == NULL;
        r = take_tables(listing, &names);
    }
    buffer_finish(&names.names);
    return r;
}

/* One request more; the window may stay empty behind an empty page. */
static int fill(struct listing *listing, struct caller *caller)
{
    int64_t began_ms = clock_now_ms(listing->source.clock);
    int r = 0;
    switch (listing->kind) {
    case DIRECTORY_TABLES:
        r = fill_tables(listing, caller);
        break;
    case DIRECTORY_AUTO:
    case DIRECTORY_FLAT:
        r = fill_partitions(listing, caller);
        break;
    case DIRECTORY_ENTITIES:
        r = fill_entities(listing, caller);
        break;
    }
    if (r < 0 && caller->call.failure.error != r) /* our own buffers: no store has said why */
        return call_fail(&caller->call, r, "no memory for a page of names");
    if (r == -ENOENT) {
        caller->call.failure.error = -ESTALE;
        return -ESTALE;
    }
    if (r < 0)
        return r;
    struct window *window = &listing->window;
    window->fresh_until_ms =
        freshness_end_ms(caller_asked_ms(caller, began_ms), clock_now_ms(listing->source.clock),
                         listing->source.ttl_ms);
    if (window->n > 0 && !window->page)
        window->number = atomic_fetch_add(listing->source.numbers, window->n);
    caller_made_progress(caller, listing->source.clock);
    return 0;
}

/* Goes to the window that the entry behind `cookie` is in, or to where reading on will find it. */
static int seek(struct listing *listing, uint64_t cookie)
{
    if (cookie == 0 && listing->is_started)
        return stand_at_begin(listing);
    listing->is_started = true;
    if (cookie >= listing->window.first)
        return 0;
    const struct bookmark *bookmark = bookmarks_find(&listing->bookmarks, cookie);
    if (!bookmark)
        return stand_at_begin(listing);
    return stand_at(listing, bookmark->cookie, buffer_bytes(&bookmark->position));
}

static void describe(struct listing *listing, size_t i, struct listing_entry *ret)
{
    static const enum listing_kind kinds[] = {[DIRECTORY_TABLES] = LISTING_TABLE,
                                              [DIRECTORY_AUTO] = LISTING_PARTITION,
                                              [DIRECTORY_FLAT] = LISTING_PARTITION,
                                              [DIRECTORY_ENTITIES] = LISTING_ENTITY};
    struct window *window = &listing->window;
    *ret = (struct listing_entry){.kind = kinds[listing->kind], .cookie = window->first + i + 1};
    if (window->page) {
        ret->entity = (struct entity){window->page, i};
        ret->key = position_row_key(page_position(window->page, i));
        ret->number = page_number(window->page, i, listing->source.numbers);
    } else {
        ret->key = window_name(window, i);
        ret->number = window->number + i;
    }
}

int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 struct listing_entry *ret)
{
    int r = seek(listing, cookie);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    while (cookie >= listing->window.first + listing->window.n) {
        if (listing->is_complete)
            return 0;
        r = fill(listing, caller);
        if (r < 0)
            return r;
    }
    describe(listing, cookie - listing->window.first, ret);
    caller->valid_ms = MAX(listing->window.fresh_until_ms - clock_now_ms(listing->source.clock), 0);
    return 1;
}
