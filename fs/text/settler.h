/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_SETTLER_H
#define FS_TEXT_SETTLER_H
/* Finds the keys of new files and directories that were made under the cut name of a long key.
 *
 * A cut name has only the beginning of the key and a digest. So such a file or directory has an
 * unsettled key at first (client/base/position.h), and exists in this mount only, like every new
 * file and every local directory. It is settled, that is, gets its key, by the first of these:
 *
 *   - the key for which this mount has shown the name before (fs/tree/long_names), in any table
 *   - for a rename, the key of the entity that is renamed
 *   - PartitionKey or RowKey of the first text that is stored there
 *
 * A key with another beginning or digest is refused. When a key is found, it replaces the unsettled
 * one in nodes, writers, scratch files and the local directory. A text that is stored later gets
 * that key, whatever its properties say: the path is the key.
 *
 * Example: mkdir T/LONG#~0123456789abcdef, and cp of a text with {"PartitionKey": "LONG and more",
 * "RowKey": "r"} to r.json in it: it is stored in that partition, and the directory is that of the
 * partition from then on.
 *
 * Any thread; no lock of its own. Two threads that settle one name find the same key. A settlement
 * has several steps, and other threads may see the states between them: first long_names gets the
 * key, then the local directory, the writers and the scratch files, and the nodes last. Therefore
 * everything that is reached through a settled node is settled. A handler that works with an
 * unsettled address
 *
 *   - to find something, looks it up under that address. If there is nothing, it settles the
 *     address by long_names, and looks it up again under the settled address
 *   - to make something, makes it first, and settles the address afterwards. So the new object is
 *     settled then, or by a settlement that begins later */
#include "fs/scratch/scratch.h"
#include "fs/text/writer.h"
#include "fs/tree/long_names.h"

struct settler { /* a value; the objects outlive it */
    struct account *account;
    struct inode_table *inodes;
    struct writers *writers; /* NULL in a read-only mount, like `scratch` */
    struct scratch *scratch;
    struct long_names *names;
};

struct key_source {        /* views */
    struct bytes position; /* of the entity that is renamed: its keys are used */
    struct bytes text;     /* if `position` is empty: the keys in this text are used */
    enum edit_begin begin;
};

/* Settles everything that has the address. source NULL: only by names that this mount has shown
 * before, and the address may stay unsettled. -EINVAL, -ENAMETOOLONG: with the reason, and nothing
 * is settled; -ENOMEM: some objects may be settled, but a node only after all others; the next call
 * settles the rest. */
int settler_settle(const struct settler *settler, struct caller *caller, struct address address,
                   const struct key_source *source);
/* The same, and settles also the place, which is not part of a node. */
int settler_settle_place(const struct settler *settler, struct caller *caller, struct place *place,
                         const struct key_source *source);

#endif
