#ifndef CACHE_LISTING_H
#define CACHE_LISTING_H
/* The names for one opendir: a cursor over what the range cache holds or has to ask for. It stands
 * at a position, never at a continuation token, so a reader may pause for days; it holds one page,
 * and what was read ahead for it; of a level it keeps the names. Going back counts entries anew
 * from a bookmark, so an entry that was deleted there meanwhile may make one be skipped. One thread
 * at a time; no lock; blocks for the requests that it sends.
 *
 * What it shows was asked for at most ttl before the listing began (at its first entry, or when it
 * was rewound), in a walk as long before as the walk's; and at most 30 s ago, or ttl; but the names
 * of a level stay what they were when it began. */
#include "cache/address.h"
#include "cache/caller.h"
#include "client/page.h"

enum listing_kind { LISTING_TABLE, LISTING_PREFIX, LISTING_PARTITION, LISTING_ENTITY };

struct listing_entry {
    enum listing_kind kind;
    struct bytes key;     /* or prefix: CESU-8; a table's name in ASCII; until the next call */
    struct entity entity; /* of LISTING_ENTITY, whole, borrowed until the next call; no page:
                             nothing but its name is known */
    uint64_t cookie; /* grows from 1; names the place behind this entry for the listing's life */
    /* For d_ino; grows along the listing. Of an entity its st_ino; of a partition or prefix a
     * number that says the order alone, above every st_ino; of a table 0: its st_ino will do. */
    uint64_t number;
    /* So long the kernel may keep the entry, as it is shown here. A listing shows an entity's text
     * as it was read, also where somebody was told something younger: then not at all. */
    int64_t valid_ms;
};

struct view;
struct listing;
/* sends nothing; the view outlives it */
int listing_create(struct view *view, const struct directory *directory, struct listing **ret);
void listing_close(struct listing *listing); /* takes NULL */
/* The entry behind `cookie` (0: the first; the listing begins anew): 1; 0 at the sure end; -errno:
 * the listing cannot go on now. Never -ENOENT, which readers take for the end: a directory that
 * vanished is -ESTALE. A failed call may be made again. names_suffice: entities may come without
 * their texts. Where it may not wait, -EAGAIN in place of waiting for a request; what runs ahead of
 * it goes on. */
int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 bool names_suffice, bool may_wait, struct listing_entry *ret);

DEFINE_CLEANUP(struct listing *, listing_close);

#endif
