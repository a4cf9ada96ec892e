/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_RANGE_CACHE_H
#define CACHE_KNOWN_RANGE_CACHE_H
/* The answers of the service, and this mount's own changes. For each table the cache has two
 * ordered maps of pages: pages with texts, and pages of keys without texts. Pages are clipped, so
 * that each map has at most one answer for each position (range_map.h). How fresh an answer must be
 * is an argument of the question, not a property of a page.
 *
 * All tables together are bounded by max_bytes. table NULL is the account: its rows are the tables,
 * and their positions are the names of the tables.
 *
 * Thread-safety: any thread; one leaf mutex; no I/O; no function waits. A row that is returned
 * holds a reference to its page. */
#include "cache/known/stamp.h"
#include "client/store/page.h"

struct range_cache;
int range_cache_create(size_t max_bytes, struct range_cache **ret);
void range_cache_destroy(struct range_cache *cache); /* takes NULL */

/* Puts a page that was read. It replaces all older answers for page_range(page). If that range is
 * empty, because the query had a filter, it replaces them only for the positions of its rows. A
 * page with texts replaces texts and keys. A page of keys replaces keys only: older texts stay,
 * because some questions accept their age.
 *
 * If the cache is then larger than max_bytes, pages are evicted: first the passed ones
 * (range_cache_passed), then the least recently used. Not evicted are this page, and pages to which
 * others have references (that would free no memory).
 *
 * Takes a reference. 0 does not mean that the page is used: younger pages may cover it, or its
 * stamp may be older than a change that was evicted (range_cache_put_change). -ENOMEM: all pages of
 * the table that are not younger than the stamp were dropped. */
int range_cache_put(struct range_cache *cache, const char *table, struct page *page,
                    struct stamp stamp);
/* As range_cache_put, for a change by this mount: a page of one row with its text, or of a created
 * table. answered_ms: when the service acknowledged the change. After the change was evicted, the
 * cache refuses pages of the table that were requested before the change: they may show the row as
 * it was before.
 *
 * The cache takes the stamp itself, under its lock. So changes are put in the order of their
 * stamps, and range_cache_put_gone does not hide a change that is put after it. */
int range_cache_put_change(struct range_cache *cache, const char *table, struct page *page,
                           _Atomic uint64_t *orders, int64_t answered_ms);
/* Puts the deletes of one batch by this mount, as changes: `count` positions of rows, in ascending
 * order, each once. Where the cache knows that no other row is between them, they become one page
 * without rows, joined with such pages directly before and after. So the deletes of 170,000 listed
 * rows leave one page. Where another row is between them, or the gap is not known, there are
 * several pages.
 *
 * That a gap is empty is known from an earlier answer. Therefore the page is as old as the oldest
 * of these answers, which may be older than answered_ms. Its order is that of the deletes: a page
 * that was requested before the last of them is refused in this range, even where it has a younger
 * answer about a gap.
 *
 * 0, or -ENOMEM: all pages of the table were dropped. */
int range_cache_put_gone(struct range_cache *cache, const char *table,
                         const struct bytes *positions, size_t count, _Atomic uint64_t *orders,
                         int64_t answered_ms);
/* The table did not exist at `stamp`: drops its pages that are not younger, and from now on refuses
 * pages that were requested before. */
void range_cache_drop_table(struct range_cache *cache, const char *table, struct stamp stamp);

struct question { /* which rows follow range.lo? */
    const char *table;
    struct range range;
    struct stamp since; /* the oldest answer that is accepted */
    bool keys_suffice;  /* an answer without texts is accepted */
};

enum knowledge {
    KNOWN_ROWS,  /* *ret_run has the next rows, in order; no other row is before or between them */
    KNOWN_EMPTY, /* no row is in the range */
    KNOWN_NOT,   /* no row is before *ret_until; what follows there is not known */
};

/* The caller finishes ret_run. ret_requested_ms: when the oldest page that the answer comes from
 * was requested; unchanged if there is none. ret_until: empty if not KNOWN_NOT; the question must
 * not be a view of it.
 *
 * A page of keys always shows that a row is absent. For a row that it has, it is an answer only if
 * keys_suffice; otherwise the result is KNOWN_NOT, with the row's position in ret_until. */
enum knowledge range_cache_next(struct range_cache *cache, const struct question *question,
                                struct run *ret_run, int64_t *ret_requested_ms,
                                struct position *ret_until);

/* Finds any row that is known in the range, although rows before it may be unknown. True:
 * ret_position is the first known one, and ret_requested_ms when its answer was requested. False:
 * none is known, or none was found within a few steps. */
bool range_cache_find_row(struct range_cache *cache, const struct question *question,
                          struct position *ret_position, int64_t *ret_requested_ms);

/* Is there a younger answer for the row than the page, with or without a text? UNKNOWN: the cache
 * no longer has any answer for the row. `floor`: from range_cache_floor, called before the page was
 * requested. If a change was evicted since then, it may have been a change of this row: YES. */
enum superseded { SUPERSEDED_NO, SUPERSEDED_YES, SUPERSEDED_UNKNOWN };
enum superseded range_cache_superseded(struct range_cache *cache, const char *table,
                                       const struct page *page, size_t row, uint64_t floor);
/* A number that grows when a change of the table is evicted, or the table is dropped. */
uint64_t range_cache_floor(struct range_cache *cache, const char *table);

/* A sequential reader has read the whole range: pages that lie wholly in it are evicted before
 * others, unless a question uses them again. The search runs from the end of the range backwards,
 * and stops at the first page that was passed before. So this is cheap after each step. */
void range_cache_passed(struct range_cache *cache, const char *table, struct range range);

struct range_cache_stats {
    uint64_t evicted;    /* pages */
    size_t pages, bytes; /* now */
};
void range_cache_stats(struct range_cache *cache, struct range_cache_stats *ret);

#endif
