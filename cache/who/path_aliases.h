/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_PATH_ALIASES_H
#define CACHE_WHO_PATH_ALIASES_H
/* Remembers by which paths each process has used a partition. A partition has many paths: T/Newt,
 * T/N+/Newt, T/N+/Ne+/Newt. Which of them is listed changes when the table grows. A process that
 * has used a partition by one path and deletes in it by another one may be mirroring a tree whose
 * names have changed: `rsync --delete` would delete through T/N+ what it has just written to
 * T/Newt. Such a delete is refused.
 *
 * Example: a process looked T/Newt up, or wrote T/Newt/1.json. The table has grown and now lists
 * T/N+. The process unlinks T/N+/Newt/1.json: path_aliases_differ is true, and the answer is EBUSY.
 * A process that uses nothing but T/N+/Newt is not refused.
 *
 * The rule:
 *   - a path is the chain of the table and prefix directories above the partition. T/.flat/Newt is
 *     the same path as T/Newt. Prefixes of RowKeys (T/Newt/1+) do not count
 *   - to use is to look up, to make, to list, to open, to create, to rename into, to set the times
 *   - to delete is to unlink an entity, or to rename it out of the partition. A directory that is
 *     removed has none. A delete below T/.flat is never refused: names there never change
 *   - what a process has used is forgotten PATH_ALIASES_REST_MS after it has used any path: the
 *     process of rsync that deletes may wait for long for the one that stores.
 *
 * Bounded: PATH_ALIASES_SIZE records in all, one of each process, and one of each pair of a process
 * and a partition with its two last paths; 11 MiB at most. If there are more, the process that has
 * used nothing for longest loses its youngest pair. Of one process that has all of them the first
 * ones stay, and no new one is added: processes delete in the order in which they have used the
 * partitions, so one with more partitions is noticed where it begins to delete. From then on all
 * its deletes in the table are refused. If there is no memory, a use is not remembered. Process 0
 * never is. Keys are kept as hashes of 64 bits: a collision can refuse a delete, or fail to refuse
 * one.
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
/* The process uses a directory: that of a partition, or of RowKeys in one. Of another one nothing
 * is noted. */
void path_aliases_note(struct path_aliases *aliases, const struct caller *caller,
                       const struct directory_path *path);
/* Has the process used the directory's partition by another path? */
bool path_aliases_differ(struct path_aliases *aliases, const struct caller *caller,
                         const struct directory_path *path);

DEFINE_CLEANUP(struct path_aliases *, path_aliases_destroy);

#endif
