#ifndef CACHE_BOOKMARKS_H
#define CACHE_BOOKMARKS_H
/* Where a listing was, so that seekdir can go back without reading from the begin: some (cookie,
 * position) pairs, evenly spread, in memory that does not grow with the directory. Pure, one
 * thread. */
#include "client/bytes.h"

#define BOOKMARKS_MAX 256

struct bookmark {
    uint64_t cookie;
    struct buffer position;
};

struct bookmarks {
    struct bookmark entries[BOOKMARKS_MAX]; /* cookies ascend */
    size_t n;
    uint64_t spacing; /* of cookies; doubles whenever the table is full */
};

void bookmarks_init(struct bookmarks *bookmarks, uint64_t spacing);
void bookmarks_finish(struct bookmarks *bookmarks);
void bookmarks_clear(struct bookmarks *bookmarks); /* the listing begins anew */
/* Cookies are told in ascending order; one nearer to the last than the spacing, or without memory,
 * is not kept. */
void bookmarks_add(struct bookmarks *bookmarks, uint64_t cookie, struct bytes position);
/* the last at or before it; NULL: none */
const struct bookmark *bookmarks_find(const struct bookmarks *bookmarks, uint64_t cookie);
/* The same by position, of a listing whose positions ascend with its cookies. */
const struct bookmark *bookmarks_find_position(const struct bookmarks *bookmarks,
                                               struct bytes position);

#endif
