/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCAN_PUBLISHED_SCAN_H
#define TESTS_SCAN_PUBLISHED_SCAN_H
/* The published prefix scan, the reference that the engines are compared with: what stands in "The
 * algorithm" of the reference, depth first, so in key order; one request is out at a time. A prefix
 * query walks the whole layer below its prefix before anything of it is handed out. It lists the
 * table's rows as SCAN_ROWS. Known flaw, kept: a key with U+FFFF after a prefix that is expanded
 * makes it ask the same again for ever. Out of memory is no state to go on from: only destroy. */
#include "cache/scan/scan.h"

struct published_options {
    const char *prefix;             /* CESU-8, as the bounds */
    const char *lower, *upper;      /* both exclusive; NULL: none */
    const char *select;             /* a comma list; NULL: everything */
    int take;                       /* rows of a page of a prefix query */
    int partition_take;             /* of a partition key query */
    int segments_first;             /* pages that are one segment, in a layer's first round */
    int segments_later;             /* in its other rounds */
    bool is_without_partition_keys; /* no query for the rest of a partition */
    bool is_without_empty_key;      /* the version of 2020, which missed the empty key's rows */
};

/* -EINVAL: a number below 1, or a select without PartitionKey and RowKey. */
int published_scan_create(const struct published_options *options, struct scan **ret);
/* Of the item that was taken last: does it begin a segment? The pages of a segment follow. */
bool published_scan_begins_segment(const struct scan *scan);
/* The distributed version: hands a step that was not begun yet over to a scan of its own, so the
 * two can be driven at once; they no longer keep one order. *ret NULL: there is none. */
int published_scan_split(struct scan *scan, struct scan **ret);

#endif
