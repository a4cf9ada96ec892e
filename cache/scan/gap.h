/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_GAP_H
#define CACHE_SCAN_GAP_H
/* The gap of a chunk: the range between the rows that a page has shown and the end of the chunk.
 * scan_split never reads most gaps. It estimates how many rows a gap has: the density of the rows
 * before and after it, times its width. Both are measured along one axis of keys, by the key
 * model: along row keys if the gap ends with its partition, else along partition keys. Pure; one
 * thread.
 *
 * A chunk's `pages_left` is the number of rows (not of pages) that its gap is expected to have.
 * Infinite: nothing is known of the gap, and its beginning is to be read. */
#include "cache/scan/chunk.h"
#include "cache/scan/key_model.h"

/* What is known along one axis of keys: `rows` rows between two keys. */
struct gap_stretch {
    struct bytes first, last;
    double rows; /* negative: unknown */
};

/* A gap along one axis of keys. */
struct gap_axis {
    const struct key_model *model;
    struct bytes partition_key; /* of a gap along row keys; else data is NULL */
    struct gap_stretch left, right;
    struct bytes end; /* the key at the end of the gap; data NULL: all keys */
    bool is_unbounded;
    double shown;             /* rows before the gap, on this axis */
    double others;            /* rows after it; of row keys */
    struct bytes first, last; /* of row keys: of the rows before and after it */
    bool is_lone;             /* of row keys: one page of the partition was read */
};

/* Places in the key model, all of keys with the same beginning. */
struct gap_line {
    struct bytes common;
    double begin, end; /* of the gap */
    double rows;       /* expected in it */
    double by_model;   /* the same, if keys continue only as the model has learned */
    double cut;        /* where it is cut: a part of its width */
};

struct gap_models { /* of one scan */
    struct key_model *partition_keys, *row_keys;
};

struct range gap_range_of(const struct chunk *chunk);
bool gap_is_known(const struct chunk *chunk);  /* not infinite */
double gap_rows(const struct chunk *chunk);    /* those that the chunk has shown, and expected */
bool gap_is_inside(const struct chunk *chunk); /* along row keys */
/* Has the chunk shown rows, the first of this partition? */
bool gap_is_of_partition(const struct chunk *chunk, struct bytes key);
const struct run *gap_last_run(const struct chunk *chunk); /* the page before the gap; or NULL */
size_t gap_first_of_last(const struct run *run); /* the first row of the page's last partition */

/* The axis of a gap; views of the chunk and its neighbours. A gap along row keys has rows before
 * it. Of one along partition keys left.rows is negative where rows of one partition alone are. */
void gap_find_axis(const struct gap_models *models, const struct chunk *chunk,
                   struct gap_axis *ret);
/* Of an unbounded gap: appends the first key after all keys that share a beginning with the last
 * key: the shortest beginning whose keys end inside the gap. So each answer there shows how far the
 * keys go, or bounds them.
 * Appends nothing if only keys are left that share all that a page's keys share. 0 or -ENOMEM. */
int gap_append_rung(const struct gap_axis *axis, struct buffer *ret);
void gap_draw_line(const struct gap_axis *axis, double page_rows, struct gap_line *ret);

#endif
