/* SPDX-License-Identifier: MIT */
#include "cache/ahead/rows_first.h"

#define TRAVERSED_BYTES   ((size_t)16 << 20) /* what is visited within seconds */
#define DENSE_AHEAD_BYTES ((size_t)4 << 20)  /* some pages: they may turn out not to be needed */
/* If the range is expected to have more than DENSE_ROWS rows, this module reads DENSE_FIRST_ROWS of
 * them. A scan of keys reads the rest faster. */
#define DENSE_FIRST_ROWS 24000
#define DENSE_ROWS       64000
#define SHORT_PAGES      4 /* within one partition, in addition to one a partition */

static int read_traversed(const struct rows_first *rows_first, struct caller *caller,
                          const struct question *question, const struct owned_range *whole)
{
    struct question rest = *question;
    struct traversal_step step = {
        .whole = whole, .begin = question->range.lo, .since = question->since, .must_fit = true};
    size_t bytes = 0;
    int r;
    struct position until, next;
    do {
        _cleanup_(page_unrefp) struct page *page = NULL;
        bool lacks = overlay_lacks(rows_first->prefetchers->overlay, &rest, &next);
        bool is_stuck = bytes > 0 && bytes_equal(position_bytes(&next), position_bytes(&until));
        position_set(&until, position_bytes(&next));
        rest.range.lo = step.position = position_bytes(&until);
        r = REACH_NOT; /* is_stuck: another thread of the process took it, and it was evicted */
        if (lacks && !is_stuck)
            r = traversals_reach(rows_first->traversals, caller, &step, &page);
        bytes += page ? page_bytes(page) : 1;
    } while (r == REACH_IN_CACHE && bytes < TRAVERSED_BYTES);
    return MIN(r, 0);
}

/* Is nothing known at the start of the range? If something is, it is likely that names were read
 * there. */
static bool is_new(const struct rows_first *rows_first, const struct question *question)
{
    struct seen seen = {0};
    struct position until;
    enum knowledge known = overlay_find(rows_first->prefetchers->overlay, question, &seen, &until);
    run_finish(&seen.run);
    return known == KNOWN_NOT && bytes_equal(position_bytes(&until), question->range.lo);
}

struct dense {
    struct partition_tally tally;
    size_t pages, bytes;
    size_t fanout; /* estimated from the first page */
};

/* Are few rows expected until more than `fanout` partitions are counted? */
static bool is_few(const struct dense *dense)
{
    const struct partition_tally *tally = &dense->tally;
    return tally->rows / tally->partitions * dense->fanout <= DENSE_ROWS;
}

/* Should one more page be read? Not if a partition takes a whole page, if many pages lie within one
 * partition, or if too many rows would follow. Pieces of the scan may end in short pages:
 * SHORT_PAGES allows for them. */
static bool count_page(struct dense *dense, const struct rows_first *rows_first,
                       const struct run *run)
{
    const struct partition_tally *tally = &dense->tally;
    partition_tally_add(&dense->tally, run, run->end - run->begin);
    if (dense->pages++ == 0)
        dense->fanout = (size_t)fanout_of_tally(rows_first->fanout, tally);
    dense->bytes += page_bytes(run->page);
    return tally->last_rows < TABLE_STORE_PAGE_ROWS &&
           dense->pages <= tally->partitions + SHORT_PAGES && tally->partitions <= dense->fanout &&
           (tally->rows <= DENSE_FIRST_ROWS || is_few(dense)) &&
           dense->bytes < rows_first->cache_bytes / 4 * 3;
}

/* How many more pages are to be read, if the next ones hold as many partitions and rows as those so
 * far. */
static size_t pages_to_read(const struct dense *dense)
{
    const struct partition_tally *tally = &dense->tally;
    size_t rows = is_few(dense)
                      ? (dense->fanout - tally->partitions) * tally->rows / tally->partitions
                      : DENSE_FIRST_ROWS - tally->rows;
    return rows * dense->pages / tally->rows + 1;
}

/* 1: rows may follow those that were seen; 0: none do; or -errno. */
static int read_pages(const struct rows_first *rows_first, struct caller *caller,
                      struct prefetcher *prefetcher, struct dense *dense)
{
    struct scan_item item = {0};
    bool continues = true;
    int r;
    while (continues && (r = prefetcher_next(prefetcher, caller, true, &item)) > 0) {
        continues = count_page(dense, rows_first, &item.rows);
        run_finish(&item.rows);
        if (continues)
            prefetcher_want(prefetcher, pages_to_read(dense));
    }
    return r;
}

static int read_dense(const struct rows_first *rows_first, struct caller *caller,
                      const struct question *question)
{
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = NULL;
    struct dense dense = {0};
    struct prefetcher_options options = {.kind = READ_ROWS,
                                         .table = question->table,
                                         .range = question->range,
                                         .since = question->since,
                                         .ahead_bytes = DENSE_AHEAD_BYTES};
    int r = prefetcher_create(rows_first->prefetchers, &options, caller, &prefetcher);
    if (r < 0)
        return r;
    r = read_pages(rows_first, caller, prefetcher, &dense);
    return caller_forgive(caller, MIN(r, 0));
}

int rows_first_read(const struct rows_first *rows_first, struct caller *caller,
                    const struct question *question, const struct owned_range *whole)
{
    if (whole)
        return read_traversed(rows_first, caller, question, whole);
    bool may_return = caller->process != 0; /* for the rows */
    return may_return && is_new(rows_first, question) ? read_dense(rows_first, caller, question)
                                                      : 0;
}
