/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_RANGE_CACHE_H
#define CACHE_KNOWN_RANGE_CACHE_H
/* What was read from the service, and what we changed there. For each table it has two ordered maps
 * of pages: pages with texts, and pages of keys alone. Pages are clipped, so that each position has
 * at most one answer of each kind (range_map.h). How fresh an answer must be is an argument of the
 * question, not a property of a page.
 *
 * The bytes over all tables are bounded. table NULL is the account: its rows are the tables, and
 * their positions are the names of the tables.
 *
 * Thread-safety: any thread; one leaf mutex; no I/O, and nothing here waits. A row that is handed
 * out holds its page. */
#include "cache/known/stamp.h"
#include "client/store/page.h"

struct range_cache;
int range_cache_create(size_t max_bytes, struct range_cache **ret);
void range_cache_destroy(struct range_cache *cache); /* takes NULL */

/* Puts what was read: the page answers for page_range(page) in place of everything older; where
 * that is empty, because a query had a filter, for the position of each of its rows. A page with
 * texts replaces texts and keys. A page of keys replaces keys only: older texts stay, because some
 * questions accept their age.
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
 * order, each once. Where the cache knows that no other row is between them, they become one page
 * without a row, joined with the gone range before and the one behind. So the deletes of 170,000
 * listed rows leave one page. Where a row is between them, or nothing is known, there are several.
 *
 * A gap between two deleted rows is only as young as the answer that it was known from. Therefore
 * the page is as old as the oldest of these answers, which may be older than answered_ms. Its order
 * is that of the deletes: a page that was asked for before the last of them is not taken there,
 * even where it knows more of the gaps.
 *
 * 0, or -ENOMEM: everything of the table was dropped. */
int range_cache_put_gone(struct range_cache *cache, const char *table,
                         const struct bytes *positions, size_t count, _Atomic uint64_t *orders,
                         int64_t answered_ms);
/* The table did not exist at `stamp`: drops its pages that are not younger, and takes no page that
 * was asked for before. */
void range_cache_drop_table(struct range_cache *cache, const char *table, struct stamp stamp);

struct question { /* which rows follow range.lo? */
    const char *table;
    struct range range;
    struct stamp since;
    bool keys_suffice; /* an answer without texts is accepted */
};

enum knowledge {
    KNOWN_ROWS,  /* *ret_run has the next rows, in order; no other row is before or between them */
    KNOWN_EMPTY, /* no row is in the range */
    KNOWN_NOT,   /* no row is before *ret_until; from there on nothing is known */
};

/* Answers enum knowledge, or -ENOMEM. The caller finishes ret_run. ret_requested_ms: when the
 * oldest of the pages that the answer rests on was asked for; unchanged if there is none. ret_until
 * (or NULL) is cleared first, and filled for KNOWN_NOT alone; it must not be memory of the
 * question.
 *
 * A page of keys answers for absent rows in any case. For a row that it has it answers only where
 * keys_suffice; otherwise the answer is KNOWN_NOT, until that row. */
int range_cache_next(struct range_cache *cache, const struct question *question,
                     struct run *ret_run, int64_t *ret_requested_ms, struct buffer *ret_until);

/* Is a row known to lie in the range, wherever it is? 1: ret_position (cleared first) has the first
 * one that the answers know, and ret_requested_ms when that was asked for; 0: none is known, or not
 * within a few steps; -ENOMEM. */
int range_cache_find_row(struct range_cache *cache, const struct question *question,
                         struct buffer *ret_position, int64_t *ret_requested_ms);

/* Is what the page says about the row superseded by a younger answer, with or without a text?
 * UNKNOWN: the cache holds no answer for the row any more. `floor`: of range_cache_floor, before
 * the page was asked for. If a change has been evicted since, it may have been one of this row:
 * YES. */
enum superseded { SUPERSEDED_NO, SUPERSEDED_YES, SUPERSEDED_UNKNOWN };
enum superseded range_cache_superseded(struct range_cache *cache, const char *table,
                                       const struct page *page, size_t row, uint64_t floor);
/* It grows when a change of the table is evicted, or the table is dropped. */
uint64_t range_cache_floor(struct range_cache *cache, const char *table);

/* A sequential reader has read everything in the range: pages that lie wholly in it are evicted
 * before others, unless a question uses them again. The search goes from the end of the range back
 * to the first page that was passed before. So it is cheap to call this after each step. */
void range_cache_passed(struct range_cache *cache, const char *table, struct range range);

struct range_cache_stats {
    uint64_t evicted;    /* pages */
    size_t pages, bytes; /* now */
};
void range_cache_stats(struct range_cache *cache, struct range_cache_stats *ret);

/* For tests, which check the invariants: calls `visit` for each table's map, under the lock. */
struct range_map;
typedef void range_map_visitor(void *context, struct range_map *map);
void range_cache_visit(struct range_cache *cache, range_map_visitor *visit, void *context);

#endif
