/* SPDX-License-Identifier: MIT */
#include "fs/ops/open_writer.h"

#include <fcntl.h>

bool open_writer_is_needed(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

static int complain(struct request *request, int error)
{
    return call_fail(&request->caller.call, error, "%s",
                     error == -EFBIG ? "the stored text is longer than 8 MiB" : "out of memory");
}

/* The writer of a node, referenced. NULL: it has none. */
static struct writer *writer_of(struct request *request, const struct inode *inode)
{
    struct node_file *file = inode_table_file(request->fs->inodes, inode->id);
    return file ? writer_of_node_file(file) : NULL;
}

/* Joins a writer. -ESTALE: its last handle was closed meanwhile. */
static int join(struct request *request, struct writer *writer, int flags,
                struct writer_handle **ret)
{
    int r = writer_open_handle(writer, request->caller.process, ret);
    if (r == -ENOMEM)
        return complain(request, r);
    if (r == 0 && (flags & O_TRUNC)) {
        r = writer_resize(writer, &request->caller, 0);
        if (r < 0)
            writer_drop_handle(*ret, &request->caller);
    }
    return r;
}

/* The text that the thread's LOOKUP has found, else the present one. 0 or -errno. */
static int find_stored(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = request_opener(request, inode);
    if (stale_opens_take_text(fs->stale_opens, &opener, inode->id, clock_now_ms(fs->clock), ret) ||
        inode_table_open_text(fs->inodes, inode->id, ret))
        return 0;
    int r = request_may_wait(request, &inode->place);
    return r < 0 ? r
                 : account_find(fs->account, &request->caller, place_address(&inode->place), ret);
}

/* As find_stored, with an ETag. A queued text has none yet, so it is sent first. If another text
 * was queued meanwhile, the writer learns its ETag later. */
static int find_version(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct account *account = request->fs->account;
    struct address address = place_address(&inode->place);
    int r = find_stored(request, inode, ret);
    if (r < 0 || page_etag(ret->page, ret->row).size > 0)
        return r;
    entity_finish(ret);
    r = request_may_wait(request, &inode->place);
    if (r == 0)
        r = account_sync_entity(account, &request->caller, address);
    return r < 0 ? r : account_find(account, &request->caller, address, ret);
}

/* Does the open need the stored text? Without this test a bad row could not be replaced: vim opens
 * a file like this and truncates it afterwards. If the open were refused, `:w!` would unlink the
 * entity first. */
static bool needs_text(int flags)
{
    return !(flags & O_TRUNC) && ((flags & O_ACCMODE) == O_RDWR || (flags & O_APPEND));
}

static int begin(struct request *request, const struct inode *inode, int flags,
                 struct writer_handle **ret)
{
    _cleanup_(entity_finish) struct entity stored = {0};
    bool is_truncated = flags & O_TRUNC;
    int r =
        is_truncated ? find_stored(request, inode, &stored) : find_version(request, inode, &stored);
    if (r == 0 && needs_text(flags))
        r = account_check_readable(&request->caller, &stored);
    if (r == 0 && !is_truncated) /* for room for the text */
        r = request_may_wait(request, &inode->place);
    if (r < 0)
        return r;
    const struct writer_begin begin = {.address = place_address(&inode->place),
                                       .begin = is_truncated       ? EDIT_OVER
                                                : flags & O_APPEND ? EDIT_APPENDED
                                                                   : EDIT_CHANGED,
                                       .is_truncated = is_truncated,
                                       .snapshot = stored};
    r = writers_open(request->fs->writers, &begin, &request->caller, ret);
    if (r < 0)
        return r == -EFBIG || r == -ENOMEM ? complain(request, r) : r; /* else it has its reason */
    if (!is_truncated && (flags & O_ACCMODE) == O_RDWR)
        account_opened(request->fs->account, &request->caller, begin.address, &stored);
    return 0;
}

/* Begins the writer of a node, or joins the one that it has. */
static int share(struct request *request, const struct inode *inode, int flags,
                 struct writer_handle **ret)
{
    struct writer *writer = writer_of(request, inode);
    int r = writer ? join(request, writer, flags, ret) : -ESTALE;
    writer_unref(writer);
    if (r != -ESTALE)
        return r;
    r = begin(request, inode, flags, ret);
    if (r < 0 ||
        inode_table_set_file(request->fs->inodes, inode->id, writer_node_file((*ret)->writer)))
        return r;
    writer = writer_of(request, inode);
    struct writer_handle *alone = *ret;
    if (writer && join(request, writer, flags, ret) == 0) /* another open was first */
        writer_drop_handle(alone, &request->caller);
    else /* and has ended */
        *ret = alone;
    writer_unref(writer);
    return 0;
}

/* Joins the writer of a new file. -ESTALE: the node is not of a new file. */
static int join_new(struct request *request, const struct inode *inode, int flags,
                    struct writer_handle **ret)
{
    struct writer *writer = writer_of(request, inode);
    int r = writer && writer_is_new(writer) ? join(request, writer, flags, ret) : -ESTALE;
    writer_unref(writer);
    return r;
}

static int open_entity(struct request *request, const struct inode *inode, int flags,
                       struct writer_handle **ret)
{
    struct stale_opens *stale = request->fs->stale_opens;
    struct opener opener = request_opener(request, inode);
    int64_t now_ms = clock_now_ms(request->fs->clock);
    uint64_t minted = 0;
    int r = join_new(request, inode, flags, ret);
    if (r != -ESTALE)
        return r;
    bool wants = stale_opens_is_writer(stale, &opener, now_ms, &minted);
    bool is_own = minted == inode->id || minted == 0;
    if (wants && inode_kind(inode) == NODE_WRITER && is_own)
        return share(request, inode, flags, ret);
    /* all callers of another pid namespace have thread id 0, so this may be another caller */
    if (wants && opener.thread != 0)
        return begin(request, inode, flags, ret);
    if (inode_is_renamed(inode))
        opener.name = (struct bytes){0};
    r = stale_opens_wants_writer(stale, &opener, now_ms);
    return r < 0 ? complain(request, r) : -ESTALE;
}

int open_writer(struct request *request, const struct inode *inode, int flags,
                struct writer_handle **ret)
{
    int r = open_entity(request, inode, flags, ret);
    struct opener opener = request_opener(request, inode);
    if (r != -ESTALE)
        stale_opens_end_writer(request->fs->stale_opens, &opener);
    return r;
}

int open_writer_read(struct request *request, const struct inode *inode, struct writer_handle **ret)
{
    return join_new(request, inode, 0, ret);
}

/* Databases open files like this before they know whether they can write. Tools that create an
 * empty file on purpose (touch, `>`, mktemp) do not. */
static bool is_provisional(int flags)
{
    return (flags & (O_ACCMODE | O_TRUNC | O_EXCL | O_APPEND)) == O_RDWR;
}

int open_writer_new(struct request *request, struct address address, int flags,
                    struct writer_handle **ret)
{
    struct writers *writers = request->fs->writers;
    bool is_exclusive = flags & O_EXCL;
    const struct writer_begin begin = {.address = address,
                                       .begin = is_exclusive       ? EDIT_EXCLUSIVE
                                                : flags & O_APPEND ? EDIT_APPENDED
                                                                   : EDIT_NEW,
                                       .is_new = true,
                                       .is_provisional = is_provisional(flags)};
    for (;;) {
        int r = writers_open(writers, &begin, &request->caller, ret);
        if (r == -EEXIST && is_exclusive)
            return call_fail(&request->caller.call, r,
                             "the file was created, and is not stored yet");
        if (r != -EEXIST)
            return r < 0 ? complain(request, r) : 0;
        struct writer *writer = writers_find_new(writers, address);
        r = writer ? join(request, writer, flags, ret) : -ESTALE;
        writer_unref(writer);
        if (r != -ESTALE) /* else it was closed meanwhile */
            return r;
    }
}
