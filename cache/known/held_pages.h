/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_HELD_PAGES_H
#define CACHE_KNOWN_HELD_PAGES_H
/* References to the pages that a traversal has read and not visited yet, in key order. The range
 * cache does not evict a page with such a reference. Example: `find` reads the rows of a directory
 * for its names, and visits them afterwards.
 *
 * Pure; the owner locks. Functions move pages that are no longer held to another list, so that the
 * owner frees them outside its lock. */
#include "client/store/page.h"

#include <sys/queue.h>

struct held_page {
    TAILQ_ENTRY(held_page) link;
    struct page *page;
};

struct held_pages {
    TAILQ_HEAD(held_list, held_page) list;
    size_t bytes;
};

void held_pages_init(struct held_pages *held);
void held_pages_finish(struct held_pages *held); /* it may be used again */
/* Takes a reference. NULL: no memory; then the page may be evicted. */
struct held_page *held_page_create(struct page *page);
/* Takes ownership of `page`, which lies after all in the list. */
void held_pages_add(struct held_pages *held, struct held_page *page);
/* Moves the pages that end at or before the position to ret_passed. */
void held_pages_pass(struct held_pages *held, struct bytes position, struct held_pages *ret_passed);
/* Moves the first pages to ret_given, until there are at most max_bytes, or only the last page. */
void held_pages_limit(struct held_pages *held, size_t max_bytes, struct held_pages *ret_given);
/* Would one more page like the last one fit? */
bool held_pages_have_room(const struct held_pages *held, size_t max_bytes);

#endif
