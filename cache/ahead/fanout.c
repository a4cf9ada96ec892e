/* SPDX-License-Identifier: MIT */
#include "cache/ahead/fanout.h"

struct count { /* of a level's first rows */
    struct overlay *overlay;
    struct fetcher *fetcher;
    struct caller *caller;
    const struct question *question;
    struct question rest; /* after what was counted */
    struct position from; /* its start */
    struct partition_tally tally;
    struct page *page; /* of the level's begin, if it was fetched; held, so that it stays known */
};

/* Fetches the whole page, including what is known of it: so one request fills all gaps. */
static int fetch_first_page(struct count *count)
{
    const struct question *question = count->question;
    struct fetch fetch = {.table = question->table,
                          .range = question->range,
                          .top = TABLE_STORE_PAGE_ROWS,
                          .keys_only = true};
    bool is_own;
    return fetcher_fetch(count->fetcher, count->caller, &fetch, question->since, &count->page,
                         &is_own);
}

/* As overlay_next. */
static int next_rows(struct count *count, struct seen *ret)
{
    const struct on_miss on_miss = {.top = TABLE_STORE_PAGE_ROWS, .keys_only = true};
    enum knowledge known = overlay_find(count->overlay, &count->rest, ret, NULL);
    int r = 0;
    if (known != KNOWN_NOT)
        return known == KNOWN_ROWS;
    if (!count->page)
        r = fetch_first_page(count);
    return r < 0 ? r : overlay_next(count->overlay, count->caller, &count->rest, &on_miss, ret);
}

/* 1: more rows may follow; 0: none do; or -errno. */
static int count_more(struct count *count)
{
    struct seen seen = {0};
    int r = next_rows(count, &seen);
    if (r <= 0)
        return r;
    partition_tally_add(&count->tally, &seen.run, TABLE_STORE_PAGE_ROWS - count->tally.rows);
    count->rest.range.lo = position_behind(position_bytes(&count->tally.last), &count->from);
    run_finish(&seen.run);
    return !range_is_empty(count->rest.range);
}

int fanout_of_level(int fanout, struct overlay *overlay, struct fetcher *fetcher,
                    struct caller *caller, const struct question *question, int *ret)
{
    struct count count = {.overlay = overlay,
                          .fetcher = fetcher,
                          .caller = caller,
                          .question = question,
                          .rest = *question};
    int r = 1;
    count.rest.keys_suffice = true;
    while (r > 0 && fanout == 0 && count.tally.rows < TABLE_STORE_PAGE_ROWS &&
           count.tally.partitions < FANOUT_MANY_PARTITIONS)
        r = count_more(&count);
    *ret = fanout_of_tally(fanout, &count.tally);
    page_unref(count.page);
    return MIN(r, 0);
}
