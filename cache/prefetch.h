#ifndef CACHE_PREFETCH_H
#define CACHE_PREFETCH_H
/* What a listing misses, brought by its process's walk, or by a scan that runs ahead of the
 * listing. The first miss is left to the listing itself: most directories are small. One thread at
 * a time; no lock; blocks for the pages that it waits for. */
#include "cache/view.h"

enum prefetch_kind {
    PREFETCH_NONE,
    PREFETCH_ROWS,
    PREFETCH_KEYS,       /* of rows: names alone */
    PREFETCH_PARTITIONS, /* the keys of the first rows of each partition at least */
};

struct prefetch { /* in its owner's memory */
    struct view *view;
    enum prefetch_kind kind;
    struct stream *stream; /* NULL: none runs */
    int64_t reached_ms;    /* when it was last used */
    int misses;
};

void prefetch_init(struct prefetch *prefetch, struct view *view); /* the view outlives it */
void prefetch_reset(struct prefetch *prefetch);                   /* nothing runs; also to end it */

/* What the question misses, of the listing of the directory: enum reach; REACH_NOT also where it
 * misses nothing. */
int prefetch_reach(struct prefetch *prefetch, struct caller *caller, enum prefetch_kind kind,
                   struct range directory, const struct question *question, struct page **ret_page);

#endif
