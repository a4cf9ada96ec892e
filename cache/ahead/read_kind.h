/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_READ_KIND_H
#define CACHE_AHEAD_READ_KIND_H
/* What a prefetcher reads, and the scan that reads it. Pure. */
#include "cache/scan/scan.h"

enum read_kind {
    READ_ROWS,
    READ_KEYS,       /* of rows, without their texts */
    READ_PARTITIONS, /* the keys of partitions */
    READ_LEVEL,      /* what the directory of a prefix shows (scan_level). Many answers are needed
                        before the first item, so all requests are sent at once */
};

/* A scan of the range. Of the limits, those that the kind has no use for are ignored. 0 or
 * -ENOMEM. */
int read_kind_create_scan(enum read_kind kind, struct range range, const struct scan_limits *limits,
                          struct scan **ret);

#endif
