/* SPDX-License-Identifier: MIT */
#include "cache/list/listing.h"
#include "cache/ahead/read_ahead.h"
#include "cache/list/bookmarks.h"
#include "cache/list/level.h"
#include "cache/list/matches.h"

#include <assert.h>

#define STARTS_MAX_BYTES ((size_t)64 << 20)
#define BOOKMARK_SPACING 1000
/* between two reports that the process still reads this directory */
#define REPORT_EVERY_MS 1000
#define NOWHERE         UINT64_MAX /* `first` of a batch that lost its place */

/* | state    | the batch                       | ends with                             |
 * | NEW      | at no place                     | the first call                        |
 * | BEGUN    | at the start, without entries   | the first entry returned: READING     |
 * | READING  | anywhere, or lost its place     | the sure end: COMPLETE; cookie 0      |
 * | COMPLETE | nothing is after it             | going back: READING; cookie 0         |
 * A listing of a level uses no batch; its level reports the end. */
enum state { NEW, BEGUN, READING, COMPLETE };

/* The entries that one run of rows gave, cookies first + 1 to first + n: each row, or each row that
 * begins a partition. */
struct batch {
    uint64_t first;
    size_t n;
    struct run run;
    struct buffer starts; /* of partitions: n rows, size_t */
    int64_t requested_ms;
    uint64_t floor;           /* of the range cache, from before it was read */
    struct buffer begin, end; /* positions: where it was read from, and what is after it */
};

struct listing {
    const struct listing_source *source;
    struct directory directory; /* views of the next four */
    char *table, *filter;
    struct buffer lo, hi;
    struct level *level;     /* of DIRECTORY_AUTO: has the names; what is below is not used */
    struct matches *matches; /* of a filter; NULL: none */
    enum state state;
    struct stamp began;
    int64_t reported_ms; /* when the process's reading here was noted last */
    struct batch batch;
    struct read_cursor cursor;
    struct bookmarks bookmarks;
};

static void batch_init(struct batch *batch)
{
    buffer_init(&batch->starts, STARTS_MAX_BYTES);
    buffer_init(&batch->begin, POSITION_MAX_BYTES);
    buffer_init(&batch->end, POSITION_MAX_BYTES);
}

static void batch_finish(struct batch *batch)
{
    run_finish(&batch->run);
    buffer_finish(&batch->starts);
    buffer_finish(&batch->begin);
    buffer_finish(&batch->end);
}

/* Makes the batch empty. It now stands before the entry after `cookie`, where the batch ended. */
static int batch_continue(struct batch *batch, uint64_t cookie)
{
    run_finish(&batch->run);
    buffer_clear(&batch->starts);
    batch->first = cookie;
    batch->n = 0;
    buffer_clear(&batch->begin);
    int r = buffer_append(&batch->begin, buffer_bytes(&batch->end));
    return MIN(batch->end.error, r);
}

/* Makes the batch empty, at another place. `position`: where reading continues for the entry after
 * `cookie`. */
static int batch_begin(struct batch *batch, uint64_t cookie, struct bytes position)
{
    buffer_clear(&batch->end);
    (void)buffer_append(&batch->end, position);
    return batch_continue(batch, cookie);
}

/* The row of the batch's entry i. */
static size_t batch_row(const struct batch *batch, size_t i)
{
    size_t row = batch->run.begin + i;
    if (batch->starts.size > 0)
        memcpy(&row, batch->starts.data + i * sizeof(row), sizeof(row));
    return row;
}

static void check(const struct listing *listing)
{
    const struct batch *batch = &listing->batch;
    assert(batch->n == 0 || batch->run.page);
    assert(!(listing->state == NEW && batch->n > 0));
    assert(!(listing->level && batch->n > 0));
}

int listing_create(const struct listing_source *source, const struct directory *directory,
                   struct listing **ret)
{
    _cleanup_(listing_closep) struct listing *listing = calloc(1, sizeof(*listing));
    if (!listing)
        return -ENOMEM;
    listing->source = source;
    read_cursor_init(&listing->cursor);
    batch_init(&listing->batch);
    buffer_init(&listing->lo, POSITION_MAX_BYTES);
    buffer_init(&listing->hi, POSITION_MAX_BYTES);
    bookmarks_init(&listing->bookmarks, BOOKMARK_SPACING);
    if (directory->table && !(listing->table = strdup(directory->table)))
        return -ENOMEM;
    if (directory->filter && !(listing->filter = strdup(directory->filter)))
        return -ENOMEM;
    (void)buffer_append(&listing->lo, directory->range.lo);
    (void)buffer_append(&listing->hi, directory->range.hi);
    int r = MIN(listing->lo.error, listing->hi.error);
    if (r < 0)
        return r;
    listing->directory =
        (struct directory){.kind = directory->kind,
                           .table = listing->table,
                           .range = {buffer_bytes(&listing->lo), buffer_bytes(&listing->hi)},
                           .filter = listing->filter};
    /* below the longest prefix there are partitions alone, and may be many */
    if (directory->kind == DIRECTORY_AUTO && !prefix_has_children(directory->range.lo))
        listing->directory.kind = DIRECTORY_FLAT;
    else if (directory->kind == DIRECTORY_AUTO)
        r = level_create(source, &listing->directory, &listing->level);
    if (r == 0 && directory->filter)
        r = matches_create(source, &listing->directory, &listing->matches);
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
    matches_destroy(listing->matches);
    read_cursor_reset(&listing->cursor);
    batch_finish(&listing->batch);
    buffer_finish(&listing->lo);
    buffer_finish(&listing->hi);
    bookmarks_clear(&listing->bookmarks);
    free(listing->table);
    free(listing->filter);
    free(listing);
}

/* A listing that has shown nothing does not begin anew: after a failure its answers need not be
 * younger than before. A listing with a filter also keeps its end, because to find it again needs
 * requests. */
static bool is_to_begin(const struct listing *listing, uint64_t cookie)
{
    const struct batch *batch = &listing->batch;
    bool has_ended = listing->matches && listing->state == COMPLETE && batch->first + batch->n == 0;
    return listing->state == NEW || (cookie == 0 && listing->state != BEGUN && !has_ended);
}

static int begin_anew(struct listing *listing, const struct caller *caller)
{
    const struct listing_source *source = listing->source;
    listing->state = BEGUN;
    read_ahead_tidy(source->read_ahead);
    listing->began =
        freshness_begin_listing(source->read->freshness, caller->process, &listing->directory);
    read_cursor_reset(&listing->cursor);
    listing->reported_ms = 0;
    bookmarks_clear(&listing->bookmarks);
    if (listing->level)
        level_begin_anew(listing->level, listing->began);
    if (listing->matches)
        matches_begin_anew(listing->matches);
    return batch_begin(&listing->batch, 0, buffer_bytes(&listing->lo));
}

static void note_reading(struct listing *listing, const struct caller *caller)
{
    int64_t now_ms = clock_now_ms(listing->source->read->clock);
    if (listing->reported_ms != 0 && now_ms - listing->reported_ms < REPORT_EVERY_MS)
        return;
    listing->reported_ms = now_ms;
    read_ahead_listed(listing->source->read_ahead, caller, &listing->directory, listing->began);
}

/* The batch's entries are partitions: the rows that begin one. */
static int mark_partitions(struct batch *batch)
{
    size_t row = batch->run.begin;
    while (row < batch->run.end) {
        int r = buffer_append(&batch->starts, (struct bytes){(const char *)&row, sizeof(row)});
        if (r < 0)
            return r;
        batch->n++;
        row = page_next_partition(batch->run.page, row, batch->run.end);
    }
    return 0;
}

/* Where reading continues after the batch's entry i. */
static int position_behind_entry(const struct listing *listing, size_t i, struct buffer *ret)
{
    const struct batch *batch = &listing->batch;
    struct bytes position = page_position(batch->run.page, batch_row(batch, i));
    buffer_clear(ret);
    return position_append_behind(ret, listing->directory.kind == DIRECTORY_FLAT
                                           ? position_partition_key(position)
                                           : position);
}

/* The rows that were read become the batch. The one before ends where they begin. */
static int batch_replace(struct listing *listing, struct seen *seen)
{
    struct batch *batch = &listing->batch;
    bookmarks_add(&listing->bookmarks, batch->first + batch->n, buffer_bytes(&batch->end));
    int r = batch_continue(batch, batch->first + batch->n);
    if (r < 0)
        return r;
    batch->run = seen->run;
    batch->requested_ms = seen->requested_ms;
    (void)page_ref(seen->run.page);
    if (listing->directory.kind == DIRECTORY_FLAT)
        r = mark_partitions(batch);
    else
        batch->n = batch->run.end - batch->run.begin;
    return r < 0 ? r : position_behind_entry(listing, batch->n - 1, &batch->end);
}

/* How many entries the process has opened since they were listed, if it opens them in order;
 * counted up to the last bookmark before the listing. If the process has opened entries ahead of
 * this listing, it did so for another listing. */
static uint64_t count_opened(const struct listing *listing, const struct caller *caller)
{
    const struct batch *batch = &listing->batch;
    const struct bookmark *bookmark = NULL;
    struct position position;
    freshness_read_to(listing->source->read->freshness, caller->process, &listing->directory,
                      &position);
    if (bytes_compare(position_bytes(&position), buffer_bytes(&batch->end)) < 0)
        bookmark = bookmarks_find_position(&listing->bookmarks, position_bytes(&position));
    return bookmark ? MIN(bookmark->cookie, batch->first + batch->n) : 0;
}

/* Which rows follow the batch? */
static struct question next_question(const struct listing *listing, bool names_suffice)
{
    return (struct question){
        .table = listing->table,
        .range = {buffer_bytes(&listing->batch.end), buffer_bytes(&listing->hi)},
        .since = freshness_of_listing(listing->source->read->freshness, listing->began),
        .keys_suffice = names_suffice || listing->directory.kind != DIRECTORY_ENTITIES};
}

/* Would the rows after the batch have to be requested? */
static bool would_wait(const struct listing *listing, bool names_suffice)
{
    struct question question = next_question(listing, names_suffice);
    struct seen seen;
    if (range_is_empty(question.range))
        return false;
    enum knowledge known = overlay_find(listing->source->read->overlay, &question, &seen, NULL);
    run_finish(&seen.run);
    return known == KNOWN_NOT;
}

static int read_next(struct listing *listing, struct caller *caller, bool names_suffice,
                     bool may_wait, struct seen *ret)
{
    uint64_t listed = listing->batch.first + listing->batch.n;
    struct read_step step = {.directory = &listing->directory,
                             .question = next_question(listing, names_suffice),
                             .listed = listed,
                             .unopened = listed - count_opened(listing, caller)};
    if (range_is_empty(step.question.range))
        return 0;
    if (listing->matches)
        return matches_next(listing->matches, caller, step.question.range.lo, may_wait, ret);
    return read_ahead_rows(listing->source->read_ahead, caller, &listing->cursor, &step, ret);
}

/* readdir takes ENOENT for the end of the directory */
static int vanished(struct caller *caller)
{
    caller->call.failure.error = -ESTALE;
    return -ESTALE;
}

/* The batch may be incomplete, so it is given up: the next call continues from a bookmark. */
static int lose_batch(struct listing *listing, struct caller *caller, int r)
{
    listing->batch.first = NOWHERE;
    listing->batch.n = 0;
    if (listing->matches)
        matches_begin_anew(listing->matches);
    return call_fail(&caller->call, r, "no memory for a page of names");
}

/* Reads the next batch. */
static int fill(struct listing *listing, struct caller *caller, bool names_suffice, bool may_wait)
{
    struct seen seen = {0};
    uint64_t floor = range_cache_floor(listing->source->read->cache, listing->table);
    int r = read_next(listing, caller, names_suffice, may_wait, &seen);
    if (r < 0)
        return r == -ENOENT ? vanished(caller) : r;
    listing->state = r == 0 ? COMPLETE : READING;
    if (r == 0)
        return 0;
    r = batch_replace(listing, &seen);
    listing->batch.floor = floor;
    if (r == 0 && !listing->matches)
        read_cursor_took(&listing->cursor, &listing->directory, listing->batch.n, &seen);
    run_finish(&seen.run);
    return r < 0 ? lose_batch(listing, caller, r) : 0;
}

/* The entry after `cookie` is in the batch, which cannot be used: it is to be read again from that
 * entry on. */
static int read_again(struct listing *listing, uint64_t cookie)
{
    struct batch *batch = &listing->batch;
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES};
    int r = cookie == batch->first
                ? buffer_append(&position, buffer_bytes(&batch->begin))
                : position_behind_entry(listing, cookie - batch->first - 1, &position);
    listing->state = READING;
    return r < 0 ? r : batch_begin(batch, cookie, buffer_bytes(&position));
}

/* Is the batch too old, or does it lack texts that are needed now? Matches of a filter may take
 * minutes to find, so they are shown as they were. */
static bool is_unusable(const struct listing *listing, bool names_suffice)
{
    const struct batch *batch = &listing->batch;
    if (!batch->run.page || listing->matches)
        return false;
    int64_t oldest_ms =
        freshness_of_listing(listing->source->read->freshness, listing->began).requested_ms;
    return batch->requested_ms < oldest_ms ||
           (listing->directory.kind == DIRECTORY_ENTITIES && !names_suffice &&
            page_is_keys_only(batch->run.page));
}

/* Finds where to continue: the entry after `cookie` is then in the batch, or is the next one that
 * is read. */
static int seek(struct listing *listing, const struct caller *caller, uint64_t cookie,
                bool names_suffice)
{
    struct batch *batch = &listing->batch;
    if (is_to_begin(listing, cookie))
        return begin_anew(listing, caller);
    if (cookie >= batch->first) {
        bool is_inside = cookie < batch->first + batch->n;
        return is_inside && is_unusable(listing, names_suffice) ? read_again(listing, cookie) : 0;
    }
    const struct bookmark *bookmark = bookmarks_find(&listing->bookmarks, cookie);
    if (!bookmark)
        return begin_anew(listing, caller);
    listing->state = READING;
    return batch_begin(batch, bookmark->cookie, buffer_bytes(&bookmark->position));
}

/* cp -r visits a directory in the order of d_ino. So do find, grep -r, rm -r and du (fts) if it has
 * more than 10,000 names. st_ino is a hash, so its order would make them read at random: 4 and 100
 * times the requests were measured. */
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
    struct batch *batch = &listing->batch;
    struct page *page = batch->run.page;
    size_t row = batch_row(batch, i);
    struct bytes position = page_position(page, row);
    *ret = (struct listing_entry){.kind = kinds[listing->directory.kind],
                                  .key = position_partition_key(position),
                                  .cookie = batch->first + i + 1};
    if (listing->directory.kind != DIRECTORY_TABLES)
        ret->number = order_number(ret->cookie);
    if (listing->directory.kind != DIRECTORY_ENTITIES)
        return;
    ret->key = position_row_key(position);
    if (!page_is_keys_only(page))
        ret->entity = (struct entity){page, row};
}

/* Notes the form of a level that ends after `count` names. */
static void note_form(const struct listing *listing, const struct caller *caller, uint64_t count)
{
    const struct level *level = listing->level;
    if (count > 0 && directory_is_table(&listing->directory))
        forms_note(listing->source->forms, caller, listing->table, level_has_prefixes(level),
                   level_requested_ms(level));
}

static int next_of_level(struct listing *listing, struct caller *caller, uint64_t cookie,
                         bool may_wait, struct listing_entry *ret)
{
    struct freshness *freshness = listing->source->read->freshness;
    if (is_to_begin(listing, cookie) && begin_anew(listing, caller) < 0)
        return call_fail(&caller->call, -ENOMEM, "out of memory");
    note_reading(listing, caller);
    struct level_name name;
    int r = level_name(listing->level, caller, cookie, may_wait, &name);
    if (r >= 0)
        listing->state = READING;
    if (r == 0)
        note_form(listing, caller, cookie);
    if (r <= 0)
        return r == -ENOENT ? vanished(caller) : r;
    *ret = (struct listing_entry){.kind = name.is_prefix ? LISTING_PREFIX : LISTING_PARTITION,
                                  .key = name.key,
                                  .cookie = cookie + 1,
                                  .number = order_number(cookie + 1)};
    int64_t requested_ms = level_requested_ms(listing->level);
    caller->valid_ms = freshness_valid_ms(freshness, requested_ms);
    bool is_old = requested_ms < freshness_of_listing(freshness, listing->began).requested_ms;
    ret->valid_ms = is_old ? 0 : freshness_hold_ms(freshness, caller->valid_ms);
    return 1;
}

/* How long the batch's entry i is valid for lookups of its name. */
static int64_t shown_ms(const struct listing *listing, size_t i, int64_t valid_ms)
{
    const struct listing_source *source = listing->source;
    const struct batch *batch = &listing->batch;
    struct bytes position = page_position(batch->run.page, batch_row(batch, i));
    /* while it was read */
    if (overlay_is_changing(source->read->overlay, listing->table, position))
        return 0;
    if (listing->directory.kind != DIRECTORY_ENTITIES)
        return freshness_hold_ms(source->read->freshness, valid_ms);
    switch (range_cache_superseded(source->read->cache, listing->table, batch->run.page,
                                   batch_row(batch, i), batch->floor)) {
    case SUPERSEDED_NO:
        return freshness_hold_ms(source->read->freshness, valid_ms);
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
    struct batch *batch = &listing->batch;
    int r = seek(listing, caller, cookie, names_suffice);
    if (r < 0)
        return lose_batch(listing, caller, r);
    note_reading(listing, caller);
    while (cookie >= batch->first + batch->n) {
        if (listing->state == COMPLETE)
            return 0;
        if (!may_wait && !listing->matches && would_wait(listing, names_suffice))
            return -EAGAIN;
        r = fill(listing, caller, names_suffice, may_wait);
        if (r < 0)
            return r;
    }
    check(listing);
    describe(listing, cookie - batch->first, ret);
    caller->valid_ms = freshness_valid_ms(listing->source->read->freshness, batch->requested_ms);
    if (!names_suffice) /* else nothing is kept */
        ret->valid_ms = shown_ms(listing, cookie - batch->first, caller->valid_ms);
    return 1;
}

/* What is known of the range since the listing. */
static enum knowledge find_known(const struct listing *listing, struct range range)
{
    const struct read_ahead_source *read = listing->source->read;
    struct question question = {.table = listing->table,
                                .range = range,
                                .since = freshness_of_listing(read->freshness, listing->began),
                                .keys_suffice = true};
    struct seen seen;
    enum knowledge known = overlay_find(read->overlay, &question, &seen, NULL);
    run_finish(&seen.run);
    return known;
}

bool listing_knows_row(const struct listing *listing, struct range range)
{
    return find_known(listing, range) == KNOWN_ROWS;
}

bool listing_knows_none(const struct listing *listing, struct range range)
{
    return find_known(listing, range) == KNOWN_EMPTY;
}

/* Is the local directory empty, so that the listing has not shown it? Parts that are not known are
 * as this mount left them. 1, 0, -ENOMEM. */
static int is_unshown(const struct listing *listing, struct bytes lo, bool is_empty)
{
    bool is_partition = position_has_row(lo);
    struct bytes key = position_partition_key(lo);
    enum level_shows shown =
        listing->level ? level_shows(listing->level, key, !is_partition) : LEVEL_SHOWS_PREFIX;
    if (shown != LEVEL_SHOWS_PREFIX)
        return shown == LEVEL_SHOWS_NOTHING;
    _cleanup_(buffer_finish) struct buffer hi = {.max = POSITION_MAX_BYTES};
    int r = is_partition ? position_append_behind(&hi, key)
                         : prefix_append_successor(&hi, lo, listing->directory.range.hi);
    if (r < 0)
        return r;
    enum knowledge known = find_known(listing, (struct range){lo, buffer_bytes(&hi)});
    return known == KNOWN_EMPTY || (known == KNOWN_NOT && is_empty);
}

int listing_next_local(struct listing *listing, struct bytes after, struct buffer *ret_lo)
{
    struct position lo;
    bool is_empty;
    int r = 0;
    buffer_clear(ret_lo);
    for (; r == 0 && local_directories_next(listing->source->local, &listing->directory, after, &lo,
                                            &is_empty);
         after = position_bytes(&lo))
        r = is_unshown(listing, position_bytes(&lo), is_empty);
    if (r > 0 && buffer_append(ret_lo, position_bytes(&lo)) < 0)
        r = ret_lo->error;
    return r;
}
