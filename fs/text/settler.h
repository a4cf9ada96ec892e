/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_SETTLER_H
#define FS_TEXT_SETTLER_H
/* Finds the keys of new files and directories that were made by the cut name of a long key.
 *
 * The name alone does not tell the key. So such a file or directory has an unsettled key at first
 * (client/base/position.h): it is there in this mount alone, like every new file and every local
 * directory. It is settled by the first of these:
 *
 *   - the key for which this mount has given the name out (fs/tree/long_names), in whatever table
 *   - for a rename, the key of the entity that is renamed
 *   - PartitionKey or RowKey of the first text that is stored there
 *
 * A key of another beginning or digest is refused. When a key is found, everything that is known by
 * the unsettled one gets it: nodes, writers, scratch files and the local directory. What is stored
 * later has that key, whatever its text says: the path is the key.
 *
 * Example: mkdir T/LONG#~0123456789abcdef, and cp of a text with {"PartitionKey": "LONG and more",
 * "RowKey": "r"} to r.json in it: it is stored in that partition, and the directory is that of the
 * partition from then on.
 *
 * Any thread; no lock of its own. Two threads that settle one name settle it alike. A settlement
 * has several steps, and other threads see what is between them. First the name counts as given
 * out. Then the local directory, the writers and the scratch files get the key, and the nodes last.
 * What a settled node leads to is settled, therefore. Under an unsettled address a handler
 *
 *   - looks first. If nothing is there, it settles the address by what was given out, and looks
 *     again under the settled one
 *   - makes first, and settles the address then. What it has made is settled so, or by a settlement
 *     that has not begun yet */
#include "fs/scratch/scratch.h"
#include "fs/text/writer.h"
#include "fs/tree/long_names.h"

struct settler { /* a value; all outlive it */
    struct account *account;
    struct inode_table *inodes;
    struct writers *writers; /* NULL: nothing is made in this mount, and so is scratch */
    struct scratch *scratch;
    struct long_names *names;
};

struct key_source {        /* views */
    struct bytes position; /* of the entity that is renamed: if not empty, its keys count */
    struct bytes text;     /* else the keys in this text count, which is stored by `begin` */
    enum edit_begin begin;
};

/* Settles what has the address. source NULL: only by names that were given out, and the address may
 * stay unsettled. -EINVAL, -ENAMETOOLONG: with the reason, and nothing is settled; -ENOMEM: some of
 * it may be, but no node without the rest. What is left is settled by the next call. */
int settler_settle(const struct settler *settler, struct caller *caller, struct address address,
                   const struct key_source *source);
/* The same, and the place, which no node has. */
int settler_settle_place(const struct settler *settler, struct caller *caller, struct place *place,
                         const struct key_source *source);

#endif
