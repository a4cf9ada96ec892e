/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_RANGE_MAP_H
#define CACHE_KNOWN_RANGE_MAP_H
/* What is known of one table: two ordered maps of pieces, one of pages with texts and one of pages
 * of keys. A piece is a range for which its page answers. Pure code, no lock: the owner of the map
 * locks.
 *
 * - The pieces of one map do not overlap. At each position the youngest page answers, in whatever
 *   order the pages were put.
 * - A piece of keys is younger than the texts under it, or as old. Older texts stay under keys,
 *   because some questions accept their age.
 * - A change of our own is covered only by pages that were asked for after it. When the change is
 *   evicted, or the page that replaced it, a page that was asked for before it may still arrive.
 *   Therefore the map keeps the order of the youngest evicted change, its floor, and takes no page
 *   with a lower order.
 *
 * Example of the floor: a query is sent with order 4, a store is answered with order 5 and put as a
 * change. The change is evicted; the floor is 5. The page of the query arrives with the old text:
 * it is not taken.
 *
 * A page that covers no range, of a query with a filter, answers for each of its rows alone.
 *
 * A page without a row lacks no text. It counts as a page with texts, whatever was asked for. */
#include "cache/known/stamp.h"
#include "client/store/page.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

enum page_origin {
    ORIGIN_READ,   /* an answer to a question */
    ORIGIN_CHANGE, /* a change of our own, acknowledged by the service */
    ORIGIN_GONE,   /* rows that we deleted, and the gaps between them: a page without a row */
};

enum range_kind {
    RANGE_TEXTS,
    RANGE_KEYS,
    RANGE_KINDS,
};

struct piece {          /* its page answers for [lo, hi) */
    struct range range; /* views into `ends`, so it does not depend on any page */
    struct cached_page *page;
    RB_ENTRY(piece) in_tree;
    TAILQ_ENTRY(piece) in_page;
    char ends[];
};

TAILQ_HEAD(piece_list, piece);
RB_HEAD(piece_tree, piece);
TAILQ_HEAD(page_queue, cached_page);

struct cached_page { /* a page that answers for at least one piece */
    struct page *page;
    struct stamp stamp;
    enum page_origin origin;
    uint64_t newest_change; /* order of the youngest change that it is or replaced; 0: none */
    struct range_map *map;
    struct piece_list pieces; /* in order of their positions */
    struct page_queue *queue; /* the one it is in */
    TAILQ_ENTRY(cached_page) in_queue;
};

struct range_holdings { /* of several maps together */
    size_t pages, bytes;
    struct page_queue removed; /* pages without a piece: not counted; the owner destroys them */
};

struct range_map {
    struct range_holdings *holdings;
    struct piece_tree trees[RANGE_KINDS];
    uint64_t floor;
};

/* Takes a reference of its own. 0 or -ENOMEM. */
int cached_page_create(struct page *page, struct stamp stamp, enum page_origin origin,
                       struct cached_page **ret);
void cached_page_destroy(
    struct cached_page *page); /* takes NULL; it is in no queue, has no piece */
size_t cached_page_bytes(const struct cached_page *page); /* without its pieces */
/* Moves the page into the queue: before a page that is in it, or (NULL) to the end. */
void cached_page_move(struct cached_page *page, struct page_queue *queue,
                      struct cached_page *before);

void range_holdings_init(struct range_holdings *holdings);
void range_map_init(struct range_map *map, struct range_holdings *holdings, uint64_t floor);
/* Puts the page and makes it the last of `queue`. If it answers for nothing, it goes to
 * holdings->removed. 0, or -ENOMEM: then the map was dropped as of the page's stamp, and the page
 * is in holdings->removed. */
int range_map_put(struct range_map *map, struct cached_page *page, struct page_queue *queue);
/* Puts the deletes of `count` rows: positions in ascending order, each once. A page without a row
 * goes over each largest range that the map knows to be empty but for these rows. It reaches from
 * one of the rows to another, and over the gone page before and behind them.
 *
 * Example: rows a, b, c, d are known, nothing is known behind d. Deletes of a, b and d: pages
 * [a,b'] and [d,d'], where x' is the least position behind x. Then a delete of c: one page [a,d'].
 *
 * The stamp's order is younger than every change in the map. The page has this order: no page that
 * was asked for before brings the rows back. Its time is the oldest of what the range rests on, so
 * that it expires with that. 0, or -ENOMEM: then the map was dropped as of the stamp. */
int range_map_put_gone(struct range_map *map, const struct bytes *positions, size_t count,
                       struct stamp stamp, struct page_queue *queue);
/* Drops everything that is not younger than the stamp, and takes nothing older from now on. */
void range_map_drop(struct range_map *map, struct stamp stamp);
/* Removes the page with all its pieces. */
void range_map_evict(struct cached_page *page);
bool range_map_is_empty(const struct range_map *map);

/* The piece that answers for the position and was asked `since`: of texts, or else of keys. NULL:
 * none. */
struct piece *range_map_find(struct range_map *map, struct bytes position, struct stamp since);
/* The youngest piece at the position, of either kind; NULL: none. */
struct piece *range_map_youngest(struct range_map *map, struct bytes position);
/* The pieces of one kind that overlap the range, in order; NULL: no more. */
struct piece *range_map_first_in(struct range_map *map, enum range_kind kind, struct range range);
struct piece *range_map_next_in(struct piece *piece, struct range range);
/* The last piece of one kind that begins before the position, and the piece before a piece; or
 * NULL.
 */
struct piece *range_map_before(struct range_map *map, enum range_kind kind, struct bytes position);
struct piece *range_map_previous(struct piece *piece);

#endif
