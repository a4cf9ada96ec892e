/* SPDX-License-Identifier: MIT */
#include "fs/ops/rename_scratch.h"
#include "fs/ops/lock_ops.h"
#include "fs/ops/scratch_ops.h"
#include "fs/text/draft.h"
#include "fs/tree/names.h"

struct original { /* of a backup */
    struct address address;
    struct bytes etag;
    struct buffer text; /* what both are views of */
};

/* 1; 0: the file is the backup of nothing; -ENOMEM. */
static int find_original(struct scratch_file *file, struct original *ret)
{
    buffer_init(&ret->text, 2 * POSITION_MAX_BYTES); /* far longer than an address and an ETag */
    return scratch_file_backup(file, &ret->text, &ret->address, &ret->etag);
}

static void original_finish(struct original *original)
{
    buffer_finish(&original->text);
}

int rename_scratch_delete_original(struct request *request, struct scratch_file *file)
{
    _cleanup_(original_finish) struct original original;
    int r = find_original(file, &original);
    return r <= 0 ? r
                  : account_delete_masked(request->fs->account, &request->caller, original.address,
                                          original.etag);
}

/* The backup returns to its name unchanged. 1; 0: it is no backup, or its original is gone. If
 * another client has deleted the original, the backup is the only copy of the text. */
static int show_original(struct request *request, struct scratch_file *file, struct address to)
{
    struct account *account = request->fs->account;
    _cleanup_(original_finish) struct original original;
    _cleanup_(entity_finish) struct entity shown = {0};
    int r = find_original(file, &original);
    if (r <= 0 || address_compare(original.address, to) != 0 || scratch_file_was_changed(file))
        return MIN(r, 0);
    if (!account_unmask(account, to, original.etag))
        return 0;
    r = account_find(account, &request->caller, to, &shown);
    request->caller.call.failure = (struct failure){0}; /* it is shown, as soon as it is found */
    return r != -ENOENT;
}

static int read_text(struct request *request, struct scratch_file *file, struct buffer *ret)
{
    struct scratch_attributes attributes;
    scratch_file_attributes(file, &attributes);
    int r = attributes.size > DRAFT_MAX_BYTES
                ? -EFBIG
                : scratch_file_read(file, 0, (size_t)attributes.size, ret);
    if (r == -EFBIG)
        return call_fail(&request->caller.call, r, "the text is longer than 8 MiB");
    return r;
}

/* Finds the place of `to` if it is the name of the entity of which the file is a backup. -ENOENT:
 * it is not. */
static int find_place_of_original(struct scratch_file *file, struct child *to)
{
    const struct place *parent = &to->parent->place;
    struct directory directory = place_directory(parent);
    _cleanup_(original_finish) struct original original;
    int r = find_original(file, &original);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    struct bytes position = original.address.position, key = position_row_key(position);
    if (strcmp(original.address.table, directory.table) != 0 ||
        !range_holds(directory.range, position))
        return -ENOENT;
    r = names_is_of(to->name, NAME_ENTITY, key);
    if (r > 0) {
        place_finish(&to->place);
        r = place_of_key(parent, key, &to->place) < 0 ? -ENOMEM : 1;
    }
    return r < 0 ? r : r > 0 ? 0 : -ENOENT;
}

int rename_scratch_settle(struct request *request, struct scratch_file *file, struct child *to)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = DRAFT_MAX_BYTES};
    int r = find_place_of_original(file, to);
    if (r != -ENOENT)
        return r;
    r = read_text(request, file, &text);
    if (r < 0)
        return r;
    const struct key_source source = {
        .text = text.size == 0 ? BYTES_LITERAL("{}") : buffer_bytes(&text), .begin = EDIT_OVER};
    return settler_settle_place(&request->fs->settler, &request->caller, &to->place, &source);
}

static int store(struct request *request, struct scratch_file *file, struct address to,
                 bool is_exclusive)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = DRAFT_MAX_BYTES};
    _cleanup_(entity_finish) struct entity stored = {0};
    int r = read_text(request, file, &text);
    bool is_empty = text.size == 0;
    int begin = r < 0 ? r : change_edit_begin(request, to, is_exclusive, is_empty);
    if (begin < 0)
        return begin;
    struct edit edit = {.address = to,
                        .begin = (enum edit_begin)begin,
                        .text = is_empty ? BYTES_LITERAL("{}") : buffer_bytes(&text),
                        .is_blank = is_empty};
    return account_store(request->fs->account, &request->caller, &edit, &stored);
}

/* The locks of the entity become those of the file, or the other way round. */
static void move_locks(struct locks *locks, struct address entity, struct scratch_file *file,
                       bool is_stored)
{
    struct scratch_attributes attributes;
    scratch_file_attributes(file, &attributes);
    struct address scratch = lock_ops_address_of_number(&attributes.number);
    if (is_stored)
        locks_move(locks, scratch, entity);
    else
        locks_move(locks, entity, scratch);
}

int rename_scratch_to_entity(struct request *request, struct scratch_file *file, struct address to,
                             bool is_exclusive)
{
    scratch_file_seal(file, true);
    int r = show_original(request, file, to);
    if (r == 0) {
        r = store(request, file, to, is_exclusive);
        if (r == 0) /* the backup of another entity */
            r = rename_scratch_delete_original(request, file);
    }
    if (r < 0) {
        scratch_file_seal(file, false);
        return r;
    }
    move_locks(request->fs->locks, to, file, true);
    (void)scratch_unlink(file); /* -ENOENT: another path was faster */
    return 0;
}

/* Renames the file over the one that has the name `to`. */
static int put_backup(struct request *request, const struct child *from,
                      const struct entity *entity, const struct child *to, bool is_exclusive,
                      uint64_t number)
{
    _cleanup_(scratch_file_unrefp) struct scratch_file *file = NULL;
    _cleanup_(scratch_file_unrefp) struct scratch_file *before =
        scratch_ops_find(request, &to->parent->place, to->name);
    if (before && is_exclusive)
        return change_refuse_taken(request);
    int r = scratch_ops_make_backup(request, &to->place, entity, number, &file);
    if (r < 0)
        return r;
    r = scratch_file_set_backup(file, place_address(&from->place),
                                page_etag(entity->page, entity->row));
    if (r == 0 && before)
        r = rename_scratch_delete_original(request, before);
    if (r == 0)
        r = scratch_ops_rename(request, file, &to->place, to->name, is_exclusive);
    if (r == 0)
        move_locks(request->fs->locks, place_address(&from->place), file, false);
    else
        (void)scratch_unlink(file);
    return r;
}

int rename_scratch_from_entity(struct request *request, const struct child *from,
                               const struct directory_path *path, const struct child *to,
                               bool is_exclusive, uint64_t *ret_number)
{
    struct file_system *fs = request->fs;
    struct address address = place_address(&from->place);
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = account_mask(fs->account, &request->caller, address, path, &entity);
    if (r == -ENOENT && writers_is_open(fs->writers, address))
        return call_fail(&request->caller.call, -EBUSY,
                         "the file is not stored yet: write and close it first");
    if (r < 0)
        return r;
    *ret_number = inode_table_count_number(fs->inodes);
    r = put_backup(request, from, &entity, to, is_exclusive, *ret_number);
    if (r < 0)
        (void)account_unmask(fs->account, address, page_etag(entity.page, entity.row));
    return r;
}
