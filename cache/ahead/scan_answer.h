/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_SCAN_ANSWER_H
#define CACHE_AHEAD_SCAN_ANSWER_H
/* Answers one request of a prefetcher's scan: with a page that is known, because a listing or
 * another scan has read it, or else by a query. Pages of rows that are queried go into the range
 * cache, unless the scan is apart. Any thread; blocks for the query. */
#include "cache/ahead/read_kind.h"
#include "cache/queue/overlay.h"

struct scan_question {
    enum read_kind kind; /* of the scan */
    const char *table;
    struct stamp since;          /* the oldest answer that may be used */
    bool is_apart;               /* of rows: prefetcher.h */
    const char *filter, *select; /* of rows: as of struct query; select: of rows apart */
    const struct scan_request *request;
};

/* 0; or -errno with the reason in caller->call. ret_seen comes without a run. Its requested_ms is
 * set to now by the caller; a scan of keys makes it older where the answer rests on older ones. */
int scan_answer(struct overlay *overlay, struct fetcher *fetcher, struct caller *caller,
                const struct scan_question *question, struct answer *ret, struct seen *ret_seen);

#endif
