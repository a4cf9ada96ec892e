/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_MATCHES_H
#define CACHE_LIST_MATCHES_H
/* The rows of a directory that match a filter, in key order, for its listing. A scan that runs
 * ahead requests all of them from the service: the rows in the range cache may be only some of
 * those that match, and other clients may have changed them.
 *
 * The scan's rows go into the range cache. So if this mount has changed a row since the scan began,
 * the row is shown as it is now, if it still matches; if this mount has deleted it, it is not
 * shown.
 *
 * In a directory of partitions (any but DIRECTORY_ENTITIES) the scan reads only keys. Then a row
 * that this mount changes during the scan is not compared with the filter again. One thread; blocks
 * for requests. */
#include "cache/ahead/read_ahead.h"
#include "cache/list/listing.h"

struct matches;
/* The directory has a filter, and outlives the matches. Sends nothing. 0, -ENOMEM, -EINVAL. */
int matches_create(const struct listing_source *source, const struct directory *directory,
                   struct matches **ret);
void matches_destroy(struct matches *matches); /* takes NULL */
/* The listing is rewound: the next call begins a new scan. */
void matches_begin_anew(struct matches *matches);
/* The next rows from `lo` on. 1: they are in ret->run, which the caller finishes; 0: no more;
 * -EAGAIN: they have not arrived, and may_wait is false; -errno with the reason in caller->call. If
 * `lo` is less than in the call before, a new scan begins there. */
int matches_next(struct matches *matches, struct caller *caller, struct bytes lo, bool may_wait,
                 struct seen *ret);

DEFINE_CLEANUP(struct matches *, matches_destroy);

#endif
