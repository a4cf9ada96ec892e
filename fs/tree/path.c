/* SPDX-License-Identifier: MIT */
#include "fs/tree/path.h"

/* Is it a table's own directory, or the account's? */
static bool is_last(const struct place *place)
{
    return place->directory_kind == DIRECTORY_TABLES ||
           (!place->is_given && place_directory(place).range.lo.size == 0);
}

/* The directory that contains the node's, within the table. NULL: none. */
static const struct inode *above(struct inode_table *inodes, const struct inode *inode)
{
    return is_last(&inode->place) ? NULL : inode_table_find(inodes, inode->parent);
}

int path_make(struct inode_table *inodes, const struct inode *inode, const struct place *child,
              struct directory **ret_steps, struct directory_path *ret)
{
    size_t most = 1, n = 0;
    bool is_flat = false;
    const char *filter = place_directory(child ? child : &inode->place).filter;
    if (inode->place.kind == PLACE_SCRATCH_DIRECTORY) /* the account knows its partition */
        inode = inode_table_find(inodes, inode->parent);
    for (const struct inode *step = inode; step; step = above(inodes, step))
        most++;
    struct directory *steps = calloc(most, sizeof(*steps));
    if (!steps)
        return -ENOMEM;
    if (child)
        steps[n++] = place_directory(child);
    if (child && is_last(child))
        inode = NULL;
    for (; inode && n < most; inode = above(inodes, inode))
        if (inode->place.is_given)
            is_flat |= inode->place.directory_kind != DIRECTORY_ENTITIES;
        else
            steps[n++] = place_directory(&inode->place);
    *ret_steps = steps;
    *ret = (struct directory_path){steps, n, is_flat, filter};
    return 0;
}
