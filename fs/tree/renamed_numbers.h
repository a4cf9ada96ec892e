/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_RENAMED_NUMBERS_H
#define FS_TREE_RENAMED_NUMBERS_H
/* The st_ino of files that were renamed. The kernel keeps the node of the old name under the new
 * one until a timeout ends. Then it forgets that node, looks the new name up, and gets another
 * node, which has the same st_ino: a file keeps it, whatever its name. Otherwise cp, which compares
 * lstat and fstat, would refuse a file that was just renamed. Example: after `mv a b`, where the
 * node of a has st_ino 100, (b, 100) is kept.
 *
 * The name that an entity had before it became a backup gets a number of its own here: the backup
 * has taken the entity's, and the entity may be shown again.
 *
 * The latest RENAMED_NUMBERS_MAX are kept. A file that was renamed before them gets another st_ino
 * if the kernel has forgotten its nodes.
 *
 * Not thread-safe: the inode table's lock guards it. Names are copied. */
#include "client/bytes.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

#define RENAMED_NUMBERS_MAX 16384 /* some 2 MiB */

struct renamed_number;
RB_HEAD(renamed_name_tree, renamed_number);
TAILQ_HEAD(renamed_number_list, renamed_number);

struct renamed_numbers {
    struct renamed_name_tree names;
    struct renamed_number_list ages; /* the oldest first */
    size_t count;
};

void renamed_numbers_init(struct renamed_numbers *numbers);
void renamed_numbers_finish(struct renamed_numbers *numbers);
/* Replaces what the name has. Without memory it has none afterwards. */
void renamed_numbers_put(struct renamed_numbers *numbers, uint64_t parent, struct bytes name,
                         uint64_t number);
/* 0: the name has none. */
uint64_t renamed_numbers_find(const struct renamed_numbers *numbers, uint64_t parent,
                              struct bytes name);
void renamed_numbers_drop(struct renamed_numbers *numbers, uint64_t parent, struct bytes name);

#endif
