/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_HELD_PAGES_H
#define CACHE_AHEAD_HELD_PAGES_H
/* References to the pages that a traversal has read and not visited yet, in key order. The range
 * cache does not evict a page with such a reference. Example: `find` reads the rows of a directory
 * for its names, and visits them afterwards.
 *
 * Embedded; one thread at a time. */
#include "client/store/page.h"

#include <sys/queue.h>

struct held_pages {
    TAILQ_HEAD(held_list, held_page) list;
    size_t bytes;
};

void held_pages_init(struct held_pages *held);
void held_pages_finish(struct held_pages *held);
/* The page lies after all in the list. Without memory it is not held, and may be evicted. */
void held_pages_add(struct held_pages *held, struct page *page);
/* Lets go of the pages that end at or before the position. */
void held_pages_pass(struct held_pages *held, struct bytes position);
/* Lets go of the first pages, until there are at most max_bytes, or only the last page. */
void held_pages_limit(struct held_pages *held, size_t max_bytes);
/* Would one more page like the last one fit? */
bool held_pages_have_room(const struct held_pages *held, size_t max_bytes);

#endif
