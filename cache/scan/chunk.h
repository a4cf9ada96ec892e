#ifndef CACHE_SCAN_CHUNK_H
#define CACHE_SCAN_CHUNK_H
/* Chunk: a piece of a scanned range that is read page after page, and the rows of it that wait to
 * be taken. It hands out nothing at or behind `end`, but its query may reach further: when it is
 * split, it keeps its query and token and stops by itself, so a split costs no request. Only where
 * one query can ask for just what is left, the next is that one: its pages hold no foreign rows.
 * Its memory is small and constant but for the pages. Pure; one thread. */
#include "client/table_store.h"

#include <sys/queue.h>

enum chunk_state {
    CHUNK_READY, /* to be asked */
    CHUNK_ASKED,
    CHUNK_DONE, /* nothing more comes; its rows may still wait */
};

struct chunk {
    TAILQ_ENTRY(chunk) link; /* in key order; each begins where the one before ends */
    enum chunk_state state;
    uint64_t id;               /* of its request */
    struct buffer cursor, end; /* what is before the cursor is known */
    struct {                   /* the query that the token belongs to */
        struct buffer lo, hi;
    } query;
    struct continuation *token; /* NULL: asked from the cursor, then [cursor, end) */
    TAILQ_HEAD(chunk_runs, waiting_run) runs;
    size_t waiting_pages, waiting_rows, waiting_bytes;
    /* what it has shown */
    struct buffer first, last, page_first; /* positions; `page_first` and `last` of its last page */
    size_t rows, page_rows;                /* in all; of its last page */
    double pages_left;                     /* estimated, behind the cursor */
    double taken_before; /* pages of the scan that were taken when its first waiting page came */
    bool is_far;         /* it was let go, and not asked since: not before it is its turn */
};

TAILQ_HEAD(chunk_list, chunk);

int chunk_create(struct range range, struct chunk **ret);
void chunk_destroy(struct chunk *chunk); /* takes NULL; not on a list */

/* Where the first piece of [cursor, end) ends that one query can ask for; `end` itself: all of it.
 */
int chunk_append_askable_end(const struct chunk *chunk, struct buffer *ret);
/* The chunk ends at `position`, which lies inside; `ret` is what lies behind it. */
int chunk_split(struct chunk *chunk, struct bytes position, struct chunk **ret);
bool chunk_can_split(const struct chunk *chunk, struct bytes position);

/* READY, and without a token [cursor, end) is askable. */
int chunk_ask(struct chunk *chunk, struct range *ret_range);
/* Takes the answer, also on failure, when the chunk is as if it had been given back. `ret_run`: the
 * rows of it that are the chunk's, a view. */
int chunk_tell(struct chunk *chunk, struct answer *answer, struct run *ret_run);
void chunk_give_back(struct chunk *chunk);
bool chunk_take(struct chunk *chunk, struct run *ret); /* the next rows; false: none wait */
/* Both are DONE, `next` is right behind: its range and rows become the chunk's. */
void chunk_join(struct chunk *chunk, struct chunk *next);
/* Forgets the rows that wait: they are to be asked again. false: out of memory. Not ASKED. */
bool chunk_let_go(struct chunk *chunk);

bool chunk_is_begun(const struct chunk *chunk); /* it has shown a row */

DEFINE_CLEANUP(struct chunk *, chunk_destroy);

#endif
