#ifndef CACHE_LISTING_H
#define CACHE_LISTING_H
/* The names for one opendir: a cursor. It stands at a position, never at a continuation token (one
 * is followed only behind an empty page, at once; the list of tables alone has no positions and
 * keeps its token), so a reader may pause for days. Holds one page. Going
 * back counts entries anew from a bookmark, so an entry that was deleted there meanwhile may make
 * one be skipped. One thread at a time; no lock;
 * blocks for the requests that it sends. */
#include "cache/address.h"
#include "cache/caller.h"
#include "client/table_store.h"

enum listing_kind { LISTING_TABLE, LISTING_PREFIX, LISTING_PARTITION, LISTING_ENTITY };

struct listing_entry {
    enum listing_kind kind;
    struct bytes key;     /* or prefix: CESU-8; a table's name in ASCII; until the next call */
    struct entity entity; /* of LISTING_ENTITY, whole; borrowed until the next call */
    uint64_t cookie; /* grows from 1; names the place behind this entry for the listing's life */
    uint64_t number; /* st_ino; grows along the listing */
};

struct listing_source { /* lives longer than the listing */
    struct table_store *store;
    const struct clock *clock;
    int64_t ttl_ms;
    _Atomic uint64_t *numbers; /* the next inode number */
};

struct listing;
/* sends nothing */
int listing_create(const struct listing_source *source, const struct directory *directory,
                   struct listing **ret);
void listing_close(struct listing *listing); /* takes NULL */
/* The entry behind `cookie` (0: the first, asked for anew when the listing had begun already): 1; 0
 * at the sure end; -errno: the listing cannot go on now. Never -ENOENT, which readers take for the
 * end: a directory that vanished is -ESTALE. A failed call may be made again. */
int listing_next(struct listing *listing, struct caller *caller, uint64_t cookie,
                 struct listing_entry *ret);

DEFINE_CLEANUP(struct listing *, listing_close);

#endif
