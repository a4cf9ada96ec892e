/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_LEVEL_H
#define CACHE_LIST_LEVEL_H
/* The names in the directory of a table or prefix, for one opendir: its partitions, or the prefixes
 * that they share (cache/scan/scan_level). Keeps all names, since they are few. They are kept for
 * one opendir, so a listing that begins after a change by this mount shows that change. One thread
 * at a time; no lock; blocks for requests. */
#include "cache/address.h"
#include "cache/known/stamp.h"
#include "cache/list/level_names.h"
#include "cache/list/listing.h"

struct level;
/* Sends nothing. The source and the directory outlive it. */
int level_create(const struct listing_source *source, const struct directory *directory,
                 struct level **ret);
void level_destroy(struct level *level); /* takes NULL */

/* Forgets all names; from now on it uses only answers that were requested at `began` or later. */
void level_begin_anew(struct level *level, struct stamp began);

/* 1: ret is the name with this index, from 0; 0: there are no more names; -EAGAIN: it has not
 * arrived, and may_wait is false. Else -errno with the reason in caller->call. */
int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret);
/* How do the names so far show a partition, or with is_prefix the partitions with that prefix? */
enum level_shows {
    LEVEL_SHOWS_NOTHING, /* none */
    LEVEL_SHOWS_NAME,    /* the key is a name; with is_prefix, also: the beginning of a name */
    LEVEL_SHOWS_PREFIX,  /* a name is a prefix of the key: it is not known whether the key exists */
};
enum level_shows level_shows(const struct level *level, struct bytes key, bool is_prefix);
bool level_has_prefixes(const struct level *level);    /* so far */
int64_t level_requested_ms(const struct level *level); /* when its oldest answer was requested */

#endif
