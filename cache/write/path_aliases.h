/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WRITE_PATH_ALIASES_H
#define CACHE_WRITE_PATH_ALIASES_H
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
 *   - what a process has used is forgotten when its job (process group) has used nothing for
 *     PATH_ALIASES_REST_MS. It is the job's time, because the process of rsync that deletes waits
 *     for the one that stores.
 *
 * Bounded: PATH_ALIASES_SIZE pairs of a process and a partition, the two last paths of each, and
 * PATH_ALIASES_JOBS jobs; 7 MiB at most. The pair that was not used for longest is replaced, but of
 * a process that has all the oldest ones any pair. So a tree with more partitions is noticed at one
 * of the first that it deletes in. From then on all deletes of that process in the table are
 * refused; until then deletes in pairs that were replaced are not. Process 0 is never remembered.
 * Keys are kept as hashes of 64 bits: a collision can refuse a delete, or fail to refuse one.
 *
 * Any thread; one leaf mutex; never blocks. */
#include "cache/address.h"
#include "cache/caller.h"

#define PATH_ALIASES_SIZE    65536
#define PATH_ALIASES_JOBS    256
#define PATH_ALIASES_REST_MS 300000 /* longer than a change of a name may take */

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
