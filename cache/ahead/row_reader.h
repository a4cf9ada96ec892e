/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_ROW_READER_H
#define CACHE_AHEAD_ROW_READER_H
/* Takes items of a prefetcher of rows, up to the position that its user needs: a process that
 * traverses a table, or one listing. Its frontier is the end of what it has taken.
 *
 * The reader of a traversal lists directories first and visits their entities later. It keeps
 * references to the pages that it has taken and not passed (held_pages.h), so that they are still
 * there for the visit. Its prefetcher runs ahead only in the room that these leave.
 *
 * One thread at a time. */
#include "cache/ahead/prefetcher.h"

struct row_reader;

/* options: not of READ_LEVEL. 0, or -errno with the reason in opener->call. */
int row_reader_create(const struct prefetcher_source *source,
                      const struct prefetcher_options *options, struct caller *opener,
                      struct row_reader **ret);
void row_reader_destroy(struct row_reader *reader); /* takes NULL; cancels its requests */

enum reach {
    REACH_NOT,      /* the reader has passed it, or it is too far ahead: the caller requests it */
    REACH_IN_CACHE, /* it has arrived: the caller queries the range cache again, and holds ret_page
                       until then, so that it is not evicted (NULL: the item has no page; or, in
                       traversals.h, another thread took it, and its page may have been evicted) */
    REACH_FULL,     /* must_fit, and the next page does not fit with the held pages */
};
/* Takes items up to the one at `position`. If an item does not fit with the held pages and must_fit
 * is false, the first held pages are given up for it. Returns enum reach, or -errno with the reason
 * in caller->call. */
int row_reader_reach(struct row_reader *reader, struct caller *caller, struct bytes position,
                     bool must_fit, struct page **ret_page);
/* The process has reached `position` with rows from the range cache: takes the items that have
 * arrived before it, gives up the held pages before it, and sends what may now be sent. Never
 * blocks. */
void row_reader_follow(struct row_reader *reader, struct bytes position);

DEFINE_CLEANUP(struct row_reader *, row_reader_destroy);

#endif
