/* SPDX-License-Identifier: MIT */
#include "cache/ahead/row_reader.h"
#include "cache/ahead/held_pages.h"

#define NEAR_FETCHES 3 /* a position that needs more requests is too far ahead */

struct row_reader {
    struct prefetcher *prefetcher;
    struct buffer frontier; /* everything before it was taken */
    bool is_traversal;
    struct held_pages held; /* of a traversal */
};

int row_reader_create(const struct prefetcher_source *source,
                      const struct prefetcher_options *options, struct caller *opener,
                      struct row_reader **ret)
{
    _cleanup_(row_reader_destroyp) struct row_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return call_fail(&opener->call, -ENOMEM, "out of memory");
    held_pages_init(&reader->held);
    buffer_init(&reader->frontier, POSITION_MAX_BYTES);
    reader->is_traversal = options->is_traversal;
    int r = prefetcher_create(source, options, opener, &reader->prefetcher);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(reader);
    return 0;
}

void row_reader_destroy(struct row_reader *reader)
{
    if (!reader)
        return;
    prefetcher_leave(reader->prefetcher);
    held_pages_finish(&reader->held);
    buffer_finish(&reader->frontier);
    free(reader);
}

/* A traversal has taken the page, and visits it later. Where there is no room for all of them, the
 * first ones are given up. */
static void hold(struct row_reader *reader, struct page *page)
{
    if (!reader->is_traversal)
        return;
    held_pages_add(&reader->held, page);
    held_pages_limit(&reader->held, prefetcher_share_bytes(reader->prefetcher));
    prefetcher_set_held(reader->prefetcher, reader->held.bytes);
}

/* The frontier moves after the item. NULL: after everything. */
static int move_frontier(struct row_reader *reader, const struct scan_item *item)
{
    struct bytes last = BYTES_LITERAL("");
    if (item)
        last = item->kind == SCAN_ROWS ? page_position(item->rows.page, item->rows.end - 1)
                                       : item->key;
    buffer_clear(&reader->frontier);
    (void)buffer_append(&reader->frontier, last);
    return buffer_append_string(&reader->frontier, item ? POSITION_AFTER : POSITION_END);
}

/* Takes one item; its page takes the place of the one before. 0, or -errno. */
static int pass_item(struct row_reader *reader, struct caller *caller, struct page **page)
{
    struct scan_item item = {0};
    int r = prefetcher_next(reader->prefetcher, caller, true, &item);
    if (r < 0)
        return r;
    if (r > 0)
        hold(reader, item.rows.page);
    page_unref(*page);
    *page = item.rows.page;
    r = move_frontier(reader, r > 0 ? &item : NULL);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

static bool is_passed(const struct row_reader *reader, struct bytes position)
{
    return bytes_compare(position, buffer_bytes(&reader->frontier)) < 0;
}

int row_reader_reach(struct row_reader *reader, struct caller *caller, struct bytes position,
                     bool must_fit, struct page **ret_page)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int fetches = 0; /* items for which a request was answered meanwhile */
    if (is_passed(reader, position))
        return REACH_NOT;
    while (!is_passed(reader, position)) {
        size_t before = prefetcher_fetched(reader->prefetcher);
        if (fetches > NEAR_FETCHES)
            return REACH_NOT;
        if (must_fit &&
            !held_pages_have_room(&reader->held, prefetcher_share_bytes(reader->prefetcher)))
            return REACH_FULL;
        int r = pass_item(reader, caller, &page);
        if (r < 0)
            return r;
        fetches += prefetcher_fetched(reader->prefetcher) > before;
    }
    *ret_page = TAKE_PTR(page);
    return REACH_IN_CACHE;
}

void row_reader_follow(struct row_reader *reader, struct bytes position)
{
    struct scan_item item = {0};
    while (!is_passed(reader, position) && prefetcher_take(reader->prefetcher, &item)) {
        hold(reader, item.rows.page);
        int r = move_frontier(reader, &item);
        run_finish(&item.rows);
        if (r < 0)
            break;
    }
    held_pages_pass(&reader->held, position);
    prefetcher_set_held(reader->prefetcher, reader->held.bytes);
    prefetcher_run_ahead(reader->prefetcher);
}
