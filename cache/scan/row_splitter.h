/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_ROW_SPLITTER_H
#define CACHE_SCAN_ROW_SPLITTER_H
/* Row splitter: estimates from the pages seen how much of a chunk is left, and where to split it.
 * Pure; one thread.
 *
 * Partitions mostly have similar row keys: what one shows tells where the rows of the next lie. A
 * time series with a partition a day is different: the row keys of each day go on where those of
 * the day before ended. There a partition is expected to be as long as the others, counted in rows,
 * and as dense as its own pages. */
#include "cache/scan/chunk.h"
#include "cache/scan/ladder.h"

struct row_splitter { /* of one scan */
    size_t page_rows;
    struct key_model *partition_keys, *row_keys;
    struct buffer greatest; /* the position with the greatest row key seen: the row keys of other
                               partitions are expected to reach as far */
    size_t partitions;      /* seen; some may be counted twice */
    size_t rows;            /* seen */
    struct buffer sample_first, sample_last; /* positions: of the last page that began a partition
                                                and lay within it */
    bool is_series; /* the row keys of the last two such pages did not overlap: the row keys of one
                       partition say nothing about those of the next */
};

int row_splitter_init(struct row_splitter *splitter, size_t page_rows);
void row_splitter_finish(struct row_splitter *splitter);

/* `previous`: a position before the run, best that of the row before it; empty: none. is_known: no
 * row of the run's first partition lies between `previous` and the run. */
int row_splitter_learn(struct row_splitter *splitter, struct bytes previous, const struct run *run,
                       bool is_known);

enum split_kind {
    SPLIT_NONE,      /* no row was seen where the chunk reads: no cut */
    SPLIT_EVEN,      /* keys are spread as the model expects: pieces of equal width */
    SPLIT_GALLOP,    /* the last page was much denser than the model: cuts at growing distances */
    SPLIT_LADDER,    /* keys share a long beginning: cuts where it may end (ladder.h) */
    SPLIT_PARTITION, /* the chunk reads inside one partition and ends behind it: a cut at the
                        partition's end, and cuts where others are expected */
};

struct split_plan {
    enum split_kind kind;
    double pages; /* left behind the cursor */
    /* the keys of the cuts: row keys of one partition, or partition keys */
    const struct key_model *model;
    bool is_inside;         /* row keys of one partition */
    struct bytes last;      /* the last key seen: a view of the chunk's */
    size_t common, shared;  /* how many bytes of it all keys share, and the last page's keys */
    double begin, end;      /* the places of the last key and of the end in the model */
    double page_width;      /* the places that one page covers */
    bool is_ladder;         /* of SPLIT_PARTITION: others are sought by a ladder, not evenly */
    bool is_nearly_through; /* of it: the rest of the partition comes with the next page */
    bool has_siblings;      /* of it: other partitions were seen, so more are expected */
};

/* The chunk must have shown a row. */
void row_splitter_plan(const struct row_splitter *splitter, const struct chunk *chunk,
                       struct split_plan *ret);
/* Appends the position where piece `index` of `pieces` begins; piece 0 stays with the chunk. The
 * page at the cursor is on its way; the `reach` pages behind it are split. The position may also
 * lie before the cursor or behind the end: the caller must check it. Appends nothing if there is no
 * such place. */
int row_splitter_append_point(const struct split_plan *plan, const struct chunk *chunk, int index,
                              int pieces, double reach, struct buffer *ret);

#endif
