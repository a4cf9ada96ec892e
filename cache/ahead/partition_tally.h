/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_PARTITION_TALLY_H
#define CACHE_AHEAD_PARTITION_TALLY_H
/* Counts rows, which are added in key order, and their partitions. One thread at a time. */
#include "client/store/page.h"

struct partition_tally { /* embedded, or on the stack */
    size_t rows, partitions;
    size_t last_rows;   /* of the last partition */
    struct buffer last; /* position of the last row; empty: none was counted */
};

void partition_tally_init(struct partition_tally *tally);
void partition_tally_finish(struct partition_tally *tally);
/* Adds the first `limit` rows of the run, which lies after all rows so far. 0 or -ENOMEM. */
int partition_tally_add(struct partition_tally *tally, const struct run *run, size_t limit);

#endif
