/* SPDX-License-Identifier: MIT */
#include "cache/queue/overlay.h"

#include <assert.h>
#include <limits.h>

struct overlay {
    struct range_cache *cache;
    struct fetcher *fetcher;
    struct pending *pending;
};

/* The state of overlay_next, which goes along the question's range. */
struct search {
    struct overlay *overlay;
    struct caller *caller;
    const struct on_miss *on_miss;
    struct question rest;        /* what is not known yet; its lo is `from` after the first step */
    struct position from, until; /* until: of the last search; during a request it is free */
    struct page *page;           /* fetched at rest.range.lo; held, so that the cache keeps it */
    bool is_own;                 /* the page: this caller's request brought it */
    uint64_t ended;              /* of pending, before the request */
    bool was_in_vain;            /* at rest.range.lo */
    bool is_unproven;            /* the table at rest.range.lo */
    struct seen seen;
};

int overlay_create(struct range_cache *cache, struct fetcher *fetcher, struct pending *pending,
                   struct overlay **ret)
{
    struct overlay *overlay = calloc(1, sizeof(*overlay));
    if (!overlay)
        return -ENOMEM;
    *overlay = (struct overlay){cache, fetcher, pending};
    *ret = overlay;
    return 0;
}

void overlay_destroy(struct overlay *overlay)
{
    free(overlay);
}

/* What the page answers, as range_cache_next does. The page does not begin after range.lo. */
static enum knowledge look_into_page(struct page *page, struct range range, struct run *ret_run,
                                     struct position *ret_until)
{
    struct range covered = page_range(page);
    size_t begin = page_seek(page, range.lo), end = page_seek(page, range.hi);
    assert(bytes_compare(covered.lo, range.lo) <= 0);
    if (begin < end) {
        *ret_run = (struct run){page_ref(page), begin, end};
        return KNOWN_ROWS;
    }
    if (range_is_empty(range) || bytes_compare(covered.hi, range.hi) >= 0)
        return KNOWN_EMPTY;
    bool is_inside = bytes_compare(range.lo, covered.hi) < 0;
    position_set(ret_until, is_inside ? covered.hi : range.lo);
    return KNOWN_NOT;
}

/* What the service has, as far as it is known; page NULL: the range cache is searched. */
static enum knowledge look_at_service(struct overlay *overlay, struct page *page,
                                      const struct question *question, struct seen *ret,
                                      struct position *ret_until)
{
    if (position_is_unsettled(question->range.lo)) { /* no service has it; it may be settled soon */
        ret->was_overlaid = true;
        ret_until->size = 0;
        return KNOWN_EMPTY;
    }
    int64_t requested_ms =
        page ? question->since.requested_ms : INT64_MAX; /* of a page: or later */
    enum knowledge known =
        page ? look_into_page(page, question->range, &ret->run, ret_until)
             : range_cache_next(overlay->cache, question, &ret->run, &requested_ms, ret_until);
    ret->requested_ms = MIN(ret->requested_ms, requested_ms);
    return known;
}

static bool is_masked(struct overlay *overlay, const char *table, struct bytes position)
{
    struct etag etag;
    return pending_masked(overlay->pending, table, position, &etag);
}

bool overlay_is_changing(struct overlay *overlay, const char *table, struct bytes position)
{
    return is_masked(overlay, table, position) ||
           pending_is_changing(overlay->pending, table, position);
}

/* Is everything known up to the overlaid position? If not, the answer ends before it. */
static bool comes_to_overlaid(enum knowledge known, struct seen *seen, struct bytes overlaid,
                              const struct position *until)
{
    if (known == KNOWN_NOT)
        return bytes_compare(position_bytes(until), overlaid) >= 0;
    if (known != KNOWN_ROWS)
        return known == KNOWN_EMPTY;
    seen->run.end = MIN(seen->run.end, page_seek(seen->run.page, overlaid));
    if (seen->run.begin < seen->run.end)
        return false;
    run_finish(&seen->run);
    return true;
}

/* One look, as far as the next overlaid position in the range, which is put into ret_overlaid. An
 * enum knowledge: the answer. NOT_YET: the position has no row, and what follows it is to be looked
 * at.
 *
 * Pending is looked at first. What takes the place of a queued change or of a mask is in the range
 * cache before that ends: so either the one is seen, or the other. A queued text is a row; what is
 * masked, or is to be deleted, is left out. */
#define NOT_YET INT_MAX
static int look_to_overlaid(struct overlay *overlay, struct page *page,
                            const struct question *question, struct seen *ret,
                            struct position *ret_until, struct position *ret_overlaid)
{
    _cleanup_(entity_finish) struct entity row = {0};
    enum overlaid overlaid =
        pending_next(overlay->pending, question->table, question->range, &row, ret_overlaid);
    enum knowledge known = look_at_service(overlay, page, question, ret, ret_until);
    if (overlaid == OVERLAID_NOT ||
        !comes_to_overlaid(known, ret, position_bytes(ret_overlaid), ret_until))
        return (int)known;
    ret->was_overlaid = true;
    if (!row.page)
        return NOT_YET;
    struct page *of_row = TAKE_PTR(row.page);
    ret->run = (struct run){of_row, row.row, row.row + 1};
    return KNOWN_ROWS;
}

static enum knowledge look_beside_changes(struct overlay *overlay, struct page *page,
                                          const struct question *question, struct seen *ret,
                                          struct position *ret_until)
{
    struct question rest = *question;
    struct position behind, overlaid;
    int r;
    while ((r = look_to_overlaid(overlay, page, &rest, ret, ret_until, &overlaid)) == NOT_YET)
        rest.range.lo = position_behind(position_bytes(&overlaid), &behind);
    return (enum knowledge)r;
}

/* The rows end before the first dropped table among them. */
static enum knowledge end_before_dropped(struct overlay *overlay, struct seen *seen,
                                         struct position *ret_until)
{
    struct run *run = &seen->run;
    size_t row = run->begin;
    while (row < run->end && !is_masked(overlay, NULL, page_position(run->page, row)))
        row++;
    if (row > run->begin) {
        run->end = row;
        return KNOWN_ROWS;
    }
    position_set(ret_until, page_position(run->page, row));
    run_finish(run);
    seen->is_unproven = true;
    return KNOWN_NOT;
}

static enum knowledge look_for_tables(struct overlay *overlay, struct page *page,
                                      const struct question *question, struct seen *ret,
                                      struct position *ret_until)
{
    enum knowledge known = look_at_service(overlay, page, question, ret, ret_until);
    return known == KNOWN_ROWS ? end_before_dropped(overlay, ret, ret_until) : known;
}

static enum knowledge look(struct overlay *overlay, struct page *page,
                           const struct question *question, struct seen *ret,
                           struct position *ret_until)
{
    *ret = (struct seen){.requested_ms = INT64_MAX};
    if (!pending_has_overlay(overlay->pending))
        return look_at_service(overlay, page, question, ret, ret_until);
    return question->table ? look_beside_changes(overlay, page, question, ret, ret_until)
                           : look_for_tables(overlay, page, question, ret, ret_until);
}

enum knowledge overlay_find(struct overlay *overlay, const struct question *question,
                            struct seen *ret, struct position *ret_until)
{
    struct position own;
    return look(overlay, NULL, question, ret, ret_until ? ret_until : &own);
}

/* The page answers alone, unless a queued change or a mask has ended since the request was sent:
 * then the page may show the state before it, which the cache has replaced, and the cache was not
 * searched. pending_ended is read last. */
static enum knowledge look_into_own_page(struct search *search, struct seen *ret)
{
    const struct overlay *overlay = search->overlay;
    struct bytes lo = search->rest.range.lo;
    enum knowledge known = look(search->overlay, search->page, &search->rest, ret, &search->until);
    search->was_in_vain = pending_ended(overlay->pending) != search->ended;
    if (!search->was_in_vain)
        return known;
    run_finish(&ret->run);
    *ret = (struct seen){.requested_ms = INT64_MAX};
    position_set(&search->until, lo);
    return KNOWN_NOT;
}

/* The cache first: it may know what is younger than the page that was fetched. It may know nothing
 * even so, where the page's place was taken by others' pages, and these were evicted. Then a page
 * of our own request answers by itself: so no request is in vain, however small the cache is. A
 * page of another caller's request may be older than the question wants: then it was joined in
 * vain. */
static enum knowledge find_known(struct search *search)
{
    const struct question *rest = &search->rest;
    struct seen seen;
    enum knowledge known = overlay_find(search->overlay, rest, &seen, &search->until);
    search->was_in_vain = known == KNOWN_NOT && !seen.is_unproven && search->page &&
                          bytes_equal(position_bytes(&search->until), rest->range.lo);
    if (search->was_in_vain && search->is_own)
        known = look_into_own_page(search, &seen);
    search->is_unproven = seen.is_unproven;
    search->seen.run = seen.run;
    search->seen.requested_ms = MIN(search->seen.requested_ms, seen.requested_ms);
    search->seen.was_overlaid |= seen.was_overlaid;
    return known;
}

/* Nothing lies before `until`: the rest of the question starts there. */
static void advance(struct search *search)
{
    position_set(&search->from, position_bytes(&search->until));
    search->rest.range.lo = position_bytes(&search->from);
    page_unref(TAKE_PTR(search->page));
}

/* Ends the range where one request can end: if the range crosses a border of partitions and begins
 * or ends inside a partition, at that partition's end. */
static void end_askable(struct range *range, struct position *end)
{
    if (range_is_expressible(*range))
        return;
    struct bytes inside = position_has_row(range->lo) ? range->lo : range->hi;
    range->hi = position_behind(position_partition_key(inside), end);
}

/* The listing has a table that was dropped here. Reads it, to see whether another client has
 * created it again. If the service refuses to read it, it is not a table yet. */
static int prove_table(struct search *search)
{
    struct overlay *overlay = search->overlay;
    struct caller *caller = search->caller;
    struct bytes name = search->rest.range.lo;
    _cleanup_(freep) char *table = strndup(name.data, name.size);
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct etag drop;
    struct fetch fetch = {
        .table = table, .range = RANGE_ALL, .top = 1, .keys_only = true, .is_alone = true};
    bool is_own;
    int r = table ? 0 : -ENOMEM;
    if (r == 0 && pending_masked(overlay->pending, NULL, name, &drop))
        r = fetcher_fetch(overlay->fetcher, caller, &fetch, search->rest.since, &page, &is_own);
    if (page)
        (void)pending_unmask_version(overlay->pending, NULL, name, etag_bytes(&drop));
    if (r == -ENOMEM)
        return call_fail(&caller->call, r, "out of memory");
    if (r >= 0 || (r = caller_forgive(caller, r)) < 0)
        return r;
    (void)position_behind(name, &search->until);
    advance(search);
    return 0;
}

static int fetch_rest(struct search *search)
{
    const struct on_miss *on_miss = search->on_miss;
    const struct question *rest = &search->rest;
    struct seen *seen = &search->seen;
    struct range range = rest->range;
    end_askable(&range, &search->until);
    search->ended = pending_ended(search->overlay->pending);
    struct fetch fetch = {.table = rest->table,
                          .range = range,
                          .top = on_miss->top,
                          .keys_only = on_miss->keys_only && rest->keys_suffice,
                          .is_alone = search->was_in_vain};
    int r = fetcher_fetch(search->overlay->fetcher, search->caller, &fetch, rest->since,
                          &search->page, &search->is_own);
    if (r < 0)
        return r;
    seen->was_fetched = true;
    if (search->is_own) {
        seen->fetched_rows += page_rows(search->page);
        seen->fetched_bytes += page_bytes(search->page);
    }
    return 0;
}

int overlay_next(struct overlay *overlay, struct caller *caller, const struct question *question,
                 const struct on_miss *on_miss, struct seen *ret)
{
    struct search search = {.overlay = overlay,
                            .caller = caller,
                            .on_miss = on_miss,
                            .rest = *question,
                            .seen = {.requested_ms = INT64_MAX}};
    enum knowledge known;
    int r = 0;
    while (r == 0 && (known = find_known(&search)) == KNOWN_NOT) {
        advance(&search);
        r = search.is_unproven ? prove_table(&search) : fetch_rest(&search);
    }
    page_unref(search.page);
    if (r < 0)
        return r;
    *ret = search.seen;
    return known == KNOWN_ROWS;
}

struct page *overlay_known_page(struct overlay *overlay, const struct question *question)
{
    struct page *page = NULL;
    struct seen seen = {0};
    struct position until;
    enum knowledge known = look_at_service(overlay, NULL, question, &seen, &until);
    if (known == KNOWN_EMPTY)
        (void)page_create_empty(question->range, &page);
    else if (known == KNOWN_ROWS && range_holds(page_range(seen.run.page), question->range.lo))
        page = page_ref(seen.run.page);
    run_finish(&seen.run);
    return page;
}

bool overlay_knows_row(struct overlay *overlay, const struct question *question,
                       int64_t *ret_requested_ms)
{
    struct question rest = *question;
    struct position position, lo;
    bool is_known;
    while ((is_known = range_cache_find_row(overlay->cache, &rest, &position, ret_requested_ms)) &&
           overlay_is_changing(overlay, question->table, position_bytes(&position)))
        rest.range.lo = position_behind(position_bytes(&position), &lo);
    return is_known;
}

bool overlay_lacks(struct overlay *overlay, const struct question *question,
                   struct position *ret_until)
{
    struct question rest = *question;
    struct position lo;
    enum knowledge known;
    do {
        struct seen seen;
        known = overlay_find(overlay, &rest, &seen, ret_until);
        if (known == KNOWN_ROWS)
            rest.range.lo = position_behind(page_position(seen.run.page, seen.run.end - 1), &lo);
        run_finish(&seen.run);
    } while (known == KNOWN_ROWS && !range_is_empty(rest.range));
    return known == KNOWN_NOT;
}

/* The first `top` rows of the run as keys, in a page that covers the range up to after the last.
 */
static int make_keys(struct range range, const struct run *run, int top, struct page **ret)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct position end;
    size_t last = run->begin + MIN(run->end - run->begin, (size_t)top);
    int r = page_builder_create(PAGE_MAX_BYTES, &builder);
    for (size_t row = run->begin; r == 0 && row < last; row++)
        r = page_builder_end_row(builder, page_position(run->page, row), BYTES_LITERAL(""), 0);
    range.hi = position_behind(page_position(run->page, last - 1), &end);
    return r < 0 ? r : page_builder_finish(builder, range, true, ret);
}

int overlay_keys(struct overlay *overlay, struct caller *caller, const struct question *question,
                 int top, struct page **ret, struct seen *ret_seen)
{
    struct on_miss on_miss = {.top = top, .keys_only = true};
    struct seen seen = {0};
    int r = overlay_next(overlay, caller, question, &on_miss, &seen);
    if (r < 0)
        return r;
    r = r == 0 ? page_create_empty(question->range, ret)
               : make_keys(question->range, &seen.run, top, ret);
    run_finish(&seen.run);
    *ret_seen = seen;
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}
