/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_MATCHES_H
#define CACHE_LIST_MATCHES_H
/* The rows of a directory that match a filter, in key order, for its listing. The service is asked
 * for all of them, by a scan that runs ahead; what the range cache knows is no answer, because the
 * rows that are known may be few of those that match. What the scan brings goes into the cache: so
 * a row that this mount has changed since the scan began is shown as it is by now, if it still
 * matches, and a row that it has deleted since then is not shown. What it knows from before is no
 * answer: another client may have stored the row again.
 *
 * Of whole partitions it brings keys alone: there a row that this mount has changed during the scan
 * is not compared again. One thread; blocks for requests. */
#include "cache/ahead/read_ahead.h"
#include "cache/list/listing.h"

struct matches;
/* The directory, which outlives it, has a filter. Sends nothing. 0, -ENOMEM, -EINVAL. */
int matches_create(const struct listing_source *source, const struct directory *directory,
                   struct matches **ret);
void matches_destroy(struct matches *matches); /* takes NULL */
/* The next listing is asked for anew. */
void matches_begin_anew(struct matches *matches);
/* The rows from `lo` on: 1 and rows in ret->run, which the caller finishes; 0: no more; -EAGAIN:
 * they are not there yet, and may_wait is false; -errno with the reason in the caller. Where `lo`
 * lies before the last one, the scan begins again there. */
int matches_next(struct matches *matches, struct caller *caller, struct bytes lo, bool may_wait,
                 struct seen *ret);

DEFINE_CLEANUP(struct matches *, matches_destroy);

#endif
