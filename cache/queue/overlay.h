/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_OVERLAY_H
#define CACHE_QUEUE_OVERLAY_H
/* What this mount sees of an account: what the range cache knows, with the changes that pending has
 * queued, and without what it masks; what the range cache does not know is fetched. A lookup, a
 * listing, "is it empty?" are all one question: what follows range.lo? Any thread, no lock of its
 * own.
 *
 * A table that this mount has dropped is masked, because the service may list it for a while. That
 * it is listed proves nothing then, but a read of it does: the service answers none while it
 * deletes the table. So a listed table that is masked is not known, and is read. If the read is
 * answered, another client has created the table again, and the mask ends. That it is not listed
 * ends no mask: a list that was asked for later may have been answered before, and still have the
 * table. */
#include "cache/known/fetcher.h"
#include "cache/queue/pending.h"

struct overlay;
/* The others outlive it. */
int overlay_create(struct range_cache *cache, struct fetcher *fetcher, struct pending *pending,
                   struct overlay **ret);
void overlay_destroy(struct overlay *overlay); /* takes NULL */

struct seen {
    struct run run; /* the caller's to finish */
    int64_t
        requested_ms; /* when the oldest of what the answer rests on was asked, also of "none" */
    size_t fetched_rows, fetched_bytes; /* what this caller's own requests brought for it */
    bool was_fetched;  /* it was not known: there was a request, of this caller or another */
    bool was_overlaid; /* a row is a queued text, or a position was left out before the rows or the
                          end: this part of the answer has no age */
    bool is_unproven;  /* of KNOWN_NOT: a dropped table stands there, and is listed */
};

/* The one look at what is known; sends nothing. enum knowledge (range_cache.h), or -ENOMEM:
 * KNOWN_ROWS with the next rows in ret->run; KNOWN_EMPTY; KNOWN_NOT: no row lies before ret_until
 * (cleared first; may be NULL), and from there on nothing is known. */
int overlay_look(struct overlay *overlay, const struct question *question, struct seen *ret,
                 struct buffer *ret_until);

struct on_miss { /* what a miss asks for */
    int top;
    bool keys_only; /* where keys suffice for the question */
};

/* The next rows of question->range: 1 and rows in ret->run; 0: surely none; -errno with the reason
 * in caller->call (-ENOENT: no such table). One request never asks for more than the rest of a
 * partition, or for whole partitions: what the question wants behind that is asked for next, and
 * only if nothing was found. */
int overlay_next(struct overlay *overlay, struct caller *caller, const struct question *question,
                 const struct on_miss *on_miss, struct seen *ret);

/* The same for a scan of keys: a page of at most `top` keys. By its range it says how far it has
 * all of them. It begins where the question's range does. ret_seen comes without its run. */
int overlay_keys(struct overlay *overlay, struct caller *caller, const struct question *question,
                 int top, struct page **ret, struct seen *ret_seen);

/* What is known at question->range.lo, for a scan of rows: a page that begins at or before it, and
 * may hold more than the range, or less; an empty page where the range surely holds nothing. NULL:
 * to be asked, or no memory. Queued changes and masks do not count: a scan of rows brings pages
 * into the range cache, and names and texts are taken from there by overlay_next. */
struct page *overlay_known_page(struct overlay *overlay, const struct question *question);

/* Is a row known to lie in the range, wherever it is, and no change of it queued or under way? As
 * range_cache_find_row. */
int overlay_knows_row(struct overlay *overlay, const struct question *question,
                      int64_t *ret_requested_ms);

/* Is anything in the range not known? Then from where on. 1, 0, -ENOMEM. */
int overlay_lacks(struct overlay *overlay, const struct question *question,
                  struct buffer *ret_until);

/* Is the row masked, or is a change of it queued or under way? With table NULL: the table of that
 * name. Then what is seen of it may end at any moment, and it may not be kept. */
bool overlay_is_changing(struct overlay *overlay, const char *table, struct bytes position);

#endif
