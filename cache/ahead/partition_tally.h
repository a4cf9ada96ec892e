/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_PARTITION_TALLY_H
#define CACHE_AHEAD_PARTITION_TALLY_H
/* Counts rows, which are added in key order, and their partitions. One thread at a time. */
#include "client/store/page.h"

struct partition_tally { /* on the stack; zeroed at first */
    size_t rows, partitions;
    size_t last_rows;     /* of the last partition */
    struct position last; /* of the last row; empty: none was counted */
};

/* Adds the first `limit` rows of the run, which lies after all rows so far. */
void partition_tally_add(struct partition_tally *tally, const struct run *run, size_t limit);

#endif
