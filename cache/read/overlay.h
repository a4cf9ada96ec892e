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

/* The same for a scan, of keys: at most ahead->top rows as an answer that says how far it tells
 * all. Its continuation has no token but the position behind that. ret_seen comes without its
 * run. */
int overlay_keys(struct overlay *overlay, struct caller *caller, const struct question *question,
                 const struct ahead *ahead, struct answer *ret, struct seen *ret_seen);

/* What is known at question->range.lo, for a scan of rows: a page that begins at or before it, and
 * may hold more than the range, or less; an empty page where the range surely holds nothing. NULL:
 * to be asked, or no memory. */
struct page *overlay_known_page(struct overlay *overlay, const struct question *question);

/* Would it be asked? Then where: what lies before is known to be nothing. 1, 0, -ENOMEM. */
int overlay_misses(struct overlay *overlay, const struct question *question,
                   struct buffer *ret_until);
/* Is anything in the range not known? Then from where on. 1, 0, -ENOMEM. */
int overlay_lacks(struct overlay *overlay, const struct question *question,
                  struct buffer *ret_until);

DEFINE_CLEANUP(struct overlay *, overlay_destroy);

#endif
