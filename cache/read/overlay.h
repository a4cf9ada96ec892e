#ifndef CACHE_READ_OVERLAY_H
#define CACHE_READ_OVERLAY_H
/* What this mount sees: the range cache, and what it misses is read. Any thread, no lock of its
 * own. A lookup, a listing, "is it empty" are all one question: what follows range.lo? */
#include "cache/read/reader.h"

struct overlay;
int overlay_create(struct range_cache *cache, struct reader *reader, struct overlay **ret);
void overlay_destroy(struct overlay *overlay); /* takes NULL; not what it was created with */

struct ahead {       /* what a miss asks for */
    struct bytes hi; /* where it ends if that is behind the question's range; empty: there */
    int top;
    bool keys_only; /* where keys suffice for the question */
};

struct seen {
    struct run run;   /* the caller's to finish */
    int64_t asked_ms; /* when the oldest of what it rests on was asked; also of "none" */
    size_t fetched_rows, fetched_bytes; /* what this caller's own requests brought for it */
    bool was_fetched; /* it was not known: there was a request, of this caller or another */
};

/* The next rows of question->range: 1 and rows in ret->run, 0: surely none, -errno with the reason
 * in caller->call (-ENOENT: no such table). A request is never for more than the rest of a
 * partition, or whole partitions: what the question wants behind that is asked for next, and only
 * if nothing was found. */
int overlay_next(struct overlay *overlay, struct caller *caller, const struct question *question,
                 const struct ahead *ahead, struct seen *ret);

DEFINE_CLEANUP(struct overlay *, overlay_destroy);

#endif
