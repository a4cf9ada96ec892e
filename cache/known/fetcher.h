/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_FETCHER_H
#define CACHE_KNOWN_FETCHER_H
/* Reads pages into the range cache. When several callers miss the same rows at once, they share one
 * request, a flight: one caller sends it (the flight's leader), the others wait for its result. If
 * the leader gives up for a reason of its own (interrupted, past its deadline), one of those that
 * wait sends the request anew. A failure that the service answered is the result for all.
 *
 * | state    | the flight                                     | ends when                        |
 * | FLYING   | is in the list; its leader sends, others wait  | answered, or the leader gives up |
 * | LANDED   | its result is for all, and does not change     | its last user frees it           |
 * | GIVEN_UP | has no result; one that waits leads a new one  | its last user frees it           |
 *
 * Each flight also shows whether its table exists: an answer shows that it does, -ENOENT that it
 * does not. This goes into the range cache as an answer about the account (table NULL).
 *
 * Any thread; one leaf mutex, not held over a request. */
#include "cache/caller.h"
#include "cache/failure_log.h"
#include "cache/known/range_cache.h"
#include "client/store/table_store.h"

struct fetcher;

struct fetcher_source { /* outlives the fetcher */
    struct table_store *store;
    struct range_cache *cache;
    const struct clock *clock;
    _Atomic uint64_t *orders;     /* the counter of stamp_take */
    int64_t ttl_ms;               /* for freshness_requested_ms */
    struct failure_log *failures; /* for a report of tables that no path can name; may be NULL */
    /* Called with each answer to a query for tables, and with each that shows that a table is gone.
     * A table that is in the page's range but not in the page does not exist. `requested`: when it
     * was. Called by the thread of a fetch, without a lock. May be NULL. */
    void (*listed)(void *context, const struct page *tables, struct stamp requested);
    void *listed_context;
};

int fetcher_create(const struct fetcher_source *source, struct fetcher **ret);
void fetcher_destroy(struct fetcher *fetcher); /* takes NULL; no call is in progress */

struct fetch {
    const char *table;  /* NULL: the list of tables, or one table, if the range holds one name */
    struct range range; /* range_is_expressible, not empty. One row and top 1: a get by its keys */
    int top;
    bool keys_only; /* with table NULL: no difference */
    bool is_alone;  /* joins no flight; others may join this one */
    bool is_ahead;  /* reads ahead for several callers: also joins a flight of that kind whose range
                       holds range.lo */
};

/* Sends a query for what follows range.lo, or joins a flight that was requested at `since` or
 * later. The flight must begin at range.lo; or its range must hold range.lo, and either both are
 * is_ahead, or the same process has sent it. A flight that begins before range.lo may end before
 * it, too.
 *
 * 0: the page is in the range cache, except where younger answers replaced it. The caller reads the
 * rows from the range cache, and keeps ret_page meanwhile, so that the page is not evicted. The
 * page covers range.lo, except perhaps after joining a flight that begins before it. It may have
 * fewer rows than `top`, also because they were too large for one page. ret_is_own: this caller
 * sent the request. Else -errno with the reason in caller->call; -ENOENT: no such table. Each page
 * that arrives extends the deadline. */
int fetcher_fetch(struct fetcher *fetcher, struct caller *caller, const struct fetch *fetch,
                  struct stamp since, struct page **ret_page, bool *ret_is_own);

/* Queries a page of a scan, which follows the continuation tokens itself; joins no flight. is_kept:
 * the page also goes into the range cache. Then a token that arrived longer than half a ttl ago is
 * not used: the query begins anew at its position. The answer has no token then, and ends where its
 * page ends, perhaps before the range does. Otherwise as fetcher_fetch. */
int fetcher_query(struct fetcher *fetcher, struct caller *caller, const struct query *query,
                  bool is_kept, struct answer *ret);

/* r: the result of a call on the table. If it is -ETIMEDOUT while requests of the table wait for a
 * retry, returns the reason of that wait instead (delays.h). */
int fetcher_explain(struct fetcher *fetcher, const char *table, struct caller *caller, int r);

struct fetcher_stats {
    uint64_t flights, joined; /* flights: also pages of scans, which cannot be joined */
};
void fetcher_stats(struct fetcher *fetcher, struct fetcher_stats *ret);

#endif
