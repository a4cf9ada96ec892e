/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_PATH_ALIASES_H
#define CACHE_WHO_PATH_ALIASES_H
/* Records by which paths each process has used a partition. A partition has many paths: T/Newt,
 * T/N+/Newt, T/N+/Ne+/Newt. Listings show only one of them, and when the table grows, they show
 * another. A process that has used a partition by one path and then deletes in it by another may be
 * mirroring a tree whose names have changed: `rsync --delete` would delete through T/N+ what it has
 * just written to T/Newt. Such a delete is refused.
 *
 * Example: a process has written T/Newt/1.json. The table grows and now lists T/N+. The process
 * unlinks T/N+/Newt/1.json: path_aliases_differ returns true, and unlink fails with EBUSY. A
 * process that uses only T/N+/Newt is not refused.
 *
 * The rule:
 *   - a path is the chain of the table and prefix directories above the partition. T/.flat/Newt is
 *     the same path as T/Newt. Prefixes of RowKeys (T/Newt/1+) are not part of it
 *   - to use is to look up, to make, to list, to open, to create, to rename into, to set the times
 *   - to delete is to unlink an entity, or to rename it out of the partition. rmdir is not refused:
 *     such a directory is empty. A delete below T/.flat is never refused: names there never change
 *   - the records of a process are removed PATH_ALIASES_REST_MS after it has last used any path.
 *     That is long, because rsync's process that deletes may wait for the one that stores
 *
 * Bounded: PATH_ALIASES_SIZE records in all, 11 MiB at most: one for each process, and one for each
 * pair of a process and a partition, with the last two paths. When they are full, the least
 * recently used process loses its youngest pair. If a single process has all records, its oldest
 * pairs stay, and no new one is added. This finds a mirroring process even so: it deletes in the
 * order in which it has used the partitions, so its first deletes are refused, and then all its
 * deletes in the table. Uses by process 0, and uses without memory for a record, are not recorded.
 * Keys are kept as hashes of 64 bits: a collision can refuse a delete, or fail to refuse one.
 *
 * Any thread; one leaf mutex; never blocks. */
#include "cache/address.h"
#include "cache/caller.h"

#define PATH_ALIASES_SIZE    65536
#define PATH_ALIASES_REST_MS 3600000

struct path_aliases;
/* The clock outlives it. 0 or -ENOMEM. */
int path_aliases_create(const struct clock *clock, struct path_aliases **ret);
void path_aliases_destroy(struct path_aliases *aliases); /* takes NULL */
/* Records that the process uses a directory of a partition, or of a prefix of its RowKeys. Does
 * nothing for other directories. */
void path_aliases_note(struct path_aliases *aliases, const struct caller *caller,
                       const struct directory_path *path);
/* Has the process used the directory's partition by another path? */
bool path_aliases_differ(struct path_aliases *aliases, const struct caller *caller,
                         const struct directory_path *path);

DEFINE_CLEANUP(struct path_aliases *, path_aliases_destroy);

#endif
