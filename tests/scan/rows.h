/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCAN_ROWS_H
#define TESTS_SCAN_ROWS_H
/* The rows of a simulated table: sorted positions, nothing else, so that a million are cheap. Out
 * of memory ends the program. One thread. */
#include "client/base/position.h"

struct rows {
    struct bytes *positions;
    size_t count, capacity;
    char *block; /* where the next positions are copied; blocks are chained by their first bytes */
    size_t block_left;
    bool is_sorted;
};

void rows_init(struct rows *rows);
void rows_finish(struct rows *rows);
void rows_add(struct rows *rows, struct bytes partition_key, struct bytes row_key); /* any order */
void rows_add_strings(struct rows *rows, const char *partition_key, const char *row_key);
void rows_sort(struct rows *rows); /* drops what is there twice; before the table is asked */
size_t rows_seek(const struct rows *rows, struct bytes position); /* first at or after it */
/* of a sorted table; false: it was there already, or was not there */
bool rows_insert(struct rows *rows, struct bytes position);
bool rows_remove(struct rows *rows, struct bytes position);

/* Chance: the same for the same seed. */
uint64_t random_next(uint64_t *seed);
uint64_t random_below(uint64_t *seed, uint64_t n);
bool random_percent(uint64_t *seed, int percent);

#endif
