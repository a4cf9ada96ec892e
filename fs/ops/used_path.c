/* SPDX-License-Identifier: MIT */
#include "fs/ops/used_path.h"
#include "fs/tree/path.h"

void used_path_note(struct request *request, const struct inode *inode)
{
    struct file_system *fs = request->fs;
    _cleanup_(freep) struct directory *steps = NULL;
    struct directory_path path;
    if (!fs->writers)
        return;
    if (inode && inode->place.kind != PLACE_DIRECTORY)
        inode = inode_table_find(fs->inodes, inode->parent);
    if (inode && place_lies_in_partition(&inode->place) &&
        path_make(fs->inodes, inode, NULL, &steps, &path) == 0)
        account_use_path(fs->account, &request->caller, &path);
}
