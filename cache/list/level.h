/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_LEVEL_H
#define CACHE_LIST_LEVEL_H
/* What a table's or prefix directory shows, for one opendir: its partitions, or the prefixes that
 * they share (cache/scan/scan_level). Keeps the names: they are few. Nothing outlives the opendir,
 * so a change of our own shows in every listing that begins after it. One thread at a time; no
 * lock; blocks for what it waits for. */
#include "cache/address.h"
#include "cache/known/stamp.h"
#include "cache/list/level_names.h"
#include "cache/list/listing.h"

struct level;
/* Sends nothing. The source and the directory outlive it. */
int level_create(const struct listing_source *source, const struct directory *directory,
                 struct level **ret);
void level_destroy(struct level *level); /* takes NULL */

/* Forgets all names; what it shows from now on is as old as `began` at most. */
void level_begin_anew(struct level *level, struct stamp began);

/* The name of this index, from 0: 1. 0: there is none. -EAGAIN: it would have to be waited for, and
 * may_wait is false. Else -errno with the reason in caller->call. */
int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret);
/* What the names so far tell of a partition, or of all that begin with a prefix. */
enum level_shows {
    LEVEL_SHOWS_NOTHING, /* no name shows anything of it */
    LEVEL_SHOWS_NAME,    /* it is a name, or a name begins with it */
    LEVEL_SHOWS_PREFIX,  /* it begins with a prefix that is a name: nothing is known of it */
};
enum level_shows level_shows(const struct level *level, struct bytes key, bool is_prefix);
bool level_has_prefixes(const struct level *level);    /* so far */
int64_t level_requested_ms(const struct level *level); /* when the oldest of it was asked for */

#endif
