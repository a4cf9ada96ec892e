#include "fs/ops/lookup_ops.h"
#include "fs/entry.h"

#define BLOCK_SIZE 4096

/* Settles a cut place: lists the keys that start with its beginning, and finds the key with this
 * name. *place becomes the place of the key. If that is an entity, *ret is it. 0 or -errno;
 * -ENOENT: no key has this name. */
static int find_cut(struct request *request, const struct inode *parent, struct bytes name,
                    struct place *place, struct entity *ret)
{
    enum name_kind kind =
        place->directory_kind == DIRECTORY_ENTITIES ? NAME_ENTITY : NAME_PARTITION;
    struct directory candidates = place_directory(place);
    _cleanup_(listing_closep) struct listing *listing = NULL;
    int r = account_list(request->fs->account, &candidates, &listing);
    if (r < 0)
        return call_fail(&request->caller.call, r, "out of memory");
    struct listing_entry entry = {0};
    int is_found = 0;
    while (is_found == 0) {
        r = listing_next(listing, &request->caller, entry.cookie, false, true, &entry);
        if (r == 0 || r == -ESTALE)
            return -ENOENT; /* no key, or no table any more */
        if (r < 0)
            return r;
        is_found = names_is_of(name, kind, entry.key);
    }
    if (is_found < 0)
        return call_fail(&request->caller.call, is_found, "out of memory");
    if (entry.entity.page)
        *ret = (struct entity){page_ref(entry.entity.page), entry.entity.row};
    place_finish(place);
    r = place_of_key(&parent->place, entry.key, place);
    return r == -ENOMEM ? call_fail(&request->caller.call, r, "out of memory") : r;
}

/* Asks the account whether the place exists. *ret is set if it is an entity. 0 or -errno. */
static int find(struct request *request, const struct inode *parent, struct bytes name,
                struct place *place, struct entity *ret)
{
    struct file_system *fs = request->fs;
    if (place->is_given) {
        request->caller.valid_ms = CONTROL_VALID_MS;
        return 0;
    }
    int r = request_may_wait(request, place);
    if (r < 0)
        return r;
    if (place->is_cut)
        return find_cut(request, parent, name, place, ret);
    if (place->kind == PLACE_ENTITY)
        return account_find(fs->account, &request->caller, place_address(place), ret);
    struct directory directory = place_directory(place);
    return account_find_directory(fs->account, &request->caller, &directory);
}

static int look_up(struct request *request, const struct inode *parent, struct bytes name,
                   struct place *place, struct fuse_entry_param *ret)
{
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = place_child(&parent->place, name, place);
    if (r == -ENOMEM)
        return call_fail(&request->caller.call, r, "out of memory");
    if (r < 0) {
        request->caller.valid_ms = INT32_MAX; /* no file can ever have this name */
        return r;
    }
    r = find(request, parent, name, place, &entity);
    if (r < 0)
        return r;
    r = entry_make(request->fs, parent->id, name, place, entity.page ? &entity : NULL,
                   request->caller.valid_ms, ret);
    if (r < 0)
        return call_fail(&request->caller.call, r, "out of memory");
    struct opener opener = {request->context->pid, parent->id, name};
    if (entity.page)
        r = stale_opens_looked_up(request->fs->stale_opens, &opener, ret->ino, &entity,
                                  clock_now_ms(request->fs->clock));
    if (r == 0)
        return 0;
    inode_table_forget(request->fs->inodes, ret->ino, 1);
    return call_fail(&request->caller.call, r, "out of memory");
}

/* Replies that the name does not exist. The kernel keeps this answer for valid_ms. */
static void reply_absent(struct request *request)
{
    struct fuse_entry_param absent = {.entry_timeout = (double)request->caller.valid_ms / 1000};
    (void)fuse_reply_entry(request->req, &absent);
}

/* As look_up, but if the kernel repeats a LOOKUP that failed after waiting, the repetition fails at
 * once (fs/tree/failed_lookups). */
static int look_up_once(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place, struct fuse_entry_param *ret)
{
    struct failed_lookups *failed = request->fs->failed_lookups;
    struct call *call = &request->caller.call;
    pid_t thread = request->context->pid;
    if (failed_lookups_take(failed, thread, parent->id, name, clock_now_ms(request->fs->clock),
                            &call->failure))
        return call->failure.error;
    int r = look_up(request, parent, name, place, ret);
    bool is_over = call->failure.is_retryable || r == -ETIMEDOUT;
    if (r < 0 && call->failure.error == r && is_over)
        failed_lookups_put(failed, thread, parent->id, name, &call->failure,
                           clock_now_ms(request->fs->clock));
    return r;
}

void lookup_ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct request request;
    struct fuse_entry_param entry = {0};
    _cleanup_(place_finish) struct place place = {0};
    request_begin(&request, req, "lookup");
    const struct inode *directory = inode_table_find(request.fs->inodes, parent);
    int r = directory ? look_up_once(&request, directory, bytes_of(name), &place, &entry) : -ESTALE;
    if (r == -ENOENT)
        reply_absent(&request);
    else if (r < 0)
        request_fail(&request, r, &place);
    else if (fuse_reply_entry(req, &entry) < 0)
        inode_table_forget(request.fs->inodes, entry.ino, 1); /* the kernel took no reply */
    request_end(&request);
}

void lookup_ops_forget(fuse_req_t req, fuse_ino_t id, uint64_t lookups)
{
    inode_table_forget(request_fs(req)->inodes, id, lookups);
    fuse_reply_none(req);
}

void lookup_ops_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        inode_table_forget(request_fs(req)->inodes, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

/* A node is one version. Its attributes never change, so this sends no request. */
void lookup_ops_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *info)
{
    (void)info;
    struct file_system *fs = request_fs(req);
    const struct inode *inode = inode_table_find(fs->inodes, id);
    struct stat stat;
    if (!inode) {
        reply_error(req, -ESTALE);
        return;
    }
    entry_attributes(fs, inode, &stat);
    (void)fuse_reply_attr(req, &stat, entry_attributes_sec(inode));
}

/* The service does not say how much an account holds. Nothing is free in a read-only mount. One
 * block is used: df leaves out a file system without any, and shows inodes as unknown where there
 * are none. */
void lookup_ops_statfs(fuse_req_t req, fuse_ino_t id)
{
    (void)id;
    struct statvfs statvfs = {
        .f_bsize = BLOCK_SIZE, .f_frsize = BLOCK_SIZE, .f_blocks = 1, .f_namemax = NAME_MAX_BYTES};
    (void)fuse_reply_statfs(req, &statvfs);
}
