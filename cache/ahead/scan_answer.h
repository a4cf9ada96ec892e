/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_SCAN_ANSWER_H
#define CACHE_AHEAD_SCAN_ANSWER_H
/* Answers one request of a prefetcher's scan: with a page from the range cache, which a listing or
 * another scan has read, or else by a query. Queried pages of rows go into the range cache, unless
 * the scan is apart. Any thread; blocks for the query. */
#include "cache/ahead/read_kind.h"
#include "cache/queue/overlay.h"

struct scan_query {
    enum read_kind kind; /* of the scan */
    const char *table;
    struct stamp since; /* the oldest known answer that may be used */
    bool is_apart;      /* as in struct prefetcher_options, as the next two */
    const char *filter, *select;
    const struct scan_request *request;
};

/* 0; or -errno with the reason in caller->call. ret_seen gets no run. The caller sets its
 * requested_ms to now; for a scan of keys it becomes older if the answer uses older pages. */
int scan_answer(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                const struct scan_query *wanted, struct answer *ret, struct seen *ret_seen);

#endif
