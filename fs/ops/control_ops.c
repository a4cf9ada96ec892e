/* SPDX-License-Identifier: MIT */
#include "fs/ops/control_ops.h"
#include "client/text/table_name.h"
#include "fs/entry.h"
#include "fs/ops/open_writer.h"

#include <fcntl.h>
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
    return r < 0 ? call_fail(&request->caller.call, r, "%s",
                             r == -ENOMEM ? "out of memory" : "the text is longer than 4 MiB")
                 : 0;
}

/* Without allow_other the kernel does not check the mode. */
static int open_drop(struct request *request, int flags, struct open_file **ret)
{
    struct call *call = &request->caller.call;
    if ((flags & O_ACCMODE) != O_WRONLY)
        return call_fail(call, -EACCES, "the file `drop` is only written: the name of a table");
    if (!request->fs->writers)
        return -EROFS;
    return open_file_create_drop(ret) < 0 ? call_fail(call, -ENOMEM, "out of memory") : 0;
}

static int open_text(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    if (open_writer_is_needed(info->flags))
        return call_fail(&request->caller.call, -EROFS, CONTROL_IS_READ);
    info->keep_cache = 1; /* the node has one text */
    struct control_text *text =
        control_text_of_node_file(inode_table_file(request->fs->inodes, inode->id));
    if (text->for_owner != is_for_owner(request, inode->place.control_file)) {
        control_text_unref(text); /* another user's LOOKUP: the kernel sends one for this caller */
        return -ESTALE;
    }
    return open_file_create_control(text, ret) < 0
               ? call_fail(&request->caller.call, -ENOMEM, "out of memory")
               : 0;
}

int control_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    info->noflush = 1;
    if (inode->place.control_file != CONTROL_DROP)
        return open_text(request, inode, info, ret);
    info->direct_io = 1;
    return open_drop(request, info->flags, ret);
}

static int confirm_drop(struct request *request, struct bytes name)
{
    struct file_system *fs = request->fs;
    char table[TABLE_NAME_SIZE];
    if (place_directory(&inode_table_find(fs->inodes, FUSE_ROOT_ID)->place).table)
        return call_fail(&request->caller.call, -EINVAL,
                         "the root of this mount is a table: mount the account to drop it");
    if (name.size > 0 && name.data[name.size - 1] == '\n')
        name.size--;
    if (!table_name_is_shown(name))
        return request_refuse_name(request, name, -EINVAL, "no table has such a name");
    memcpy(table, name.data, name.size);
    table[name.size] = '\0';
    int r = request_may_wait(request, &inode_table_find(fs->inodes, FUSE_ROOT_ID)->place);
    return r < 0 ? r : account_confirm_drop(fs->account, &request->caller, table);
}

void control_ops_drop(fuse_req_t req, struct bytes text)
{
    struct request request;
    request_begin(&request, req, "drop");
    int r = confirm_drop(&request, text);
    if (r < 0)
        request_fail(&request, r, NULL);
    else
        (void)fuse_reply_write(req, text.size);
    request_end(&request);
}
