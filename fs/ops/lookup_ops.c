/* SPDX-License-Identifier: MIT */
#include "fs/ops/lookup_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/control_ops.h"
#include "fs/ops/cut_name.h"
#include "fs/ops/scratch_ops.h"
#include "fs/ops/used_path.h"
#include "fs/tree/filter_name.h"

#define CONTROL_VALID_MS 1000 /* how long the kernel may keep the names `.tablefuse` and `drop` */

/* The name of a table in `.tablefuse/drop`. The kernel keeps no answer about it. */
static int find_to_drop(struct request *request, const char *table)
{
    struct file_system *fs = request->fs;
    if (place_directory(&inode_table_find(fs->inodes, FUSE_ROOT_ID)->place).table)
        return call_fail(&request->caller.call, -EINVAL,
                         "the root of this mount is a table: mount the account to drop it");
    int r = account_find_table_now(fs->account, &request->caller, table);
    request->caller.valid_ms = 0;
    return r;
}

/* Does the place exist in the account? *ret is set if it is an entity. 0 or -errno. */
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
    if (place->kind == PLACE_DROPPED_TABLE)
        return find_to_drop(request, place_directory(place).table);
    if (place->is_cut)
        return cut_name_settle(request, parent, name, place, ret);
    if (place->kind == PLACE_ENTITY)
        return account_find(fs->account, &request->caller, place_address(place), ret);
    struct directory directory = place_directory(place);
    return account_find_directory(fs->account, &request->caller, &directory);
}

/* The node for a thread whose OPEN for writing was answered ESTALE (fs/tree/stale_opens). The
 * kernel sends two LOOKUPs, and both get the same node. Takes *place. 0 or -ENOMEM. */
static int mint(struct request *request, const struct opener *opener, struct place *place,
                const struct entity *entity, uint64_t minted, struct fuse_entry_param *ret)
{
    struct file_system *fs = request->fs;
    struct inode_table *inodes = fs->inodes;
    struct version version = version_of_entity(entity);
    const struct inode *inode =
        minted ? inode_table_enter_again(inodes, minted, opener->parent, opener->name) : NULL;
    if (!inode) {
        inode = inode_table_enter_own(inodes, opener->parent, opener->name, place, &version, 0,
                                      NODE_WRITER, NULL);
        if (!inode)
            return -ENOMEM;
        uint64_t id =
            stale_opens_minted(fs->stale_opens, opener, minted, inode->id, clock_now_ms(fs->clock));
        const struct inode *first =
            id != inode->id ? inode_table_enter_again(inodes, id, opener->parent, opener->name)
                            : NULL;
        if (first) {
            inode_table_forget(inodes, inode->id, 1);
            inode = first;
        }
    }
    entry_of(fs, inode, 0, ret);
    return 0;
}

/* The node of an entity that was found. 0 or -ENOMEM. */
static int enter_entity(struct request *request, const struct opener *opener, struct place *place,
                        const struct entity *entity, struct fuse_entry_param *ret)
{
    struct file_system *fs = request->fs;
    int64_t now_ms = clock_now_ms(fs->clock);
    uint64_t minted;
    int r = stale_opens_is_writer(fs->stale_opens, opener, now_ms, &minted)
                ? mint(request, opener, place, entity, minted, ret)
                : entry_make(fs, opener->parent, opener->name, place, entity,
                             request->caller.valid_ms, ret);
    if (r < 0)
        return r;
    r = stale_opens_looked_up(fs->stale_opens, opener, ret->ino, entity, now_ms);
    if (r < 0)
        inode_table_forget(fs->inodes, ret->ino, 1);
    return r;
}

/* The node of a new file that is not stored yet. 1; 0: there is none; -ENOMEM. */
static int enter_new(struct request *request, const struct opener *opener, struct place *place,
                     struct fuse_entry_param *ret)
{
    struct writer *writer;
    if (place->kind != PLACE_ENTITY || place->is_cut)
        return 0;
    int r = cut_name_find_new(request, place, &writer);
    if (r < 0 || !writer)
        return r;
    r = entry_make_writer(request->fs, opener->parent, opener->name, place, writer, ret);
    writer_unref(writer);
    return r < 0 ? r : 1;
}

static int find_and_enter(struct request *request, const struct inode *parent, struct bytes name,
                          struct place *place, struct fuse_entry_param *ret)
{
    struct file_system *fs = request->fs;
    struct opener opener = {request->context->pid, parent->id, name};
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = find(request, parent, name, place, &entity);
    if (r < 0 && place->kind == PLACE_ENTITY)
        stale_opens_end_writer(fs->stale_opens, &opener); /* no OPEN follows */
    if (r < 0)
        return r;
    return entity.page
               ? enter_entity(request, &opener, place, &entity, ret)
               : entry_make(fs, parent->id, name, place, NULL, request->caller.valid_ms, ret);
}

/* A name in `.filter` that is no filter. */
static int refuse_filter(struct request *request, const struct place *filters, struct bytes name,
                         int error)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = FILTER_NAME_MAX_BYTES};
    struct filter_error why;
    if (error == -ENAMETOOLONG && name.size <= NAME_MAX_BYTES)
        return call_fail(&request->caller.call, error,
                         "the filters of the path have more than %zu bytes in all -- use "
                         "tablefuse export --filter",
                         FILTER_NAME_MAX_BYTES);
    if (error == -ENAMETOOLONG) {
        (void)request_refuse_name(request, name, error, "a name has at most 255 bytes");
        request->caller.call.failure.advice =
            "divide the filter: .filter/A/.filter/B shows what matches both; for `or` use "
            "`tablefuse export --filter`";
        return error;
    }
    int r = filter_name_append(place_directory(filters).filter, name, &text, &why);
    return r != -EINVAL ? error
                        : call_fail(&request->caller.call, r, "the filter's byte %zu: %s", why.at,
                                    why.problem);
}

static int refuse_for_good(struct request *request, const struct inode *parent, struct bytes name,
                           int error)
{
    request->caller.valid_ms = INT32_MAX; /* no file can ever have this name */
    if (parent->place.kind == PLACE_FILTERS)
        return refuse_filter(request, &parent->place, name, error);
    return error == -ENAMETOOLONG
               ? request_refuse_name(request, name, error, "a name has at most 255 bytes")
               : error;
}

static int look_up(struct request *request, const struct inode *parent, struct bytes name,
                   struct place *place, struct fuse_entry_param *ret)
{
    struct opener opener = {request->context->pid, parent->id, name};
    int r = place_child(&parent->place, name, place);
    if (r == -ENOENT) {
        /* If the thread has opened an entity that got this name, it opens no entity next. */
        stale_opens_end(request->fs->stale_opens, &opener);
        return scratch_ops_look_up(request, parent, name, ret);
    }
    if (r < 0 && r != -ENOMEM)
        return refuse_for_good(request, parent, name, r);
    if (r == 0 && place->kind == PLACE_CONTROL_FILE)
        return control_ops_look_up(request, parent, name, place, ret);
    if (r == 0 && place->is_cut)
        r = cut_name_find_known(request, parent, name, place);
    if (r >= 0)
        r = enter_new(request, &opener, place, ret);
    if (r < 0)
        return r;
    return r == 1 ? 0 : find_and_enter(request, parent, name, place, ret);
}

/* Replies that the name does not exist. The kernel keeps this answer for valid_ms. */
static void reply_absent(struct request *request)
{
    struct fuse_entry_param absent = {.entry_timeout = (double)request->caller.valid_ms / 1000};
    (void)fuse_reply_entry(request->req, &absent);
}

/* Will the kernel repeat the LOOKUP, which would fail in the same way? It repeats that of a name
 * that it has a node for. An error without a reason in the call was not the service's. */
static bool will_repeat(struct request *request, const struct inode *parent, struct bytes name,
                        int r)
{
    return r < 0 && request->caller.call.failure.error == r && r != -ENOENT && r != -EINTR &&
           r != -ENOMEM && inode_table_has(request->fs->inodes, parent->id, name);
}

/* As look_up, but if the kernel repeats a LOOKUP that failed, the repetition fails at once
 * (fs/tree/failed_lookups). Its failure was noted the first time. */
static int look_up_once(struct request *request, const struct inode *parent, struct bytes name,
                        struct fuse_entry_param *ret)
{
    _cleanup_(place_finish) struct place place = {0};
    struct failed_lookups *failed = request->fs->failed_lookups;
    struct call *call = &request->caller.call;
    pid_t thread = request->context->pid;
    if (failed_lookups_take(failed, thread, parent->id, name, clock_now_ms(request->fs->clock),
                            &call->failure))
        return call->failure.error;
    int r = look_up(request, parent, name, &place, ret);
    const struct inode *found = r == 0 ? inode_table_find(request->fs->inodes, ret->ino) : NULL;
    cut_name_settle_node(request, found);
    used_path_note(request, r < 0 ? parent : found);
    if (will_repeat(request, parent, name, r))
        failed_lookups_put(failed, thread, parent->id, name, &call->failure,
                           clock_now_ms(request->fs->clock));
    if (r < 0)
        request_note(request, r, place.text ? &place : &parent->place);
    return r;
}

void lookup_ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct request request;
    struct fuse_entry_param entry = {0};
    request_begin(&request, req, "lookup");
    const struct inode *directory = inode_table_find(request.fs->inodes, parent);
    int r = directory ? look_up_once(&request, directory, bytes_of(name), &entry) : -ESTALE;
    if (r == -ENOENT)
        reply_absent(&request);
    else if (r < 0)
        reply_error(req, r);
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
