#ifndef CACHE_SCAN_ROW_SPLITTER_H
#define CACHE_SCAN_ROW_SPLITTER_H
/* Divider: judges from the pages seen how much of a chunk is left, and where to divide it. Pure;
 * one thread. */
#include "cache/scan/chunk.h"
#include "cache/scan/ladder.h"

struct row_splitter { /* of one scan */
    size_t page_rows;
    struct key_model *partition_keys, *row_keys;
    struct buffer greatest; /* position with the greatest row key seen: siblings may reach as far */
    size_t partitions;      /* seen; some may be counted twice */
};

int row_splitter_init(struct row_splitter *splitter, size_t page_rows);
void row_splitter_finish(struct row_splitter *splitter);

/* `previous`: the position of the row before, or one further before; empty: there is none. */
int row_splitter_learn(struct row_splitter *splitter, struct bytes previous, const struct run *run);

enum split_kind {
    SPLIT_NONE,      /* nothing is known of where its keys lie */
    SPLIT_EVEN,      /* keys are spread as the model has it */
    SPLIT_GALLOP,    /* they were, but lately are much denser: look near first, then further */
    SPLIT_LADDER,    /* keys share a long beginning: where does it end? */
    SPLIT_PARTITION, /* it is reading in one partition and reaches behind it */
};

struct split_plan {
    enum split_kind kind;
    double pages; /* left behind the cursor */
    /* the keys that are divided: row keys of one partition, or partition keys */
    const struct key_model *model;
    bool is_inside;         /* row keys */
    struct bytes last;      /* the last one seen: a view of the chunk's */
    size_t common, shared;  /* bytes of it that all keys share, that the last page's shared */
    double begin, end;      /* the places of the last key and of the end */
    double page_width;      /* so much place takes a page */
    bool is_ladder;         /* of SPLIT_PARTITION: how the partitions behind it are found */
    bool is_nearly_through; /* of it: its rest is not worth a request */
    bool has_siblings;      /* of it: other partitions were seen, so there may be more */
};

/* The chunk has shown a row. */
void row_splitter_plan(const struct row_splitter *splitter, const struct chunk *chunk,
                       struct split_plan *ret);
/* Where the `index`-th of `pieces` pieces begins, index from 1, when the first page behind the
 * cursor is on its way and the next `reach` pages are to be divided. It may lie anywhere: at the
 * cursor or before it, or behind the end, too. Appends nothing: there is no such place. */
int row_splitter_append_point(const struct split_plan *plan, const struct chunk *chunk, int index,
                              int pieces, double reach, struct buffer *ret);

#endif
