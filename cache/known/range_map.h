/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_RANGE_MAP_H
#define CACHE_KNOWN_RANGE_MAP_H
/* What is known of one table: two ordered maps of pieces, one of pages with texts and one of pages
 * of keys. A piece is a range in which its page is the answer. Pure code, no lock: the owner of the
 * map locks.
 *
 * - The pieces of one map do not overlap. The youngest page is the answer at each position,
 *   whatever the order in which pages were put.
 * - A piece of keys is as old as the texts in its range, or younger. Older texts are kept, because
 *   some lookups accept their age.
 * - A change by this mount is replaced only by pages that were requested after it. After the change
 *   (or the page that replaced it) was evicted, a page that was requested before the change may
 *   still arrive. Therefore the map has a floor, the order of the youngest evicted change, and
 *   refuses pages with a lower order.
 *
 * Example of the floor: a query is sent with order 4. A store is acknowledged with order 5 and put
 * as a change. The change is evicted; the floor is 5. Now the query's page arrives with the old
 * text: it is refused.
 *
 * A page of a query with a filter covers no range: it is the answer only at each of its rows.
 *
 * A page without rows lacks no text: it is a page with texts, even if keys were queried. */
#include "cache/known/stamp.h"
#include "client/store/page.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

enum page_origin {
    ORIGIN_READ,   /* the answer to a query */
    ORIGIN_CHANGE, /* a change by this mount, acknowledged by the service */
    ORIGIN_GONE,   /* rows that this mount deleted, and the gaps between: a page without rows */
};

enum range_kind {
    RANGE_TEXTS,
    RANGE_KEYS,
    RANGE_KINDS,
};

struct piece {          /* its page is the answer in [lo, hi) */
    struct range range; /* views of `ends`, so it does not depend on any page */
    struct cached_page *page;
    RB_ENTRY(piece) in_tree;
    TAILQ_ENTRY(piece) in_page;
    char ends[];
};

TAILQ_HEAD(piece_list, piece);
RB_HEAD(piece_tree, piece);
TAILQ_HEAD(page_queue, cached_page);

struct cached_page { /* a page that has at least one piece */
    struct page *page;
    struct stamp stamp;
    enum page_origin origin;
    uint64_t newest_change; /* order of the youngest change that it is or replaced; 0: none */
    struct range_map *map;
    struct piece_list pieces; /* in key order */
    struct page_queue *queue; /* the queue that it is in */
    TAILQ_ENTRY(cached_page) in_queue;
};

struct range_holdings { /* of several maps together */
    size_t pages, bytes;
    struct page_queue removed; /* pages without a piece, not counted; the owner destroys them */
};

struct range_map {
    struct range_holdings *holdings;
    struct piece_tree trees[RANGE_KINDS];
    uint64_t floor;
};

/* Takes a reference to `page`. 0 or -ENOMEM. */
int cached_page_create(struct page *page, struct stamp stamp, enum page_origin origin,
                       struct cached_page **ret);
void cached_page_destroy(
    struct cached_page *page); /* takes NULL; it is in no queue, has no piece */
size_t cached_page_bytes(const struct cached_page *page); /* without its pieces */
/* Moves the page into the queue: before `before`, which is in it, or (NULL) to the end. */
void cached_page_move(struct cached_page *page, struct page_queue *queue,
                      struct cached_page *before);

void range_holdings_init(struct range_holdings *holdings);
void range_map_init(struct range_map *map, struct range_holdings *holdings, uint64_t floor);
/* Puts the page at the end of `queue`. If it gets no piece, because all its range has younger
 * pages, it goes to holdings->removed. -ENOMEM: range_map_drop was done with the page's stamp, and
 * the page is in holdings->removed. */
int range_map_put(struct range_map *map, struct cached_page *page, struct page_queue *queue);
/* Puts the deletes of `count` rows: positions in ascending order, each once. Makes pages without
 * rows, as few and as large as the map allows: such a page goes from one of the rows to another if
 * the map knows that no other row is between them, and includes adjacent pages of earlier deletes.
 *
 * Example: rows a, b, c, d are known, nothing is known after d. Deletes of a, b and d give pages
 * [a,b') and [d,d'), where x' is the least position after x. A later delete of c: one page [a,d').
 *
 * The stamp's order is younger than every change in the map. The page gets this order, so no page
 * that was requested earlier shows the rows again. Its time is that of the oldest answer about its
 * range, so that it expires with it. 0, or -ENOMEM: range_map_drop was done with the stamp. */
int range_map_put_gone(struct range_map *map, const struct bytes *positions, size_t count,
                       struct stamp stamp, struct page_queue *queue);
/* Drops everything that is not younger than the stamp, and from now on refuses older pages. */
void range_map_drop(struct range_map *map, struct stamp stamp);
/* Removes the page with all its pieces. */
void range_map_evict(struct cached_page *page);
bool range_map_is_empty(const struct range_map *map);

/* The piece that holds the position and was requested at `since` or later: of texts, or else of
 * keys. NULL: none. */
struct piece *range_map_find(struct range_map *map, struct bytes position, struct stamp since);
/* The youngest piece at the position, of either kind; NULL: none. */
struct piece *range_map_youngest(struct range_map *map, struct bytes position);
/* The pieces of one kind that overlap the range, in key order; NULL: no more. */
struct piece *range_map_first_in(struct range_map *map, enum range_kind kind, struct range range);
struct piece *range_map_next_in(struct piece *piece, struct range range);
/* The last piece of one kind that begins before the position; and the piece before `piece`. NULL:
 * none. */
struct piece *range_map_before(struct range_map *map, enum range_kind kind, struct bytes position);
struct piece *range_map_previous(struct piece *piece);

#endif
