/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CHANGE_TABLE_DROP_H
#define CACHE_CHANGE_TABLE_DROP_H
/* rmdir of a table: may the table be dropped? All its keys and ETags are read and compared with the
 * queued deletes. Each of them counts, whichever process has queued it.
 *
 * Every request is sent after the call began, so nothing that was read before is used. A row that
 * another client adds meanwhile is seen if its page is read afterwards. What this mount changes
 * meanwhile is not seen here: the caller watches the table (pending_table.h).
 *
 * A delete that ends between the answer and the comparison makes a row look used. The watch tells
 * whether one has ended: then the caller looks once more when no delete is being sent.
 *
 * Any thread; no lock of its own. Blocks for the requests, which are sent ahead as those of other
 * scans (prefetcher.h).
 *
 * Example: deletes of 100,000 rows are queued, and the look finds these rows and one more, which
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

/* An enum table_state, or -errno with the reason in caller->call (-ENOENT: no such table). Stops at
 * the first page with a row that decides. Takes no longer than up to end_ms (monotonic), although
 * pages put the caller's deadline off: -EBUSY with advice. But -ETIMEDOUT if no page has come for
 * half of the time: then the service is the reason, and not how many rows there are. */
int table_drop_compare(const struct table_drop_source *source, struct caller *caller,
                       const char *table, int64_t end_ms);

#endif
