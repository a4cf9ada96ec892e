/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_LISTING_H
#define CACHE_LIST_LISTING_H
/* The names for one opendir: a cursor over what is known of a directory, and what has to be asked
 * for. It stands at a position, never at a continuation token, so its reader may pause for days. It
 * holds one page, and what is read ahead for it; of a level it keeps the names. Going back counts
 * entries anew from a bookmark, so an entry that was deleted there meanwhile may make one be
 * skipped. One thread at a time; no lock; blocks for the requests that it sends.
 *
 * What it shows was asked for at most ttl before the listing began (at its first call, or when it
 * was rewound). For a process that traverses, as long before as the traversal's answers. Never more
 * than 30 s ago, or ttl where that is more. The names of a level stay what they were when it began.
 *
 * Of a directory with a filter it shows what matches, asked for since it began, however long that
 * takes, and puts each row that it shows into the cache: matches.h. Once it has shown that nothing
 * matches, it does not begin anew. */
#include "cache/address.h"
#include "cache/caller.h"
#include "cache/known/local_directories.h"
#include "cache/list/forms.h"
#include "client/store/page.h"

enum listing_kind { LISTING_TABLE, LISTING_PREFIX, LISTING_PARTITION, LISTING_ENTITY };

struct listing_entry {
    enum listing_kind kind;
    struct bytes key;     /* or prefix: CESU-8; a table's name in ASCII; until the next call */
    struct entity entity; /* of LISTING_ENTITY: whole, borrowed until the next call; no page: only
                             its name is known */
    uint64_t cookie; /* grows from 1; names the place behind this entry for the listing's life */
    /* For d_ino; grows along the listing. It tells the order alone, above every st_ino; of a table
     * 0: its st_ino will do. */
    uint64_t number;
    /* How long the kernel may keep the entry as it is shown here. A listing shows the text of an
     * entity as it was read; 0 if another caller got a younger answer meanwhile. */
    int64_t valid_ms;
};

struct listing_source { /* outlives its listings */
    const struct read_ahead_source *read;
    struct read_ahead *read_ahead;
    struct local_directories *local;
    struct forms *forms;
};

struct listing;
/* Sends nothing. */
int listing_create(const struct listing_source *source, const struct directory *directory,
                   struct listing **ret);
void listing_close(struct listing *listing); /* takes NULL */
/* The entry behind `cookie` (0: the first; a listing that has shown entries begins anew): 1. 0: the
 * sure end. -errno: the listing cannot go on now; a failed call may be made again. Never -ENOENT,
 * which readdir takes for the end: a directory that vanished is -ESTALE. names_suffice: entities
 * may come without their texts. Where may_wait is false, -EAGAIN in place of waiting for a request;
 * what is read ahead goes on. */
int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 bool names_suffice, bool may_wait, struct listing_entry *ret);

/* For after the sure end: the first local directory of the listing's directory whose range.lo is
 * greater than `after` (empty: the first of all), without those that the listing has shown because
 * entities are in them. Its range.lo is put into ret_lo, which is cleared first: with a NUL at its
 * end it is a partition, else a prefix. Sends nothing: where it is not known whether an entity is
 * in it, it is taken to be as this mount has left it. 1; 0: no more; -ENOMEM. */
int listing_next_local(struct listing *listing, struct bytes after, struct buffer *ret_lo);
/* Is an entity known, as of the listing, that lies in the range? That is of the listing's
 * directory. Sends nothing. 1, 0, -ENOMEM. */
int listing_knows_row(const struct listing *listing, struct range range);
/* The same: is it known that no entity lies in the range? */
int listing_knows_none(const struct listing *listing, struct range range);

DEFINE_CLEANUP(struct listing *, listing_close);

#endif
