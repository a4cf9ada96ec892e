/* SPDX-License-Identifier: MIT */
#include "cache/bulk/comparison.h"
#include "cache/account.h"

#define TWIN_PAGES 2 /* of each side: if all their ETags are equal, both sides are one table */

struct comparison {
    struct compare compare;
    struct comparison_side {
        struct compared_table table;
        struct row_stream *stream;
        uint64_t rows, pages;
    } sides[COMPARE_SIDES];
    enum compare_side failed;
    bool may_be_one;
    uint64_t equal_keys, equal_etags; /* as long as they may be one */
};

int comparison_create(const struct compared_table tables[COMPARE_SIDES], bool may_be_one,
                      struct comparison **ret)
{
    _cleanup_(comparison_destroyp) struct comparison *comparison = calloc(1, sizeof(*comparison));
    if (!comparison)
        return call_fail(&tables[COMPARE_FROM].caller->call, -ENOMEM, "out of memory");
    comparison->may_be_one = may_be_one;
    for (int side = 0; side < COMPARE_SIDES; side++) {
        const struct compared_table *table = &tables[side];
        struct comparison_side *at = &comparison->sides[side];
        at->table = *table;
        if (range_is_empty(table->directory.range))
            continue;
        int r = account_stream_rows(table->account, table->caller, &table->directory,
                                    &(struct row_choice){0}, &at->stream);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(comparison);
    return 0;
}

void comparison_destroy(struct comparison *comparison)
{
    if (!comparison)
        return;
    compare_finish(&comparison->compare);
    for (int side = 0; side < COMPARE_SIDES; side++)
        row_stream_close(comparison->sides[side].stream);
    free(comparison);
}

enum compare_side comparison_failed(const struct comparison *comparison)
{
    return comparison->failed;
}

uint64_t comparison_read(const struct comparison *comparison, enum compare_side side)
{
    return comparison->sides[side].rows;
}

/* Ends the comparison of ETags. -ENOTUNIQ: both sides are one table. */
static int check_twins(struct comparison *comparison)
{
    bool is_one = comparison->may_be_one && comparison->equal_keys > 0 &&
                  comparison->equal_etags == comparison->equal_keys;
    comparison->may_be_one = false;
    return is_one ? -ENOTUNIQ : 0;
}

static void note_etags(struct comparison *comparison, const struct pair *pair)
{
    const struct pair_row *from = &pair->sides[COMPARE_FROM], *to = &pair->sides[COMPARE_TO];
    if (!comparison->may_be_one || !from->page || !to->page)
        return;
    comparison->equal_keys++;
    comparison->equal_etags +=
        bytes_equal(page_etag(from->page, from->row), page_etag(to->page, to->row));
}

static int read_side(struct comparison *comparison, enum compare_side side)
{
    struct comparison_side *at = &comparison->sides[side];
    struct run rows = {0};
    if (at->pages == TWIN_PAGES && check_twins(comparison) < 0)
        return -ENOTUNIQ;
    int r = at->stream ? row_stream_next(at->stream, at->table.caller, &rows) : 0;
    if (r < 0)
        comparison->failed = side;
    if (r == 0)
        compare_give_end(&comparison->compare, side);
    if (r <= 0)
        return r;
    at->rows += rows.end - rows.begin;
    at->pages++;
    compare_give(&comparison->compare, side, &rows);
    return 0;
}

int comparison_next(struct comparison *comparison, struct pair *ret)
{
    for (;;) {
        enum compare_step step = compare_next(&comparison->compare, ret);
        if (step == COMPARE_END)
            return check_twins(comparison);
        if (step == COMPARE_PAIR) {
            note_etags(comparison, ret);
            return 1;
        }
        int r = read_side(comparison, step == COMPARE_NEEDS_FROM ? COMPARE_FROM : COMPARE_TO);
        if (r < 0)
            return r;
    }
}
