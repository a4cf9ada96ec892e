/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_LOCAL_DIRECTORIES_H
#define CACHE_KNOWN_LOCAL_DIRECTORIES_H
/* Local directories: directories below a table that exist in this mount although no entity is in
 * them. mkdir creates one. An unlink or rmdir that empties a directory leaves one. It ends with its
 * own rmdir, or with its table: when this mount drops the table, or the service answers that it is
 * gone.
 *
 * Why: the kernel looks a name up before it sends RMDIR. Without local directories this LOOKUP
 * would not find the emptied directory, and `rm -r` would fail with ENOENT (measured).
 *
 * A directory is identified by its table and its range.lo, not by a path. So T/New, T/N+/New and
 * T/.flat/New are one directory.
 *
 * Bounded: the last LOCAL_DIRECTORIES_MAX directories that were added or looked up, in at most
 * LOCAL_DIRECTORIES_MAX_BYTES; with keys of ordinary length they take 2 MiB. An evicted directory
 * that is empty no longer exists.
 *
 * A directory that mkdir created is empty. One that an unlink or rmdir left, or in which this mount
 * has stored an entity since, may contain entities. Then a listing shows it because of the
 * entities, and must not show it a second time because it is local.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: directories are copied. */
#include "cache/address.h"
#include "cache/known/stamp.h"
#include "client/store/page.h"

#define LOCAL_DIRECTORIES_MAX       10000
#define LOCAL_DIRECTORIES_MAX_BYTES ((size_t)8 << 20)

struct local_directories;
/* The counter of stamps' orders outlives it. 0 or -ENOMEM. */
int local_directories_create(const _Atomic uint64_t *orders, struct local_directories **ret);
void local_directories_destroy(struct local_directories *local); /* takes NULL */

/* `parent`: the directory whose listing shows it, from the path that was used. Example: `mkdir
 * T/N+/New` adds the partition "New" with the prefix directory "N" as its parent. is_empty: no
 * entity is in it. 0; -ENOMEM; 1: it was local already: it keeps its parent, and counts as empty
 * only if it did and is_empty is true. If two callers add it at once, one gets 0. */
int local_directories_add(struct local_directories *local, const struct directory *directory,
                          const struct directory *parent, bool is_empty);
bool local_directories_has(struct local_directories *local, const struct directory *directory);
/* Is another local directory in its range, whatever path created it? Then this one exists, too, as
 * a part of paths to it: after `mkdir T/New`, T/N+ and T/Ne+ exist. */
bool local_directories_has_below(struct local_directories *local,
                                 const struct directory *directory);
void local_directories_remove(struct local_directories *local, const struct directory *directory);
/* An entity was stored: the directories that contain it are not empty. */
void local_directories_filled(struct local_directories *local, struct address address);
void local_directories_remove_table(struct local_directories *local, const char *table);
/* The page has all tables in its range, as they were at `requested`. Removes the local directories
 * of other tables in that range, except those that were added after `requested`. */
void local_directories_keep_tables(struct local_directories *local, const struct page *tables,
                                   struct stamp requested);

/* Replaces the unsettled key of a directory by the key that the settlement gives; its parent stays.
 * If the directory of that key is local already, this one is removed. 0 or -ENOMEM: then nothing
 * has changed. */
int local_directories_settle(struct local_directories *local, const struct settlement *settlement);

/* Finds the first local directory in the listing of `parent` whose range.lo is greater than `after`
 * (empty: the first of all; may be a view of ret). Puts its range.lo into ret: with a NUL at its
 * end it is a partition, else a prefix. ret_is_empty: no entity is in it, as far as this mount
 * knows. False: there are no more.
 *
 * A level lists the directories that were added with it as their parent. A flat listing lists all
 * partitions in its range. A partition lists none. */
bool local_directories_next(struct local_directories *local, const struct directory *parent,
                            struct bytes after, struct position *ret, bool *ret_is_empty);

DEFINE_CLEANUP(struct local_directories *, local_directories_destroy);

#endif
