/* SPDX-License-Identifier: MIT */
#include "cache/ahead/read_kind.h"

int read_kind_create_scan(enum read_kind kind, struct range range, const struct scan_limits *limits,
                          size_t parts, struct scan **ret)
{
    struct scan_limits used = {.page_rows = limits->page_rows, .keys_only = kind != READ_ROWS};
    switch (kind) {
    case READ_PARTITIONS:
        used.window_bytes = limits->window_bytes;
        return scan_partitions_create(range, &used, ret);
    case READ_LEVEL:
        used.fanout = limits->fanout;
        return scan_level_create(range.lo, &used, ret);
    case READ_BORDERS:
        return scan_split_create(range, parts, ret);
    case READ_ROWS:
    case READ_KEYS:
        break;
    }
    return scan_rows_create(range, &used, ret);
}
