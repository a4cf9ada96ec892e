/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_LOCAL_DIRECTORIES_H
#define CACHE_KNOWN_LOCAL_DIRECTORIES_H
/* Local directories: directories below a table that exist in this mount although no entity is in
 * them. mkdir makes one. An unlink or rmdir that empties a directory leaves one. It ends with its
 * own rmdir, or with its table: when this mount drops that, or the service answers that it is gone.
 *
 * Why: the kernel looks a name up before it sends RMDIR. Without local directories that LOOKUP
 * would find no emptied directory, and `rm -r` would fail with ENOENT (measured).
 *
 * A directory is known by its table and its range.lo: by what it stands for, not by a path. So
 * T/New, T/N+/New and T/.flat/New are one directory.
 *
 * Bounded: the LOCAL_DIRECTORIES_MAX directories that were last added or asked for, in
 * LOCAL_DIRECTORIES_MAX_BYTES; keys of ordinary length take 2 MiB. An evicted one no longer exists
 * if it is empty.
 *
 * One that mkdir made is empty. One that was left by an unlink or rmdir, or in which this mount has
 * stored an entity since, may hold entities: a listing that shows entities shows such a directory
 * once, by their names, and not again because it is local.
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

/* `parent`: the directory whose listing shows it, by the path that was used. Example: `mkdir
 * T/N+/New` adds the partition "New" with the prefix directory "N" as its parent. is_empty: no
 * entity is in it. 0; -ENOMEM; 1: it was local already. Then it stays where it is, and is empty
 * only if it was. Of two callers that add it at once one gets 0. */
int local_directories_add(struct local_directories *local, const struct directory *directory,
                          const struct directory *parent, bool is_empty);
bool local_directories_has(struct local_directories *local, const struct directory *directory);
/* Is another local directory in its range, by whatever path it was made? Then a path through this
 * one leads to it: after `mkdir T/New`, T/N+ and T/Ne+ are there, too. */
bool local_directories_has_below(struct local_directories *local,
                                 const struct directory *directory);
void local_directories_remove(struct local_directories *local, const struct directory *directory);
/* An entity was stored: the directories that it lies in are not empty. */
void local_directories_filled(struct local_directories *local, struct address address);
void local_directories_remove_table(struct local_directories *local, const char *table);
/* The service was asked at `asked`, and the page has all tables that are in its range. The local
 * directories of others there end, but not one that was added since. */
void local_directories_keep_tables(struct local_directories *local, const struct page *tables,
                                   struct stamp asked);

/* A directory that the settlement concerns becomes that of the key, in the place that it has in its
 * parent's listing. It ends if that one is local already. 0 or -ENOMEM: then nothing has changed.
 */
int local_directories_settle(struct local_directories *local, const struct settlement *settlement);

/* Finds the first directory in the listing of `parent` whose range.lo is greater than `after`
 * (empty: the first of all), for a listing, and to see whether `parent` is empty. Its range.lo is
 * put into ret, which is cleared first: with a NUL at its end it is a partition, else a prefix.
 * ret_is_empty: no entity is in it, as far as this mount knows. 1; 0: no more; -ENOMEM.
 *
 * A level shows those that were added with it as their parent. A flat listing shows all partitions
 * of its range. A partition shows none: its prefixes are never listed. */
int local_directories_next(struct local_directories *local, const struct directory *parent,
                           struct bytes after, struct buffer *ret, bool *ret_is_empty);

DEFINE_CLEANUP(struct local_directories *, local_directories_destroy);

#endif
