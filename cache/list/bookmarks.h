/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_BOOKMARKS_H
#define CACHE_LIST_BOOKMARKS_H
/* Bookmarks of a listing: pairs of a cookie and the position there. After a seekdir back to a
 * cookie, the listing continues at the last bookmark before it, not at the start of the directory.
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
    uint64_t spacing; /* the minimum difference between two cookies */
};

void bookmarks_init(struct bookmarks *bookmarks, uint64_t spacing);
/* Drops all and frees their memory; keeps the spacing. May be used again afterwards. */
void bookmarks_clear(struct bookmarks *bookmarks);
/* Cookies ascend from call to call. A bookmark is not kept if its cookie is nearer to the last one
 * than the spacing, or if there is no memory for it. */
void bookmarks_add(struct bookmarks *bookmarks, uint64_t cookie, struct bytes position);
/* The last bookmark with this cookie or a lower one. NULL: none. */
const struct bookmark *bookmarks_find(const struct bookmarks *bookmarks, uint64_t cookie);
/* The last bookmark at this position or before it, in a listing whose positions ascend with its
 * cookies. NULL: none. */
const struct bookmark *bookmarks_find_position(const struct bookmarks *bookmarks,
                                               struct bytes position);

#endif
