/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NEW_PLACE_H
#define FS_TREE_NEW_PLACE_H
/* Decides which names can be created, and what each would be. (place_child says what a name stands
 * for when it is looked up; not all of that can be created.) Pure.
 *
 * The root has tables and a table has partitions: both are directories. A partition has entities,
 * which are files with names that end in .json, and scratch files (scratch_name.h). In the
 * directory of a prefix only names that begin with the prefix can be created, and scratch files.
 * Example: in T/N+, `mkdir Newton` makes a partition, and `mkdir Xyz` is refused. A cut name makes
 * a child with an unsettled key (client/base/position.h). In a partition, a directory whose name
 * begins with a dot has only scratch files, with any names, as rsync --delay-updates needs it. */
#include "fs/tree/place.h"

enum new_kind {
    NEW_DIRECTORY,
    NEW_FILE,
    NEW_TEMPORARY_FILE, /* created as mkstemp does (scratch_name.h): an entity only if its name is
                           always an entity's */
};

/* What `name` would be if it were created in the directory `parent`. globs: see scratch_name_is. 0:
 * an entity, a scratch file, or a directory of a table, a partition, a prefix of partitions, or
 * scratch files. Otherwise -errno, and ret_reason is a sentence with the rule, for the user (static
 * text): -EINVAL: no such name can be created here; -ENAMETOOLONG: it has more than 255 bytes;
 * -EEXIST: the name is part of the mount, as .tablefuse is; -EPERM: in .filter, or a directory in
 * that of a filter; -ENOTDIR; -ENOMEM. */
int new_place_child(const struct place *parent, struct bytes name, enum new_kind kind,
                    const char *globs, struct place *ret, const char **ret_reason);

#endif
