#include "fs/ops/rename_ops.h"
#include "fs/ops/change.h"
#include "fs/ops/scratch_ops.h"

#include <linux/fs.h>

struct renaming {
    struct change change; /* its child is the old name */
    struct child to;
    bool is_exclusive;
    struct held_writers *held_from, *held_to; /* nothing is stored under the names meanwhile */
};

static struct call *call_of(struct renaming *renaming)
{
    return &renaming->change.request.caller.call;
}

/* An entity that is there may have the short name of a long key, which cannot be created. What
 * CREATE refuses with EINVAL is EPERM here: of EINVAL mv tells that a directory was moved into
 * itself. */
static int find_target(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    struct failure *failure = &request->caller.call.failure;
    int r = child_find_new(request, &renaming->to, false);
    if (r == -EINVAL) {
        failure->advice = "choose another name";
        return failure->error = -EPERM;
    }
    if (r != -ENAMETOOLONG || child_find(request, &renaming->to) < 0)
        return r;
    *failure = (struct failure){0};
    return 0;
}

static int find_names(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    struct file_system *fs = change->request.fs;
    if (!renaming->to.parent)
        return -ESTALE;
    int r = child_find(&change->request, &change->child);
    if (r < 0)
        return r;
    if (!fs->writers)
        return -EROFS;
    if (change->child.place.kind != PLACE_ENTITY)
        return -EXDEV;
    r = find_target(renaming);
    if (r == 0 && renaming->to.place.kind != PLACE_ENTITY)
        r = -EXDEV;
    return r < 0 ? r : change_prepare(change, NULL);
}

/* In the order of their addresses, so that no two renames wait for each other. */
static int hold_both(struct renaming *renaming, struct address from, struct address to)
{
    struct writers *writers = renaming->change.request.fs->writers;
    bool is_ordered = address_compare(from, to) < 0;
    struct held_writers **first = is_ordered ? &renaming->held_from : &renaming->held_to;
    struct held_writers **second = is_ordered ? &renaming->held_to : &renaming->held_from;
    int r = writers_hold(writers, is_ordered ? from : to, call_of(renaming), first);
    if (r < 0)
        return r;
    r = writers_hold(writers, is_ordered ? to : from, call_of(renaming), second);
    if (r < 0)
        writers_let_go(*first, false);
    return r;
}

/* Is the old name that of a file of which nothing is stored? 1, 0, -ENOMEM. */
static int is_unstored(struct renaming *renaming, struct address from)
{
    struct request *request = &renaming->change.request;
    if (!writers_held_is_unstored(renaming->held_from))
        return 0;
    int r = account_knows(request->fs->account, from);
    return r < 0 ? change_lack_memory(request) : !r;
}

/* How the entity is stored under the new name. An enum edit_begin or -errno. */
static int choose_begin(struct renaming *renaming, struct address to)
{
    struct request *request = &renaming->change.request;
    _cleanup_(entity_finish) struct entity there = {0};
    int r = account_find(request->fs->account, &request->caller, to, &there);
    if (r < 0 && r != -ENOENT)
        return r;
    if (renaming->is_exclusive && (r == 0 || writers_held_is_unstored(renaming->held_to)))
        return call_fail(call_of(renaming), -EEXIST, "there is a file of this name");
    call_of(renaming)->failure = (struct failure){0};
    return r == 0 ? EDIT_OVER : renaming->is_exclusive ? EDIT_EXCLUSIVE : EDIT_NEW;
}

/* Of a new file the answer to a store may have been lost: then there may be an entity or not. */
static int rename_stored(struct renaming *renaming, const struct rename *rename,
                         struct renamed *ret)
{
    struct request *request = &renaming->change.request;
    int r = account_rename(request->fs->account, &request->caller, rename, ret);
    if (r != -ENOENT || rename->begin == EDIT_OVER)
        return r;
    struct writer *new_file = writers_find_new(request->fs->writers, rename->from);
    bool is_new = new_file != NULL;
    writer_unref(new_file);
    return is_new ? 0 : r;
}

static int rename_held(struct renaming *renaming, struct rename *rename, struct renamed *ret)
{
    int begin = choose_begin(renaming, rename->to);
    int is_new = begin < 0 ? begin : is_unstored(renaming, rename->from);
    if (is_new < 0)
        return is_new;
    rename->begin = (enum edit_begin)begin;
    if (is_new == 0)
        return rename_stored(renaming, rename, ret);
    if (begin != EDIT_OVER)
        return 0;
    return call_fail(call_of(renaming), -EBUSY,
                     "the file is not stored yet, and would take the place of an entity: write and "
                     "close it first");
}

static int rename_entity(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    struct inode_table *inodes = change->request.fs->inodes;
    const struct child *to = &renaming->to;
    struct rename rename = {.from = place_address(&change->child.place),
                            .to = place_address(&to->place),
                            .path = &change->path};
    _cleanup_(renamed_finish) struct renamed renamed = {0};
    if (address_compare(rename.from, rename.to) == 0)
        return renaming->is_exclusive
                   ? call_fail(call_of(renaming), -EEXIST, "both are names of one entity")
                   : 0;
    int r = hold_both(renaming, rename.from, rename.to);
    if (r < 0)
        return r;
    r = rename_held(renaming, &rename, &renamed);
    if (r == 0) {
        writers_let_go_renamed(renaming->held_from, renaming->held_to, &renamed.before,
                               &renamed.after);
        inode_table_rename_name(inodes, change->child.parent->id, change->child.name,
                                to->parent->id, to->name);
    } else {
        writers_let_go(renaming->held_from, false);
        writers_let_go(renaming->held_to, false);
    }
    return r;
}

void rename_ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                       const char *new_name, unsigned flags)
{
    struct renaming renaming = {.is_exclusive = flags & RENAME_NOREPLACE};
    struct change *change = &renaming.change;
    if (flags & ~(unsigned)RENAME_NOREPLACE) { /* two names exchanged, or a whiteout */
        reply_error(req, -EINVAL);
        return;
    }
    int r = change_begin(change, req, "rename", parent, name);
    child_init(&renaming.to, inode_table_find(change->request.fs->inodes, new_parent),
               bytes_of(new_name));
    if (r == 0)
        r = find_names(&renaming);
    if (r == 0)
        r = rename_entity(&renaming);
    else if (r == -ENOENT && renaming.to.parent)
        r = scratch_ops_rename(&change->request, change->child.parent, change->child.name,
                               renaming.to.parent, renaming.to.name, renaming.is_exclusive);
    child_finish(&renaming.to);
    change_end_without_entry(change, r);
}
