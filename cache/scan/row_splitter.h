/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_ROW_SPLITTER_H
#define CACHE_SCAN_ROW_SPLITTER_H
/* Row splitter: estimates from the pages so far how many pages of a chunk are left, and where to
 * split it. Pure; one thread.
 *
 * Mostly, all partitions have similar row keys: the rows of one show where those of the next lie.
 * A time series with a partition for each day is different: the row keys of each day begin where
 * those of the day before ended. Then a partition is expected to have as many rows as the others,
 * as dense as on its own pages. */
#include "cache/scan/chunk.h"
#include "cache/scan/ladder.h"

struct row_splitter { /* of one scan */
    size_t page_rows;
    struct key_model *partition_keys, *row_keys;
    struct buffer greatest; /* the position with the greatest row key so far: the last row key of
                               each other partition is expected to be about as great */
    size_t partitions;      /* so far; some may be counted twice */
    size_t rows;            /* so far */
    struct buffer sample_first, sample_last; /* first and last position of the latest sample: a page
                                                whose rows are the first ones of one partition */
    bool is_series; /* a time series: the row keys of the last two samples did not overlap */
};

int row_splitter_init(struct row_splitter *splitter, size_t page_rows);
void row_splitter_finish(struct row_splitter *splitter);

/* Learns from the run. `previous`: a position before it, if possible of the row directly before;
 * empty: none. is_known: it is known that no row of the run's first partition lies between
 * `previous` and the run. */
int row_splitter_learn(struct row_splitter *splitter, struct bytes previous, const struct run *run,
                       bool is_known);

enum split_kind {
    SPLIT_NONE,      /* no cut: the rest lies in one partition, of which no row was read yet */
    SPLIT_EVEN,      /* pieces of equal width: keys are spread as the model expects */
    SPLIT_GALLOP,    /* cuts at growing distances: the last page was much denser than expected */
    SPLIT_LADDER,    /* cuts of ladder.h: keys share a long beginning */
    SPLIT_PARTITION, /* a cut at the end of the partition in which the chunk reads, and cuts after
                        it where other partitions are expected */
};

struct split_plan {
    enum split_kind kind;
    double pages; /* estimated, after the cursor */
    /* cuts are at row keys of one partition, or at partition keys: */
    const struct key_model *model; /* of these keys */
    bool is_inside;                /* row keys of one partition */
    struct bytes last;             /* the last key read: a view of the chunk's */
    size_t common, shared;  /* all keys start with its first `common` bytes, and those of the last
                               page with its first `shared` bytes */
    double begin, end;      /* places in the model: of the last key, and of the chunk's end */
    double page_width;      /* by how much places grow over one page */
    bool is_ladder;         /* SPLIT_PARTITION: cuts after it are those of a ladder, not even */
    bool is_nearly_through; /* SPLIT_PARTITION: the next page has the rest of the partition */
    bool has_siblings;      /* SPLIT_PARTITION: others were read before, so more are expected */
};

/* Makes the plan. The chunk must have read a row. */
void row_splitter_plan(const struct row_splitter *splitter, const struct chunk *chunk,
                       struct split_plan *ret);
/* Appends the position where piece `index` of `pieces` begins; the chunk itself keeps piece 0.
 * SPLIT_EVEN: the next page stays in piece 0, because it is already requested, and the `reach`
 * pages after it are split. The position may lie before the cursor or after the end: the caller
 * must check it. Appends nothing if the plan gives no position. */
int row_splitter_append_point(const struct split_plan *plan, const struct chunk *chunk, int index,
                              int pieces, double reach, struct buffer *ret);

#endif
