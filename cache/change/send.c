/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

int account_send(struct account *account, struct caller *caller, const char *table,
                 const struct write *write, struct entity *ret_now)
{
    return committer_write(account->write.committer, caller, table, write, 1, ret_now);
}

void account_opened(struct account *account, const struct caller *caller, struct address address,
                    const struct entity *entity)
{
    struct read_versions *versions = account->write.versions;
    struct later_etag *later = page_later_etag(entity->page);
    if (later)
        read_versions_note_later(versions, caller->process, address, later);
    else
        read_versions_note(versions, caller->process, address,
                           page_etag(entity->page, entity->row));
}

void account_note_replaced(struct account *account, const struct caller *caller,
                           struct address address, struct bytes before, const struct entity *now)
{
    struct etag read;
    (void)read_versions_find(account->write.versions, caller->process, address, &read);
    if (read.size > 0 && bytes_equal(etag_bytes(&read), before))
        account_wrote(account, caller, address, now);
}

void account_known(struct account *account, const struct caller *caller, struct address address,
                   struct known_versions *ret)
{
    int r = read_versions_find(account->write.versions, caller->process, address, &ret->read);
    ret->has_read_lost = r == -ESTALE;
    (void)pending_masked(account->write.pending, address.table, address.position, &ret->masked);
}

struct write account_choose_write(const struct account *account, const struct edit *edit,
                                  struct bytes text, const struct known_versions *known)
{
    struct write_facts facts = {.begin = edit->begin,
                                .last_stored = edit->last_stored,
                                .snapshot = edit->snapshot,
                                .read = etag_bytes(&known->read),
                                .masked = etag_bytes(&known->masked),
                                .overwrites_conflicts = account->options.overwrites_conflicts};
    struct write_rule rule = write_rule_choose(&facts);
    return (struct write){.kind = rule.kind,
                          .position = edit->address.position,
                          .if_match = rule.if_match,
                          .text = text};
}

int account_lose(struct account *account, struct caller *caller, struct address address, int error,
                 enum write_kind kind)
{
    struct failure *failure = &caller->call.failure;
    bool is_gone = error == -ENOENT && kind == WRITE_REPLACE && !failure_is_no_table(failure);
    if (error != -ESTALE && !is_gone)
        return error;
    failure->advice = is_gone ? "another client has deleted the entity; write it again to store it"
                              : "another client has changed the entity since it was read";
    failure->error = -ESTALE;
    read_versions_forget(account->write.versions, caller->process, address);
    return -ESTALE;
}

int account_lose_queued(struct account *account, struct caller *caller, struct address address,
                        const char *reason)
{
    (void)call_fail(&caller->call, -ESTALE, "%s", reason);
    int r = account_lose(account, caller, address, -ESTALE, WRITE_REPLACE);
    caller->call.failure.advice =
        "read the entity again, or write it again to replace what is there";
    return r;
}

int account_check_read(struct account *account, struct caller *caller, struct address address,
                       const struct known_versions *known)
{
    if (!known->has_read_lost || known->masked.size > 0 || account->options.overwrites_conflicts)
        return 0;
    return account_lose_queued(account, caller, address,
                               "the text that was read was queued, and is not known to be stored");
}

int account_aim_at(struct caller *caller, const struct entity *found, struct write *write,
                   struct buffer *text)
{
    write->if_match = page_etag(found->page, found->row);
    if (write->kind != WRITE_REPLACE)
        return 0;
    buffer_clear(text);
    int r = account_make_stored_text(caller, write->position, found, text);
    write->text = buffer_bytes(text);
    return r;
}

int account_write_over(struct account *account, struct caller *caller, const char *table,
                       struct write write, struct entity *ret)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = ENTITY_INPUT_MAX_BYTES};
    bool is_other = false;
    int r = account_send(account, caller, table, &write, ret);
    while (r == -ESTALE && ret->page) {
        _cleanup_(entity_finish) struct entity found = *ret;
        ret->page = NULL;
        r = call_check(&caller->call, account->read.clock, "other clients keep changing it");
        caller->call.failure.advice = NULL; /* the service answers */
        if (r == 0)
            r = account_aim_at(caller, &found, &write, &text);
        if (r < 0)
            return r;
        r = account_send(account, caller, table, &write, ret);
        is_other = true;
    }
    return r < 0 ? r : is_other;
}
