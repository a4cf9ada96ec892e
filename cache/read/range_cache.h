#ifndef CACHE_READ_RANGE_CACHE_H
#define CACHE_READ_RANGE_CACHE_H
/* What was read. Per table two ordered maps of pages (with texts; keys only), clipped so that no
 * two pieces of a map overlap, so that each position has at most one answer of each kind. Bounded
 * in bytes over all tables. How fresh an answer must be is an argument of the question, not a
 * property of a page. Any thread, never blocks, no I/O; one leaf mutex. Rows handed out hold their
 * page.
 *
 * table NULL is the account: its "rows" are the tables, their positions the tables' names. */
#include "cache/read/stamp.h"
#include "client/page.h"

struct range_cache;
int range_cache_create(size_t max_bytes, struct range_cache **ret);
void range_cache_destroy(struct range_cache *cache); /* takes NULL */

/* Puts what was read: the page answers for page_range(page) in place of everything older. A page
 * with texts replaces texts and keys. A page of keys replaces keys only: older texts stay, because
 * some questions accept their age.
 *
 * Over the budget, pages are evicted: first the passed ones, then the least recently used. This
 * page stays, and so does a page that another holder references (evicting it frees no memory).
 *
 * Takes a reference. 0 does not promise that the page answers: younger pages may cover it, or its
 * stamp may be older than a change that was evicted (range_cache_put_change). -ENOMEM: everything
 * of the table that is not younger than the stamp was dropped. */
int range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                    struct stamp stamp);
/* As range_cache_put, for a change of our own: a page of one row with its text, or of a created
 * table. answered_ms: when the service acknowledged the change. Once the change was evicted, the
 * cache takes no page of the table that was asked for before it: such a page may show the row as it
 * was before the change.
 *
 * The cache takes the stamp itself, under its lock. So changes are put in the order of their
 * stamps, and a change that comes late is not hidden by range_cache_put_gone. */
int range_cache_put_change(struct range_cache *cache, const char *table, struct page *page,
                           _Atomic uint64_t *orders, int64_t answered_ms);
/* Puts the deletes of one batch of our own, as changes: `count` positions of rows, in ascending
 * order, each once. They become one page without a row over the range in which the cache knows no
 * other row, together with the gone range before and behind them; else several pages. So the
 * deletes of 170,000 listed rows leave one page.
 *
 * A gap between two deleted rows is only as young as the answer that it was known from. Therefore
 * the page expires with the oldest of these answers, which may be older than answered_ms.
 * 0, or -ENOMEM: everything of the table was dropped. */
int range_cache_put_gone(struct range_cache *cache, const char *table,
                         const struct bytes *positions, size_t count, _Atomic uint64_t *orders,
                         int64_t answered_ms);
/* The table is gone: so are its pages but what is younger, and what was asked before `stamp` is not
 * taken any more. */
void range_cache_drop_table(struct range_cache *cache, const char *table, struct stamp stamp);

struct question { /* what follows range.lo? */
    const char *table;
    struct range range;
    struct stamp since;
    bool keys_suffice; /* an answer without texts will do */
};

enum known {
    KNOWN_ROWS,  /* the next rows: all of *ret_run, in order, whatever lies between is absent */
    KNOWN_EMPTY, /* surely none in the range */
    KNOWN_NOT,   /* no row before ret_until, unknown from there on */
};

/* ret_run is the caller's to finish. ret_asked_ms: when the oldest of what the answer rests on was
 * asked (unchanged where nothing was known). ret_until is no part of the question; it is cleared
 * first, and filled for KNOWN_NOT alone. A page of keys tells everybody which rows are not there;
 * that it has one is KNOWN_NOT, until there, for who wants texts. enum known, or -ENOMEM. */
int range_cache_next(struct range_cache *cache, const struct question *question,
                     struct run *ret_run, int64_t *ret_asked_ms, struct buffer *ret_until);

/* Is what the page says about the row superseded by a younger answer, with or without a text?
 * UNKNOWN: the cache holds no answer for the row any more. */
enum superseded { SUPERSEDED_NO, SUPERSEDED_YES, SUPERSEDED_UNKNOWN };
enum superseded range_cache_superseded(struct range_cache *cache, const char *table,
                                       const struct page *page, size_t row);

/* A reader went past everything in the range: pages that lie wholly in it are evicted first, unless
 * somebody asks for them again. Looks from the range's end back to the first that was passed
 * already, so that it can be told at each step. */
void range_cache_passed(struct range_cache *cache, const char *table, struct range range);

struct range_cache_stats {
    uint64_t evicted;    /* pages */
    size_t pages, bytes; /* now */
};
void range_cache_stats(struct range_cache *cache, struct range_cache_stats *ret);

/* Do the invariants hold? Walks everything, for tests. After each change that is made, asserts look
 * at what it touched. */
bool range_cache_is_consistent(struct range_cache *cache);

DEFINE_CLEANUP(struct range_cache *, range_cache_destroy);

#endif
