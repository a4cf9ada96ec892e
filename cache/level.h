#ifndef CACHE_LEVEL_H
#define CACHE_LEVEL_H
/* What a table's or prefix directory shows, for one opendir: its partitions, or the prefixes that
 * they share (cache/scan/scan_level). Keeps the names: they are few. One thread at a time; no lock;
 * blocks for what it waits for. */
#include "cache/address.h"
#include "cache/level_names.h"
#include "cache/view.h"

struct level;
/* sends nothing; the view and the directory outlive it */
int level_create(struct view *view, const struct directory *directory, struct level **ret);
void level_destroy(struct level *level); /* takes NULL */

/* Forgets all names. */
void level_begin_anew(struct level *level, struct stamp began);

/* The name of this index, from 0: 1; 0: there is none; -EAGAIN: it may not be waited for, and would
 * be; -errno with the reason in caller->call. */
int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret);
int64_t level_asked_ms(const struct level *level); /* when the oldest of it was asked */

DEFINE_CLEANUP(struct level *, level_destroy);

#endif
