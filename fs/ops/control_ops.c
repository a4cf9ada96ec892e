/* SPDX-License-Identifier: MIT */
#include "fs/ops/control_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/open_writer.h"

#include <unistd.h>

static bool is_for_owner(const struct request *request, enum control_file file)
{
    uid_t uid = request->context->uid;
    return file == CONTROL_VERSION && (uid == geteuid() || uid == 0);
}

int control_ops_look_up(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place, struct fuse_entry_param *ret)
{
    struct file_system *fs = request->fs;
    _cleanup_(control_text_unrefp) struct control_text *text = NULL;
    enum control_file file = place->control_file;
    int r = control_dir_text(fs->control, file, is_for_owner(request, file),
                             clock_utc_100ns(fs->clock), &text);
    if (r == 0)
        r = entry_make_control(fs, parent->id, name, place, text, ret);
    return r == -EFBIG ? call_fail(&request->caller.call, r, "the text is longer than 4 MiB") : r;
}

int control_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    info->noflush = 1;
    if (open_writer_is_needed(info->flags))
        return call_fail(&request->caller.call, -EROFS, CONTROL_IS_READ);
    info->keep_cache = 1; /* the node has one text */
    struct control_text *text =
        control_text_of_node_file(inode_table_file(request->fs->inodes, inode->id));
    if (text->for_owner != is_for_owner(request, inode->place.control_file)) {
        control_text_unref(text); /* another user's LOOKUP: the kernel sends one for this caller */
        return -ESTALE;
    }
    return open_file_create_control(text, ret);
}
