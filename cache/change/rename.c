/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "client/entity/entity_compare.h"

/* A rename that is under way. Both positions are claimed. */
struct move {
    struct account *account;
    struct caller *caller;
    const struct rename *rename;
    struct entity before;        /* what is to be moved */
    struct buffer text;          /* the same with the keys of `to` */
    struct known_versions known; /* of `to` */
    struct write store;          /* of the text, at `to` */
    struct entity now;           /* what is at `to` afterwards */
};

void renamed_finish(struct renamed *renamed)
{
    entity_finish(&renamed->before);
    entity_finish(&renamed->after);
}

static void move_finish(struct move *move)
{
    entity_finish(&move->before);
    entity_finish(&move->now);
    buffer_finish(&move->text);
}

static struct bytes etag_of(const struct entity *entity)
{
    return page_etag(entity->page, entity->row);
}

/* Takes the entity as what is to be moved. */
static int set_before(struct move *move, struct entity *before)
{
    entity_finish(&move->before);
    move->before = *before;
    before->page = NULL;
    buffer_clear(&move->text);
    return account_make_stored_text(move->caller, move->rename->to.position, &move->before,
                                    &move->text);
}

/* What is at `from` now, as it would be stored at `to`. */
static int prepare(struct move *move)
{
    struct account *account = move->account;
    const struct rename *rename = move->rename;
    const struct edit edit = {.address = rename->to, .begin = rename->begin};
    struct entity before = {0};
    int r = call_check(&move->caller->call, account->read.clock, "other clients keep changing it");
    if (r == 0)
        r = account_find(account, move->caller, rename->from, &before);
    if (r == 0)
        r = set_before(move, &before);
    account_known(account, move->caller, rename->to, &move->known);
    if (r == 0 && rename->begin == EDIT_OVER)
        r = account_check_read(account, move->caller, rename->to, &move->known);
    move->store = account_choose_write(account, &edit, buffer_bytes(&move->text), &move->known);
    return r;
}

static struct write delete_of(const struct move *move)
{
    return (struct write){.kind = WRITE_DELETE,
                          .position = move->rename->from.position,
                          .if_match = etag_of(&move->before)};
}

/* The entity at the address, known or requested. 1; 0: there is none; -errno. */
static int find_at(struct move *move, struct address address, struct entity *ret)
{
    struct caller caller = *move->caller;
    int r = account_find(move->account, &caller, address, ret);
    return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

/* Is the entity what is to be stored at `to`? */
static bool has_text(const struct move *move, const struct entity *entity)
{
    return entity->page &&
           entity_text_equal(page_text(entity->page, entity->row), buffer_bytes(&move->text));
}

/* The transaction failed. 0: it was made nevertheless; 1: another client has changed `from`; or the
 * error, of which `to` is the cause. The committer has read what was refused. `there`: what it has
 * read at `to`, which readers do not see under a mask. */
static int resolve_failure(struct move *move, int error, struct entity *there)
{
    const struct failure *failure = &move->caller->call.failure;
    _cleanup_(entity_finish) struct entity from = {0};
    if (!table_store_is_in_doubt(error, failure) || failure_is_no_table(failure))
        return error;
    int has_from = find_at(move, move->rename->from, &from);
    int has_to = there->page ? 1 : find_at(move, move->rename->to, there);
    if (has_from < 0 || has_to < 0)
        return error;
    bool has_changed = !has_from || !bytes_equal(etag_of(&from), etag_of(&move->before));
    if (has_changed && !failure->is_ambiguous)
        return 1;
    bool is_made = has_changed && has_to && has_text(move, there);
    if (!is_made)
        return account_lose(move->account, move->caller, move->rename->to, error, move->store.kind);
    move->now = *there;
    there->page = NULL;
    return 0;
}

/* The text is at `to`, whatever becomes of the rename. */
static void note_stored(struct move *move)
{
    struct account *account = move->account;
    struct address to = move->rename->to;
    local_directories_filled(account->write.local, to);
    if (move->known.masked.size > 0)
        pending_unmask(account->write.pending, to.table, to.position);
}

static int move_within(struct move *move)
{
    int r;
    do {
        r = prepare(move);
        if (r < 0)
            return r;
        /* First the new name: so this mount never sees neither. */
        struct write writes[] = {move->store, delete_of(move)};
        struct entity now[ARRAY_SIZE(writes)];
        r = committer_write(move->account->write.committer, move->caller, move->rename->to.table,
                            writes, ARRAY_SIZE(writes), now);
        if (r < 0)
            r = resolve_failure(move, r, &now[0]);
        else
            move->now = now[0];
        if (r != 0)
            entity_finish(&now[0]);
        entity_finish(&now[1]);
    } while (r == 1);
    if (r == 0)
        note_stored(move);
    return r;
}

/* The answer to the store was lost, and it is not known to be made: reports which names exist.
 * `there`: what is known of `to`. */
static void report_names(struct move *move, const struct entity *there)
{
    _cleanup_(entity_finish) struct entity found = {0};
    struct failure *failure = &move->caller->call.failure;
    int has_to = there->page ? 1 : find_at(move, move->rename->to, &found);
    failure->advice =
        has_to < 0   ? "it has its old name; whether it is stored under the new one, too, is not "
                       "known: look there, and delete one of two"
        : has_to > 0 ? "it has its old name; another text is under the new one"
                     : "it has its old name alone, unless the request still arrives: look at the "
                       "new one later";
}

static int store_there(struct move *move)
{
    struct failure *failure = &move->caller->call.failure;
    _cleanup_(entity_finish) struct entity now = {0};
    int r = account_send(move->account, move->caller, move->rename->to.table, &move->store, &now);
    bool is_made = r == 0 || (failure->is_ambiguous && has_text(move, &now));
    if (!is_made) {
        r = account_lose(move->account, move->caller, move->rename->to, r, move->store.kind);
        if (failure->is_ambiguous)
            report_names(move, &now);
        return r;
    }
    *failure = (struct failure){0};
    entity_finish(&move->now);
    move->now = now;
    now.page = NULL;
    note_stored(move);
    return 0;
}

/* Another version is at `from` than the one that was copied: that one is stored over the copy. */
static int copy_again(struct move *move, struct entity *other)
{
    int r = call_check(&move->caller->call, move->account->read.clock,
                       "other clients keep changing it");
    if (r == 0)
        r = set_before(move, other);
    move->store = (struct write){.kind = WRITE_REPLACE,
                                 .position = move->rename->to.position,
                                 .if_match = etag_of(&move->now),
                                 .text = buffer_bytes(&move->text)};
    return r < 0 ? r : store_there(move);
}

/* Is the entity known to be gone, although the answer to its delete was lost? */
static bool is_deleted(struct move *move)
{
    _cleanup_(entity_finish) struct entity from = {0};
    return move->caller->call.failure.is_ambiguous && find_at(move, move->rename->from, &from) == 0;
}

static int delete_here(struct move *move)
{
    const struct failure *failure = &move->caller->call.failure;
    for (;;) {
        _cleanup_(entity_finish) struct entity other = {0};
        struct write write = delete_of(move);
        int r = account_send(move->account, move->caller, move->rename->from.table, &write, &other);
        if (r == 0 || is_deleted(move))
            return 0;
        if (r != -ESTALE || !other.page || failure->is_ambiguous)
            return r;
        r = copy_again(move, &other);
        if (r < 0)
            return r;
    }
}

/* An interrupt does not count between the two requests: it would leave the entity under both names,
 * and of an interrupt no reason is logged. */
static int move_across(struct move *move)
{
    struct call *call = &move->caller->call;
    struct failure *failure = &call->failure;
    int r = prepare(move);
    if (r == 0)
        r = store_there(move);
    if (r < 0)
        return r;
    bool (*is_cancelled)(void *) = call->is_cancelled;
    call->is_cancelled = NULL;
    r = delete_here(move);
    call->is_cancelled = is_cancelled;
    if (r < 0)
        failure->advice = r == -ENOENT
                              ? "another client has deleted or renamed it; the copy under the new "
                                "name stays"
                              : "it is stored under the new name, and under the old one, too: "
                                "compare both, and delete one";
    return r;
}

static bool is_one_transaction(const struct rename *rename)
{
    return strcmp(rename->from.table, rename->to.table) == 0 &&
           bytes_equal(position_partition_key(rename->from.position),
                       position_partition_key(rename->to.position));
}

/* The process knows what it has renamed, if it had read it, or what was there before. */
static void note_renamed(struct move *move)
{
    struct account *account = move->account;
    struct caller *caller = move->caller;
    const struct rename *rename = move->rename;
    struct read_versions *versions = account->write.versions;
    struct etag read;
    (void)read_versions_find(versions, caller->process, rename->from, &read);
    bool has_read = read.size > 0 && bytes_equal(etag_bytes(&read), etag_of(&move->before));
    read_versions_forget(versions, caller->process, rename->from);
    if (has_read || move->known.read.size > 0)
        account_wrote(account, caller, rename->to, &move->now);
}

static int rename_claimed(struct account *account, struct caller *caller,
                          const struct rename *rename, struct renamed *ret)
{
    _cleanup_(move_finish) struct move move = {
        .account = account, .caller = caller, .rename = rename};
    buffer_init(&move.text, ENTITY_INPUT_MAX_BYTES);
    int r = is_one_transaction(rename) ? move_within(&move) : move_across(&move);
    if (r < 0)
        return r;
    caller->call.failure = (struct failure){0};
    note_renamed(&move);
    *ret = (struct renamed){move.before, move.now};
    move.before.page = move.now.page = NULL;
    return 0;
}

int account_rename(struct account *account, struct caller *caller, const struct rename *rename,
                   struct renamed *ret)
{
    struct write_side *write = &account->write;
    *ret = (struct renamed){0};
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (address_compare(rename->from, rename->to) == 0)
        return rename->begin == EDIT_EXCLUSIVE
                   ? call_fail(&caller->call, -EEXIST, "both are names of one entity")
                   : 0;
    if (!is_one_transaction(rename))
        r = account_check_path(account, caller, rename->path);
    if (r < 0)
        return r;
    r = write_side_claim_both(write, rename->from, rename->to, &caller->call);
    if (r < 0)
        return r;
    /* first, because a LOOKUP may arrive as soon as the entity is gone */
    r = account_keep_path(account, caller, rename->path, 0);
    if (r == 0)
        r = rename_claimed(account, caller, rename, ret);
    write_side_release(write, rename->from);
    write_side_release(write, rename->to);
    return r;
}
