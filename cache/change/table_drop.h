/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CHANGE_TABLE_DROP_H
#define CACHE_CHANGE_TABLE_DROP_H
/* rmdir of a table: may the table be dropped? Reads all its keys and ETags, and compares them with
 * the queued deletes, whichever process has queued them.
 *
 * Every request is sent after the call began; nothing cached is used. A row that another client
 * adds meanwhile is found if its page is read afterwards. Changes that this mount makes meanwhile
 * are not noticed here: the caller watches the table for them (pending_table.h).
 *
 * A delete that ends between the service's answer and the comparison leaves a row without a queued
 * delete, so the table seems to be in use. The watch reports that a delete has ended; then the
 * caller compares again while no delete is being sent.
 *
 * Any thread; no lock of its own. Blocks for the requests, which are sent in parallel, as those of
 * other scans (prefetcher.h).
 *
 * Example: deletes of 100,000 rows are queued. The service has these rows and one more, which
 * another client has added: TABLE_IN_USE. */
#include "cache/ahead/read_ahead.h"
#include "cache/queue/pending_table.h"

enum table_state {
    TABLE_EMPTY,   /* no row */
    TABLE_REMOVED, /* there are rows, and a delete of each is queued */
    TABLE_IN_USE,  /* a row that has no queued delete, or one of another version */
};

struct table_drop_source { /* outlives the call */
    struct read_ahead *read_ahead;
    struct pending *pending;
    const struct clock *clock;
};

/* Returns an enum table_state, or -errno with the reason in caller->call (-ENOENT: no such table).
 * Stops at the first page with a row that is in use. Ends by end_ms (monotonic), although answered
 * pages move the caller's deadline: -EBUSY with advice, because there are too many rows. -ETIMEDOUT
 * if no page has arrived for half of the time: then the service is too slow, not the table too
 * large. */
int table_drop_compare(const struct table_drop_source *source, struct caller *caller,
                       const char *table, int64_t end_ms);

#endif
