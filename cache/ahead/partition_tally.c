/* SPDX-License-Identifier: MIT */
#include "cache/ahead/partition_tally.h"

void partition_tally_add(struct partition_tally *tally, const struct run *run, size_t limit)
{
    struct bytes last = position_bytes(&tally->last);
    struct bytes key = position_partition_key(page_position(run->page, run->begin));
    size_t row = run->begin, end = MIN(run->end, run->begin + limit);
    if (last.size > 0 && bytes_equal(key, position_partition_key(last))) {
        row = page_next_partition(run->page, row, end);
        tally->last_rows += row - run->begin;
    }
    while (row < end) {
        size_t next = page_next_partition(run->page, row, end);
        tally->last_rows = next - row;
        tally->partitions++;
        row = next;
    }
    tally->rows += end - run->begin;
    position_set(&tally->last, page_position(run->page, end - 1));
}
