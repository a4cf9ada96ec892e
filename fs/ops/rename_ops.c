/* SPDX-License-Identifier: MIT */
#include "fs/ops/rename_ops.h"
#include "fs/kernel/entry.h"
#include "fs/ops/change.h"
#include "fs/ops/rename_scratch.h"
#include "fs/ops/scratch_ops.h"
#include "fs/ops/used_path.h"

#include <linux/fs.h>

struct renaming {
    struct change change;      /* its child is the old name */
    struct scratch_file *file; /* that has it; NULL: an entity */
    struct child to;
    bool is_exclusive;
    struct held_writers *held_from, *held_to; /* nothing is stored under the names meanwhile */
};

static struct call *call_of(struct renaming *renaming)
{
    return &renaming->change.request.caller.call;
}

/* Is the old name that of a file that is not stored yet? It may get a name whose key its text will
 * contain. */
static bool is_source_new(struct renaming *renaming)
{
    struct address from = place_address(&renaming->change.child.place);
    return writers_has_new(renaming->change.request.fs->writers, from);
}

/* Finds the key of a cut name: that of the entity that gets the name, or of the text. */
static int settle_target(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    struct place *to = &renaming->to.place;
    if (renaming->file)
        return rename_scratch_settle(request, renaming->file, &renaming->to);
    const struct key_source source = {.position =
                                          place_address(&renaming->change.child.place).position};
    int r = settler_settle_place(&request->fs->settler, &request->caller, to, &source);
    return r == -EINVAL && is_source_new(renaming) ? 0 : r;
}

/* Only the service may know the key of a cut name: that of an entity. */
static int find_there(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    const struct failure refusal = request->caller.call.failure;
    place_finish(&renaming->to.place);
    int r = child_find(request, &renaming->to);
    request->caller.call.failure = r < 0 ? refusal : (struct failure){0};
    return r < 0 ? refusal.error : 0;
}

static int find_target(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    int r = child_find_new(request, &renaming->to, false);
    if (r < 0 || !place_is_unsettled(&renaming->to.place))
        return r;
    if (renaming->to.place.kind == PLACE_SCRATCH)
        return 0;
    r = settle_target(renaming);
    if (r == 0)
        request->caller.call.failure = (struct failure){0};
    return r == -EINVAL ? find_there(renaming) : r;
}

static int find_source(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    struct request *request = &change->request;
    int r = child_find(request, &change->child);
    if (r == -ENOENT)
        renaming->file =
            scratch_ops_find(request, &change->child.parent->place, change->child.name);
    if (renaming->file)
        return scratch_file_is_directory(renaming->file) ? -EXDEV : 0;
    return r == 0 && request->fs->writers && change->child.place.kind != PLACE_ENTITY ? -EXDEV : r;
}

/* No directory is renamed. After EXDEV, mv removes the destination and copies the source. */
static int refuse_directory(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    bool is_of_control = place_is_of_control(&change->child.parent->place) ||
                         place_is_of_control(&renaming->to.parent->place);
    return is_of_control ? request_refuse_name(&change->request, change->child.name, -EPERM,
                                               "no directory is moved into .tablefuse or out of it")
                         : -EXDEV;
}

static int find_names(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    if (!renaming->to.parent)
        return -ESTALE;
    int r = find_source(renaming);
    if (r == -EXDEV)
        r = refuse_directory(renaming);
    if (r == 0 && !change->request.fs->writers)
        r = -EROFS;
    if (r == 0)
        r = find_target(renaming);
    used_path_note(&change->request, renaming->to.parent);
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

/* Is the old name that of a file of which nothing is stored? */
static bool is_unstored(struct renaming *renaming, struct address from)
{
    struct request *request = &renaming->change.request;
    return writers_held_is_unstored(renaming->held_from) &&
           !account_knows(request->fs->account, from);
}

/* The new name may be that of a file of which nothing is stored. */
static int check_new_file(struct renaming *renaming)
{
    bool is_taken = renaming->is_exclusive && writers_held_is_unstored(renaming->held_to);
    return is_taken ? change_refuse_taken(&renaming->change.request) : 0;
}

/* If the answer to the store of a new file was lost, the entity may exist or not. */
static int rename_stored(struct renaming *renaming, const struct rename *rename,
                         struct renamed *ret)
{
    struct request *request = &renaming->change.request;
    int r = account_rename(request->fs->account, &request->caller, rename, ret);
    if (r != -ENOENT || rename->begin == EDIT_OVER)
        return r;
    return writers_has_new(request->fs->writers, rename->from) ? 0 : r;
}

static int rename_held(struct renaming *renaming, struct rename *rename, struct renamed *ret)
{
    struct request *request = &renaming->change.request;
    int begin = change_edit_begin(request, rename->to, renaming->is_exclusive, false);
    int r = begin < 0 ? begin : check_new_file(renaming);
    int is_new = r < 0 ? r : is_unstored(renaming, rename->from);
    if (is_new < 0)
        return is_new;
    rename->begin = (enum edit_begin)begin;
    if (is_new == 0 && (position_is_unsettled(rename->from.position) ||
                        position_is_unsettled(rename->to.position)))
        return call_fail(call_of(renaming), -EBUSY, "the file has just been stored: try again");
    if (is_new == 0)
        return rename_stored(renaming, rename, ret);
    if (begin != EDIT_OVER)
        return 0;
    return call_fail(call_of(renaming), -EBUSY,
                     "the file is not stored yet, and would take the place of an entity: write and "
                     "close it first");
}

/* The kernel keeps the attributes of a node that it has under another name now. */
static void drop_attributes(const struct file_system *fs, uint64_t kept)
{
    if (kept != 0)
        (void)fuse_lowlevel_notify_inval_inode(fs->session, kept, -1, 0);
}

/* Updates the kernel's nodes of both names of a renamed entity. */
static void rename_nodes(struct renaming *renaming, const struct rename *rename)
{
    const struct file_system *fs = renaming->change.request.fs;
    const struct child *from = &renaming->change.child, *to = &renaming->to;
    drop_attributes(fs,
                    inode_table_rename_entity(fs->inodes, from->parent->id, from->name,
                                              rename->from, to->parent->id, to->name, rename->to));
}

/* The names may have got their keys before they were held. */
static int settle_held(struct renaming *renaming, struct rename *rename)
{
    struct request *request = &renaming->change.request;
    const struct settler *settler = &request->fs->settler;
    struct place *from = &renaming->change.child.place, *to = &renaming->to.place;
    int r = settler_settle_place(settler, &request->caller, from, NULL);
    if (r == 0)
        r = settler_settle_place(settler, &request->caller, to, NULL);
    rename->from = place_address(from);
    rename->to = place_address(to);
    return r;
}

static int rename_entity(struct renaming *renaming)
{
    struct change *change = &renaming->change;
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
    r = settle_held(renaming, &rename);
    if (r == 0)
        r = rename_held(renaming, &rename, &renamed);
    if (r == 0) {
        locks_move(change->request.fs->locks, rename.from, rename.to);
        writers_let_go_renamed(renaming->held_from, renaming->held_to, &renamed.before,
                               &renamed.after);
        rename_nodes(renaming, &rename);
    } else {
        writers_let_go(renaming->held_from, false);
        writers_let_go(renaming->held_to, false);
    }
    return r;
}

/* Both names are scratch files'. What is replaced may be the backup of an entity. */
static int rename_scratch(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    const struct child *to = &renaming->to;
    _cleanup_(scratch_file_unrefp) struct scratch_file *before =
        scratch_ops_find(request, &to->parent->place, to->name);
    int r = 0;
    if (before && before != renaming->file && !renaming->is_exclusive)
        r = rename_scratch_delete_original(request, before);
    return r < 0 ? r
                 : scratch_ops_rename(request, renaming->file, &to->place, to->name,
                                      renaming->is_exclusive);
}

static int store_scratch(struct renaming *renaming)
{
    struct request *request = &renaming->change.request;
    struct address to = place_address(&renaming->to.place);
    int r = writers_hold(request->fs->writers, to, call_of(renaming), &renaming->held_to);
    if (r < 0)
        return r;
    r = check_new_file(renaming);
    if (r == 0)
        r = rename_scratch_to_entity(request, renaming->file, to, renaming->is_exclusive);
    writers_let_go(renaming->held_to, r == 0);
    if (r == 0)
        entry_rename_scratch(request->fs, renaming->file, renaming->to.parent->id,
                             renaming->to.name);
    return r;
}

/* The kernel may keep the entity's node under the backup's name. So the node gives up its st_ino,
 * because the next file of the entity's name has that number. */
static int back_up(struct renaming *renaming)
{
    struct change *change = &renaming->change;
    const struct file_system *fs = change->request.fs;
    const struct child *from = &change->child, *to = &renaming->to;
    uint64_t number;
    int r = rename_scratch_from_entity(&change->request, from, &change->path, to,
                                       renaming->is_exclusive, &number);
    if (r < 0)
        return r;
    drop_attributes(fs, inode_table_rename_name(fs->inodes, from->parent->id, from->name,
                                                to->parent->id, to->name, number));
    return 0;
}

static int rename_file(struct renaming *renaming)
{
    bool becomes_scratch = renaming->to.place.kind == PLACE_SCRATCH;
    if (!renaming->file && renaming->to.parent->place.kind == PLACE_SCRATCH_DIRECTORY)
        return -EXDEV; /* no backup: mv copies it there, and deletes it */
    if (renaming->file)
        return becomes_scratch ? rename_scratch(renaming) : store_scratch(renaming);
    return becomes_scratch ? back_up(renaming) : rename_entity(renaming);
}

/* For EINVAL mv prints that a directory is moved into itself. */
static int explain(struct call *call, int r)
{
    if (r != -EINVAL)
        return r;
    if (!call->failure.advice)
        call->failure.advice = "neither file has changed";
    return call->failure.error = -EPERM;
}

void rename_ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                       const char *new_name, unsigned flags)
{
    struct renaming renaming = {.is_exclusive = flags & RENAME_NOREPLACE};
    struct change *change = &renaming.change;
    if (flags & ~(unsigned)RENAME_NOREPLACE) {
        change_refuse(req, "rename", parent, name, -EINVAL,
                      "two names cannot be exchanged, and none can be whited out");
        return;
    }
    int r = change_begin(change, req, "rename", parent, name);
    struct inode_table *inodes = change->request.fs->inodes;
    child_init(&renaming.to, inode_table_find(inodes, new_parent), bytes_of(new_name));
    if (r == 0)
        r = find_names(&renaming);
    if (r == 0)
        r = rename_file(&renaming);
    if (renaming.file) { /* for the log: a scratch file has no path there */
        place_finish(&change->child.place);
        change->child.place = renaming.to.place;
        renaming.to.place = (struct place){0};
    }
    child_finish(&renaming.to);
    scratch_file_unref(renaming.file);
    change_end_without_entry(change, explain(call_of(&renaming), r));
}
