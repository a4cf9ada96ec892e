/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_CHUNK_H
#define CACHE_SCAN_CHUNK_H
/* Chunk: a part of a scanned range that is read page after page, and its pages that wait to be
 * taken. It returns no row at or after `end`. Pure; one thread. Its memory is small and constant,
 * apart from the pages.
 *
 * A split moves `end` and costs no request: the chunk keeps its query and its token, and stops at
 * the new end. Example: the chunk reads ["a", "z") and is split at "m". The next page of its query
 * may have rows after "m"; they are ignored, since the chunk after reads them. If one query can
 * request exactly [cursor, end), the chunk changes to that query, so that its pages have no rows of
 * another chunk. */
#include "cache/scan/scan.h"

#include <sys/queue.h>

/* state      request     token      cursor, end     next event
 * READY      none        optional   cursor < end    chunk_request
 * REQUESTED  in flight   optional   cursor < end    chunk_add_answer, chunk_give_back
 * DONE       none        none       cursor == end   none; its pages may still wait to be taken */
enum chunk_state {
    CHUNK_READY,
    CHUNK_REQUESTED,
    CHUNK_DONE,
};

struct waiting_run {
    TAILQ_ENTRY(waiting_run) link;
    struct run run;
};

struct chunk {
    TAILQ_ENTRY(chunk) link; /* in key order; each begins where the one before ends */
    enum chunk_state state;
    uint64_t id;               /* of its request */
    struct buffer cursor, end; /* everything before the cursor is known */
    struct {                   /* the query that the token belongs to */
        struct buffer lo, hi;
    } query;
    struct continuation *token; /* NULL: the next query is for [cursor, end) */
    TAILQ_HEAD(chunk_runs, waiting_run) runs;
    size_t waiting_pages, waiting_rows, waiting_bytes;
    /* the rows that it has read */
    struct buffer first, last, page_first; /* positions; `page_first` and `last` of its last page */
    size_t rows, page_rows;                /* of all pages; of its last page */
    double pages_left;                     /* estimated, after the cursor */
    double worth;        /* of scan_split: of a request for what is after the cursor */
    double taken_before; /* pages taken from the scan when the first waiting page arrived */
};

TAILQ_HEAD(chunk_list, chunk);

int chunk_create(struct range range, struct chunk **ret);
void chunk_destroy(struct chunk *chunk); /* takes NULL; not on a list */
/* The list has one chunk, of the range; none if the range is empty. -ENOMEM: none. */
int chunk_list_init(struct chunk_list *list, struct range range);
void chunk_list_finish(struct chunk_list *list); /* destroys its chunks */
size_t chunk_list_waiting_pages(const struct chunk_list *list);

/* Appends the greatest end such that one query can request [cursor, that end): `end` itself if one
 * query can request all. */
int chunk_append_expressible_end(const struct chunk *chunk, struct buffer *ret);
/* The chunk now ends at `position`, which lies inside it; `ret` is a new chunk of the rest. */
int chunk_split(struct chunk *chunk, struct bytes position, struct chunk **ret);
bool chunk_can_split(const struct chunk *chunk, struct bytes position);

/* READY -> REQUESTED. Without a token, [cursor, end) must be range_is_expressible. */
int chunk_request(struct chunk *chunk, struct range *ret_range);
/* REQUESTED -> READY or DONE. Takes ownership of the answer. On failure the chunk is as after
 * chunk_give_back. `ret_run`: the answer's rows that lie in the chunk, a view. */
int chunk_add_answer(struct chunk *chunk, struct answer *answer, struct run *ret_run);
void chunk_give_back(struct chunk *chunk); /* REQUESTED -> READY, without its token */
/* REQUESTED -> READY, with its token. For queries with a filter: after a page without rows, only
 * the token contains how far the service has searched. */
void chunk_give_back_with_token(struct chunk *chunk);
bool chunk_take(struct chunk *chunk, struct run *ret); /* the next rows; false: none wait */
/* Takes the next rows of a list, as a scan's item, and removes chunks that have no more. */
enum scan_state chunk_list_take(struct chunk_list *list, struct scan_item *ret);
/* Adds the range and rows of `next` to the chunk. Both are DONE, and `next` begins where the chunk
 * ends. */
void chunk_join(struct chunk *chunk, struct chunk *next);
/* Not if REQUESTED. Drops the rows that wait; they will be requested again. False: nothing was
 * dropped, because no row waits or there is no memory. */
bool chunk_drop_waiting(struct chunk *chunk);

bool chunk_is_begun(const struct chunk *chunk); /* has it read a row? */

DEFINE_CLEANUP(struct chunk *, chunk_destroy);

#endif
