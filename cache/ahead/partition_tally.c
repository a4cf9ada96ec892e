/* SPDX-License-Identifier: MIT */
#include "cache/ahead/partition_tally.h"

void partition_tally_init(struct partition_tally *tally)
{
    *tally = (struct partition_tally){0};
    buffer_init(&tally->last, POSITION_MAX_BYTES);
}

void partition_tally_finish(struct partition_tally *tally)
{
    buffer_finish(&tally->last);
}

int partition_tally_add(struct partition_tally *tally, const struct run *run, size_t limit)
{
    struct bytes last = buffer_bytes(&tally->last);
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
    return buffer_set(&tally->last, page_position(run->page, end - 1));
}
