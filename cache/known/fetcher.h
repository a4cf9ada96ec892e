/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_FETCHER_H
#define CACHE_KNOWN_FETCHER_H
/* Brings pages into the range cache: one flight for what several callers miss at once. Any thread;
 * one leaf mutex, held over no request. A caller sends the request itself (it leads the flight), or
 * waits for the flight of another caller that asks the same. A leader that gives up for reasons of
 * its own (interrupted, no patience left) hands over to one that waits; a refusal of the service
 * is an answer to all.
 *
 * | state    | the flight                                    | left by                           |
 * | FLYING   | is in the list; its leader asks, others wait  | an answer, or the leader gives up |
 * | LANDED   | its result is for all, and does not change    | the last user frees it            |
 * | GIVEN_UP | has no result; one that waits leads the next  | the last user frees it            |
 *
 * What a flight learns of its table goes into the account's "rows" (range_cache.h, table NULL): an
 * answer shows that the table is there, -ENOENT that it is not. */
#include "cache/caller.h"
#include "cache/failure_log.h"
#include "cache/known/range_cache.h"
#include "client/store/table_store.h"

struct fetcher;

struct fetcher_source { /* outlives the fetcher */
    struct table_store *store;
    struct range_cache *cache;
    const struct clock *clock;
    _Atomic uint64_t *orders;     /* of stamps */
    int64_t ttl_ms;               /* for freshness_requested_ms */
    struct failure_log *failures; /* records tables that have to be left out; may be NULL */
    /* Called with each answer that shows that a table is gone, or which tables there are: all those
     * in the page's range. It was asked at `asked`. By the thread of a fetch, outside every lock.
     * May be NULL. */
    void (*listed)(void *context, const struct page *tables, struct stamp asked);
    void *listed_context;
};

int fetcher_create(const struct fetcher_source *source, struct fetcher **ret);
void fetcher_destroy(struct fetcher *fetcher); /* takes NULL; no call is under way */

struct fetch {
    const char *table;  /* NULL: the tables, all of them, or the one whose name the range is */
    struct range range; /* askable, not empty; one row's: it is got by itself, with top 1 */
    int top;
    bool keys_only; /* of tables: no difference */
    bool is_alone;  /* joins no flight; others may join this one */
    bool is_ahead;  /* reads ahead of several callers: joins such a flight whose range holds
                       range.lo, and may bring nothing then */
};

/* Asks for what follows range.lo, or joins a flight that was asked since `since` and begins at
 * range.lo, too. It also joins one that began before and reads on over range.lo, if it is another
 * thread's of the same process, or both fetches are ahead: that one may bring nothing for it.
 *
 * 0: the page is in the cache, except where something younger is or was; it stays there at least as
 * long as ret_page is held, so the caller asks there again. It covers range.lo, but for a flight
 * that was joined behind its begin. It may have fewer rows than `top`, also where they were too
 * large for one page. ret_is_own: this caller's request brought it. Else -errno with the reason in
 * caller->call; -ENOENT: no such table. The deadline is put off by every page that arrives. */
int fetcher_fetch(struct fetcher *fetcher, struct caller *caller, const struct fetch *fetch,
                  struct stamp since, struct page **ret_page, bool *ret_is_own);

/* A page of a scan: no flight is shared, and the scan follows the continuation tokens. It is handed
 * out, and with is_kept it is in the cache, too. The rest as fetcher_fetch. */
int fetcher_query(struct fetcher *fetcher, struct caller *caller, const struct query *query,
                  bool is_kept, struct answer *ret);

/* r: the result of a call about the table. If it is -ETIMEDOUT because the caller's time has run
 * out while the table's requests wait for their repetition, the reason of that takes its place. */
int fetcher_explain(struct fetcher *fetcher, const char *table, struct caller *caller, int r);

struct fetcher_stats {
    uint64_t flights, joined; /* flights: also pages of scans, which cannot be joined */
};
void fetcher_stats(struct fetcher *fetcher, struct fetcher_stats *ret);

#endif
