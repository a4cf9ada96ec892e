/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_READ_KIND_H
#define CACHE_AHEAD_READ_KIND_H
/* What a prefetcher reads, and the scan that reads it. Pure. */
#include "cache/scan/scan.h"

enum read_kind {
    READ_ROWS,
    READ_KEYS,       /* of rows, without their texts */
    READ_PARTITIONS, /* the keys of partitions */
    READ_LEVEL,      /* the names in the directory of a table or prefix (scan_level); the first item
                        needs many answers, so requests are sent without delay */
    READ_BORDERS,    /* where the range is cut into parts (scan_split); likewise */
};

/* Creates a scan of the range. parts: of READ_BORDERS. Limits that do not concern the kind are
 * ignored. 0 or -ENOMEM. */
int read_kind_create_scan(enum read_kind kind, struct range range, const struct scan_limits *limits,
                          size_t parts, struct scan **ret);

#endif
