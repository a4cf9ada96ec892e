/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_LISTING_H
#define CACHE_LIST_LISTING_H
/* The entries of a directory for one opendir: a cursor that reads what is known, and requests the
 * rest. It stands at a position, never at a continuation token, so its reader may pause for days.
 * It keeps one page, and what is read ahead; in a level, all names. After a seekdir back, it counts
 * the entries again from a bookmark; if an entry there was deleted meanwhile, another may be
 * skipped. One thread at a time; no lock; blocks for the requests that it sends.
 *
 * Age: a listing begins at its first call, and again when it is rewound. Its answers were requested
 * at most ttl before it began; for a process that traverses, they may be as old as those of the
 * traversal (freshness.h). They are never older than 30 s, or ttl if that is more. Only the names
 * of a level stay as they were when the listing began.
 *
 * With a filter, the listing shows the rows that match (matches.h). All answers are requested after
 * it began, however long it takes. Each row shown goes into the cache. If the listing has ended
 * without a match, a rewind does not request it again. */
#include "cache/address.h"
#include "cache/caller.h"
#include "cache/known/local_directories.h"
#include "cache/list/forms.h"
#include "client/store/page.h"

enum listing_kind { LISTING_TABLE, LISTING_PREFIX, LISTING_PARTITION, LISTING_ENTITY };

struct listing_entry {
    enum listing_kind kind;
    struct bytes key; /* key or prefix in CESU-8, or a table's name; valid until the next call */
    struct entity entity; /* LISTING_ENTITY: the entity, borrowed until the next call; page NULL:
                             only its name is known */
    uint64_t cookie; /* the place after this entry, from 1; grows; valid as long as the listing */
    /* For d_ino: grows along the listing, and is greater than every st_ino. 0 for a table, whose
     * st_ino is used. */
    uint64_t number;
    /* How long the kernel may keep the entry. The listing shows an entity as it read it; 0: not at
     * all, because another caller got a younger answer meanwhile, or the entity is being changed.
     */
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
/* The entry after `cookie`. cookie 0: the first entry; if the listing has shown entries, this
 * rewinds it. 1: ret is set. 0: the end, no entry is missing. -errno: the next entry cannot be read
 * now; the call may be repeated. Never -ENOENT, which readdir takes for the end: if the directory
 * vanished, -ESTALE. names_suffice: entities may be without texts. may_wait false: -EAGAIN instead
 * of waiting for a request; reading ahead continues. */
int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 bool names_suffice, bool may_wait, struct listing_entry *ret);

/* After the end: the first local directory in the listing's directory whose range.lo is greater
 * than `after` (empty: the first of all), except those that the listing has shown because entities
 * are in them. Puts its range.lo into ret_lo, which is cleared first: with a NUL at its end it is a
 * partition, else a prefix. Sends nothing: if it is not known whether an entity is in it, it is
 * returned if this mount left it empty. 1; 0: no more; -ENOMEM. */
int listing_next_local(struct listing *listing, struct bytes after, struct buffer *ret_lo);
/* Is an entity known in `range`, a part of the listing's directory? It accepts answers as old as
 * the listing may show. Sends nothing. */
bool listing_knows_row(const struct listing *listing, struct range range);
/* The same: is it known that there is no entity in the range? */
bool listing_knows_none(const struct listing *listing, struct range range);

DEFINE_CLEANUP(struct listing *, listing_close);

#endif
