/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_OVERLAY_H
#define CACHE_QUEUE_OVERLAY_H
/* What this mount sees of an account: the rows that the range cache knows, plus queued texts, minus
 * queued deletes and masked rows (pending.h). Rows that the range cache does not know are fetched.
 * A lookup, a listing, and "is this directory empty?" are all the same question: which rows follow
 * range.lo? Any thread, no lock of its own.
 *
 * A table that this mount has dropped is masked, because the service may still list it for a while.
 * So a list that has its name proves nothing. A query of its rows does: the service refuses queries
 * while it deletes a table. Therefore a masked table that is listed counts as unknown, and its rows
 * are queried. If that succeeds, another client has created the table again, and the mask ends. A
 * list without the name does not end the mask: answers may arrive in another order than they were
 * made, and a later one may still have the name. */
#include "cache/known/fetcher.h"
#include "cache/queue/pending.h"

struct overlay;
/* The cache, the fetcher and pending outlive it. */
int overlay_create(struct range_cache *cache, struct fetcher *fetcher, struct pending *pending,
                   struct overlay **ret);
void overlay_destroy(struct overlay *overlay); /* takes NULL */

struct seen {
    struct run run;       /* the caller finishes it */
    int64_t requested_ms; /* when the oldest answer that this one is made of was requested; set also
                             if there are no rows */
    size_t fetched_rows, fetched_bytes; /* received by this caller's own requests */
    bool was_fetched;  /* it was not known, and a request was sent, by this caller or another */
    bool was_overlaid; /* a row is a queued text, or a row before the end of the answer was left out
                          as deleted or masked: requested_ms does not cover this part */
    bool is_unproven;  /* with KNOWN_NOT: a masked table is listed, and must be queried */
};

/* Answers the question from what is known, and sends nothing. KNOWN_ROWS: the next rows are in
 * ret->run. KNOWN_EMPTY: there are none. KNOWN_NOT: no row lies before ret_until (or NULL; the
 * question must not be a view of it), and it is not known what follows. */
enum knowledge overlay_find(struct overlay *overlay, const struct question *question,
                            struct seen *ret, struct position *ret_until);

/* The query that is sent if the answer is not known. */
struct on_miss {
    int top;        /* rows at most */
    bool keys_only; /* where keys suffice for the question */
};

/* The next rows of question->range. 1: they are in ret->run; 0: there are none; -errno with the
 * reason in caller->call (-ENOENT: no such table). One request covers either the rest of one
 * partition or whole partitions. What follows the rest of a partition is requested afterwards, and
 * only if that rest has no row. */
int overlay_next(struct overlay *overlay, struct caller *caller, const struct question *question,
                 const struct on_miss *on_miss, struct seen *ret);

/* The same for a scan of keys: a page of at most `top` keys. The page has all keys of its own
 * range, which begins where the question's range does. ret_seen has no run. */
int overlay_keys(struct overlay *overlay, struct caller *caller, const struct question *question,
                 int top, struct page **ret, struct seen *ret_seen);

/* The known page at question->range.lo, for a scan of rows: it begins at or before that position,
 * and may cover more than the range, or less. An empty page: the range has no rows. NULL: not
 * known, or no memory. Queued changes and masks are ignored: a scan of rows only fills the range
 * cache, and listings take names and texts from there by overlay_next. */
struct page *overlay_known_page(struct overlay *overlay, const struct question *question);

/* Is any row known in the range, of which no change is queued or being made? Otherwise as
 * range_cache_find_row. */
bool overlay_knows_row(struct overlay *overlay, const struct question *question,
                       int64_t *ret_requested_ms);

/* Is any part of the range not known? ret_until: the position where the first such part begins, as
 * of overlay_find. */
bool overlay_lacks(struct overlay *overlay, const struct question *question,
                   struct position *ret_until);

/* Is the row masked, or is a change of it queued or being made? With table NULL: the table whose
 * name is `position`. Then what readers see of it may change at any moment, and must not be cached.
 */
bool overlay_is_changing(struct overlay *overlay, const char *table, struct bytes position);

#endif
