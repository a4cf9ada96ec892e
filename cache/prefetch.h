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

/* 1: what the question misses, of the listing of the directory, is in the cache, as long as
 * ret_page (NULL: nothing) is held; 0: it misses nothing, or has to be asked; -errno with the
 * reason in caller->call. */
int prefetch_reach(struct prefetch *prefetch, struct caller *caller, enum prefetch_kind kind,
                   struct range directory, const struct question *question, struct page **ret_page);

#endif
