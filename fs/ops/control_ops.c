#include "fs/ops/control_ops.h"
#include "client/text/table_name.h"
#include "fs/ops/open_writer.h"

#include <fcntl.h>
#include <unistd.h>

#define CONTROL_MAX_BYTES ((size_t)4 << 20)

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

static int open_text(struct request *request, const struct inode *inode, int flags,
                     struct open_file **ret)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, CONTROL_MAX_BYTES);
    if (open_writer_is_needed(flags))
        return call_fail(&request->caller.call, -EROFS, CONTROL_IS_READ);
    bool is_owner = request->context->uid == geteuid() || request->context->uid == 0;
    int r = control_dir_text(request->fs->control, inode->place.control_file, is_owner, &text);
    if (r >= 0)
        r = open_file_create_text(&text, ret);
    if (r < 0)
        (void)call_fail(&request->caller.call, r, "%s",
                        r == -ENOMEM ? "out of memory" : "the text is longer than 4 MiB");
    return r;
}

int control_ops_open(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    info->noflush = 1;
    info->direct_io = 1; /* the size that the kernel knows is 0 */
    return inode->place.control_file == CONTROL_DROP ? open_drop(request, info->flags, ret)
                                                     : open_text(request, inode, info->flags, ret);
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
