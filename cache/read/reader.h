#ifndef CACHE_READ_READER_H
#define CACHE_READ_READER_H
/* Brings pages into the range cache: one flight for what many miss at once. Any thread; one leaf
 * mutex, held over no request. A caller sends the request itself (it leads the flight), or waits
 * for somebody's who is asking the same. A leader that gives up for reasons of its own
 * (interrupted, no patience left) hands over to one who waits; a refusal of the service is
 * everybody's.
 *
 * What a flight learns of its table goes into the account's "rows" (range_cache.h, table NULL): an
 * answer shows that the table is there, -ENOENT that it is not. */
#include "cache/caller.h"
#include "cache/read/range_cache.h"
#include "client/table_store.h"

struct reader;

struct reader_source { /* lives longer than the reader */
    struct table_store *store;
    struct range_cache *cache;
    const struct clock *clock;
    _Atomic uint64_t *orders; /* of stamps */
    int64_t ttl_ms;           /* what a slow answer's age is reckoned with: cache/freshness.h */
};

int reader_create(const struct reader_source *source, struct reader **ret);
void reader_destroy(struct reader *reader); /* takes NULL; nobody may be inside */

struct fetch {
    const char *table;  /* NULL: the tables, all of them, or the one whose name the range is */
    struct range range; /* askable, not empty; one row's: it is got by itself, with top 1 */
    int top;
    bool keys_only; /* of tables: no difference */
    bool is_alone;  /* joins nobody's flight; others may join this one */
};

/* Asks for what follows range.lo, unless that is under way since `since`: such a flight begins at
 * range.lo too, so that it brings something even where it asks for less; or is another thread's of
 * the same process, for rows from before it on, and may bring nothing. On success the page covers
 * range.lo, but for that, and is in the cache, but where something younger is or was; there it
 * stays at least as long as ret_page is held: ask there again. It may have fewer rows than `top`
 * (also where they were too large for one page); an empty page with a token is followed inside.
 * ret_is_own: this caller's request brought it. 0 or -errno, the reason in caller->call; -ENOENT:
 * no such table. caller->call's deadline is put off by every page that arrives. */
int reader_fetch(struct reader *reader, struct caller *caller, const struct fetch *fetch,
                 struct stamp since, struct page **ret_page, bool *ret_is_own);

/* A page of a scan, which shares no flight and follows its own tokens: asked, kept in the cache and
 * handed out. Fewer rows where they were too large. The rest as reader_fetch. */
int reader_query(struct reader *reader, struct caller *caller, const struct query *query,
                 struct answer *ret);

struct reader_stats {
    uint64_t flights, joined; /* flights: also a scan's pages, which nobody can join */
};
void reader_stats(struct reader *reader, struct reader_stats *ret);

DEFINE_CLEANUP(struct reader *, reader_destroy);

#endif
