/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_BOOKMARKS_H
#define CACHE_LIST_BOOKMARKS_H
/* Places that a listing has passed: pairs of a cookie and a position. A listing that seekdir sends
 * back to a cookie continues at the bookmark before it, not at the beginning of the directory.
 *
 * At most BOOKMARKS_MAX are kept, evenly spread, so the memory does not grow with the directory.
 * When the table is full, every other bookmark is dropped and the spacing doubles. Pure; one
 * thread.
 */
#include "client/base/bytes.h"

#define BOOKMARKS_MAX 256

struct bookmark {
    uint64_t cookie;
    struct buffer position;
};

struct bookmarks {
    struct bookmark entries[BOOKMARKS_MAX]; /* cookies ascend */
    size_t n;
    uint64_t spacing; /* the least difference between two cookies */
};

void bookmarks_init(struct bookmarks *bookmarks, uint64_t spacing);
/* Drops all and frees their memory; keeps the spacing. May be used again afterwards. */
void bookmarks_clear(struct bookmarks *bookmarks);
/* Calls come in ascending order of cookies. A bookmark is not kept if its cookie is nearer to the
 * last one than the spacing, or if there is no memory for it. */
void bookmarks_add(struct bookmarks *bookmarks, uint64_t cookie, struct bytes position);
/* The last bookmark with this cookie or a lower one. NULL: none. */
const struct bookmark *bookmarks_find(const struct bookmarks *bookmarks, uint64_t cookie);
/* The last bookmark at this position or before it, in a listing whose positions ascend with its
 * cookies. NULL: none. */
const struct bookmark *bookmarks_find_position(const struct bookmarks *bookmarks,
                                               struct bytes position);

#endif
