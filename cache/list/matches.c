/* SPDX-License-Identifier: MIT */
#include "cache/list/matches.h"
#include "client/filter/filter.h"

struct matches {
    const struct listing_source *source;
    const struct directory *directory;
    struct filter *filter;
    struct prefetcher *prefetcher; /* NULL: none runs */
    struct stamp since;            /* the start of the scan */
    struct buffer at;              /* where the caller read from last */
    struct run rows; /* taken from the prefetcher; the caller has not reached its end */
};

int matches_create(const struct listing_source *source, const struct directory *directory,
                   struct matches **ret)
{
    struct filter_error error;
    _cleanup_(matches_destroyp) struct matches *matches = calloc(1, sizeof(*matches));
    if (!matches)
        return -ENOMEM;
    matches->source = source;
    matches->directory = directory;
    buffer_init(&matches->at, POSITION_MAX_BYTES);
    int r = filter_create(bytes_of(directory->filter), &matches->filter, &error);
    if (r == 0)
        *ret = TAKE_PTR(matches);
    return r;
}

void matches_begin_anew(struct matches *matches)
{
    prefetcher_leave(TAKE_PTR(matches->prefetcher));
    run_finish(&matches->rows);
    matches->rows = (struct run){0};
}

void matches_destroy(struct matches *matches)
{
    if (!matches)
        return;
    matches_begin_anew(matches);
    filter_destroy(matches->filter);
    buffer_finish(&matches->at);
    free(matches);
}

static bool are_keys(const struct matches *matches)
{
    return matches->directory->kind != DIRECTORY_ENTITIES;
}

static int begin(struct matches *matches, struct caller *caller, struct bytes lo)
{
    const struct directory *directory = matches->directory;
    const struct read_ahead_apart apart = {.table = directory->table,
                                           .range = {lo, directory->range.hi},
                                           .keys_only = are_keys(matches),
                                           .filter = matches->filter,
                                           .is_kept = true};
    matches_begin_anew(matches);
    matches->since = stamp_since(clock_now_ms(matches->source->read->clock));
    return read_ahead_apart(matches->source->read_ahead, caller, &apart, &matches->prefetcher);
}

/* What is known of the row from answers and changes since the scan began. Older knowledge does not
 * count: another client may have stored the row again. */
static enum knowledge find_known(const struct matches *matches, const struct page *page, size_t row,
                                 struct seen *ret)
{
    struct position end;
    const struct question question = {.table = matches->directory->table,
                                      .range = range_of_one(page_position(page, row), &end),
                                      .since = matches->since,
                                      .keys_suffice = are_keys(matches)};
    return overlay_find(matches->source->read->overlay, &question, ret, NULL);
}

/* Is the scanned row still what is known of it? If not, ret->run has the row to show instead, if
 * there is one. */
static bool is_current(const struct matches *matches, const struct page *page, size_t row,
                       struct seen *ret)
{
    enum knowledge known = find_known(matches, page, row, ret);
    if (known == KNOWN_NOT) {
        ret->requested_ms = matches->since.requested_ms;
        return true;
    }
    if (known == KNOWN_EMPTY)
        return false;
    const struct run *now = &ret->run;
    if (now->page == page || are_keys(matches) ||
        bytes_equal(page_etag(now->page, now->begin), page_etag(page, row)))
        return true;
    if (filter_matches(matches->filter, page_position(now->page, now->begin),
                       page_text(now->page, now->begin),
                       page_timestamp(now->page, now->begin)) != 1)
        run_finish(&ret->run);
    return false;
}

/* As many of the rows as are current; or the one that is shown in place of the first. False: the
 * first one is not shown. */
static bool choose(struct matches *matches, struct seen *ret)
{
    struct run *rows = &matches->rows;
    size_t end = rows->begin;
    bool is_shown = true;
    *ret = (struct seen){.requested_ms = INT64_MAX};
    while (is_shown && end < rows->end) {
        struct seen now = {.requested_ms = INT64_MAX};
        is_shown = is_current(matches, rows->page, end, &now);
        if (is_shown) {
            ret->requested_ms = MIN(ret->requested_ms, now.requested_ms);
            end++;
        } else if (end == rows->begin && now.run.page) {
            rows->begin++;
            *ret = now;
            return true;
        }
        run_finish(&now.run);
    }
    if (end > rows->begin)
        ret->run = (struct run){page_ref(rows->page), rows->begin, end};
    rows->begin = MAX(end, rows->begin + 1);
    return ret->run.page;
}

/* Takes what the scan has after the rows. As matches_next. */
static int take(struct matches *matches, struct caller *caller, bool may_wait)
{
    struct scan_item item = {0};
    run_finish(&matches->rows);
    matches->rows = (struct run){0};
    int r = prefetcher_next(matches->prefetcher, caller, may_wait, &item);
    if (r > 0)
        matches->rows = item.rows;
    return r;
}

static int seek(struct matches *matches, struct caller *caller, struct bytes lo)
{
    int r = 0;
    if (!matches->prefetcher || bytes_compare(lo, buffer_bytes(&matches->at)) < 0)
        r = begin(matches, caller, lo);
    if (r == 0 && buffer_set(&matches->at, lo) < 0)
        r = call_fail(&caller->call, -ENOMEM, "out of memory");
    return r;
}

int matches_next(struct matches *matches, struct caller *caller, struct bytes lo, bool may_wait,
                 struct seen *ret)
{
    struct run *rows = &matches->rows;
    if (position_is_unsettled(matches->directory->range.lo)) /* the service cannot have it */
        return 0;
    int r = seek(matches, caller, lo);
    bool is_chosen = false;
    while (r >= 0 && !is_chosen) {
        if (rows->page)
            rows->begin = MAX(rows->begin, page_seek(rows->page, lo));
        bool has_rows = rows->page && rows->begin < rows->end;
        if (has_rows)
            is_chosen = choose(matches, ret);
        else if ((r = take(matches, caller, may_wait)) == 0)
            return 0;
    }
    return r < 0 ? r : 1;
}
