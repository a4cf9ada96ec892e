#include "fs/ops/file_ops.h"
#include "fs/files/open_file.h"

#include <fcntl.h>

/* How an open gets its text. A node is one version. If the entity has another version by now, the
 * open is answered ESTALE. The kernel then looks the name up again by itself, which makes a new
 * node, and opens that. The user sees no error if this second open succeeds. Therefore it gets the
 * text that came with the LOOKUP, whatever has changed meanwhile (fs/tree/stale_opens). A thread
 * that opens again without a LOOKUP (an open of /proc/self/fd/N) gets the text that is open there
 * (fs/tree/inode). */

#define CONTROL_MAX_BYTES ((size_t)4 << 20)

static struct open_file *handle_of(const struct fuse_file_info *info)
{
    return (struct open_file *)(uintptr_t)info->fh;
}

static struct opener opener_of(const struct request *request, const struct inode *inode)
{
    return (struct opener){request->context->pid, inode->parent, inode_name(inode)};
}

/* The entity has another version than the node. The first open is answered ESTALE. A thread that
 * opens the node again gets the text that is open there. */
static int open_outdated(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = opener_of(request, inode);
    int64_t now_ms = clock_now_ms(fs->clock);
    if (stale_opens_has_begun(fs->stale_opens, &opener, now_ms) &&
        inode_table_open_text(fs->inodes, inode->id, ret))
        return 0;
    if (stale_opens_begin(fs->stale_opens, &opener, now_ms) < 0)
        return call_fail(&request->caller.call, -ENOMEM, "out of memory");
    return -ESTALE;
}

/* Finds the text of the node's version. 0 or -errno. */
static int find_text(struct request *request, const struct inode *inode, struct entity *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = opener_of(request, inode);
    if (stale_opens_take_text(fs->stale_opens, &opener, inode->id, clock_now_ms(fs->clock), ret))
        return 0;
    _cleanup_(entity_finish) struct entity stored = {0};
    int r = request_may_wait(request, &inode->place);
    if (r == 0)
        r = account_find(fs->account, &request->caller, place_address(&inode->place), &stored);
    if (r < 0)
        return r;
    struct version version = version_of_entity(&stored);
    if (!inode_is_version(inode, &version))
        return open_outdated(request, inode, ret);
    *ret = stored;
    stored.page = NULL;
    return 0;
}

static int open_entity(struct request *request, const struct inode *inode, struct open_file **ret)
{
    struct file_system *fs = request->fs;
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = find_text(request, inode, &entity);
    if (r < 0)
        return r;
    r = open_file_create_entity(&entity, ret);
    if (r == 0) {
        r = inode_table_opened(fs->inodes, inode->id, &(*ret)->entity);
        if (r < 0)
            open_file_destroy(TAKE_PTR(*ret));
    }
    if (r < 0) {
        (void)call_fail(&request->caller.call, r, "out of memory");
        return r;
    }
    struct opener opener = opener_of(request, inode);
    stale_opens_end(fs->stale_opens, &opener);
    return 0;
}

static int open_control_file(struct request *request, const struct inode *inode,
                             struct open_file **ret)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, CONTROL_MAX_BYTES);
    int r = control_dir_text(request->fs->control, inode->place.control_file, &text);
    if (r >= 0)
        r = open_file_create_text(&text, ret);
    if (r < 0)
        (void)call_fail(&request->caller.call, r, "%s",
                        r == -ENOMEM ? "out of memory" : "the text is longer than 4 MiB");
    return r;
}

static int open_node(struct request *request, const struct inode *inode,
                     struct fuse_file_info *info, struct open_file **ret)
{
    if ((info->flags & O_ACCMODE) != O_RDONLY)
        return -EROFS;
    info->noflush = 1; /* there is nothing to flush; this saves a request for each close */
    if (inode->place.kind == PLACE_CONTROL_FILE) {
        info->direct_io = 1; /* the size that the kernel knows is 0 */
        return open_control_file(request, inode, ret);
    }
    info->keep_cache = 1; /* a node is one version, so the kernel's pages stay valid */
    return open_entity(request, inode, ret);
}

static void release(struct file_system *fs, uint64_t id, struct open_file *handle)
{
    if (handle->entity.page)
        inode_table_closed(fs->inodes, id);
    open_file_destroy(handle);
}

void file_ops_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    struct request request;
    struct open_file *handle = NULL;
    request_begin(&request, req, "open");
    const struct inode *inode = inode_table_find(request.fs->inodes, id);
    int r = inode ? open_node(&request, inode, info, &handle) : -ESTALE;
    if (r == -ESTALE || r == -EROFS) {
        reply_error(req, r);
    } else if (r < 0) {
        request_fail(&request, r, &inode->place);
    } else {
        info->fh = (uintptr_t)handle;
        if (fuse_reply_open(req, info) < 0)
            release(request.fs, id, handle); /* interrupted: the kernel sends no RELEASE */
    }
    request_end(&request);
}

void file_ops_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset,
                   struct fuse_file_info *info)
{
    (void)id;
    struct bytes text = open_file_read(handle_of(info), offset, size);
    (void)fuse_reply_buf(req, text.data, text.size);
}

void file_ops_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    release(request_fs(req), id, handle_of(info));
    reply_error(req, 0);
}

/* FLUSH and FSYNC have nothing to do, because nothing is written. Without these handlers libfuse
 * would answer ENOSYS, and the kernel would send no such request to this mount again. */
void file_ops_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)id;
    (void)info;
    reply_error(req, 0);
}

void file_ops_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *info)
{
    (void)id;
    (void)datasync;
    (void)info;
    reply_error(req, 0);
}
