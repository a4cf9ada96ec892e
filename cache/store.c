#include "cache/account_parts.h"
#include "cache/write/write_rule.h"
#include "client/text/entity_compare.h"
#include "client/text/entity_input.h"

#include <assert.h>

static int refuse(struct call *call, int error, const struct entity_input_refusal *refusal)
{
    struct buffer line = {.max = ENTITY_INPUT_MAX_LINE + 1};
    int r = entity_input_refusal_append(&line, refusal);
    (void)call_fail(call, error, "%s", r < 0 ? refusal->refusal.reason : buffer_string(&line));
    if (refusal->refusal.code)
        (void)snprintf(call->failure.code, sizeof(call->failure.code), "%s", refusal->refusal.code);
    buffer_finish(&line);
    return error;
}

/* The canonical text of what the user wrote. */
static int make_text(struct caller *caller, const struct edit *edit, struct buffer *ret)
{
    _cleanup_(entity_input_destroyp) struct entity_input *input = NULL;
    struct entity_input_refusal refusal = {0};
    int r = entity_input_create(&input);
    if (r == 0)
        r = entity_input_append(input, edit->address.position, edit->text, INPUT_WHOLE, ret,
                                &refusal);
    if (r == -ENOMEM)
        return call_fail(&caller->call, r, "no memory for the entity's text");
    return r < 0 ? refuse(&caller->call, r, &refusal) : 0;
}

/* Did an earlier store of this very text succeed, although its answer was lost? */
static bool was_stored(const struct edit *edit, int error, const struct entity *now,
                       struct bytes text)
{
    return edit->may_be_stored && (error == -ESTALE || error == -EEXIST) && now->page &&
           entity_text_equal(page_text(now->page, now->row), text);
}

/* Another client was faster. A Replace of an entity that is gone has lost, too: -ENOENT from a
 * write would tell nobody why. The user has been told, so the next store of the process counts as
 * one that has not read the entity. */
static int lose(struct account *account, struct caller *caller, struct address address, int error,
                enum write_kind kind)
{
    struct failure *failure = &caller->call.failure;
    bool is_gone =
        error == -ENOENT && kind == WRITE_REPLACE && strcmp(failure->code, "TableNotFound") != 0;
    if (error != -ESTALE && !is_gone)
        return error;
    failure->advice = is_gone ? "another client has deleted the entity; write it again to store it"
                              : "another client has changed the entity since it was read";
    failure->error = -ESTALE;
    read_versions_forget(account->write.versions, caller->process, address);
    return -ESTALE;
}

static int store_claimed(struct account *account, struct caller *caller, const struct edit *edit,
                         struct bytes text, struct entity *ret)
{
    struct read_versions *versions = account->write.versions;
    _cleanup_(entity_finish) struct entity now = {0};
    _cleanup_(buffer_finish) struct buffer read;
    buffer_init(&read, PENDING_ETAG_MAX_BYTES);
    if (read_versions_find(versions, caller->process, edit->address, &read) < 0)
        return call_fail(&caller->call, -ENOMEM, "out of memory");
    struct write_facts facts = {.begin = edit->begin,
                                .last_stored = edit->last_stored,
                                .read = buffer_bytes(&read),
                                .overwrites_conflicts = account->options.overwrites_conflicts};
    struct write_rule rule = write_rule_choose(&facts);
    struct write write = {.kind = rule.kind,
                          .position = edit->address.position,
                          .if_match = rule.if_match,
                          .text = text};
    int r = committer_write(account->write.committer, caller, edit->address.table, &write, &now);
    if (r < 0 && !was_stored(edit, r, &now, text))
        return lose(account, caller, edit->address, r, rule.kind);
    caller->call.failure = (struct failure){0};
    read_versions_note(versions, caller->process, edit->address, page_etag(now.page, now.row));
    *ret = now;
    now.page = NULL;
    return 0;
}

int account_store(struct account *account, struct caller *caller, const struct edit *edit,
                  struct entity *ret)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, ENTITY_INPUT_MAX_BYTES);
    assert(edit->begin == EDIT_NEW || edit->begin == EDIT_EXCLUSIVE || edit->begin == EDIT_OVER);
    int r = account_may_change(account, caller);
    if (r == 0)
        r = make_text(caller, edit, &text);
    if (r == 0)
        r = write_side_claim(&account->write, edit->address, &caller->call);
    if (r < 0)
        return r;
    r = store_claimed(account, caller, edit, buffer_bytes(&text), ret);
    write_side_release(&account->write, edit->address);
    return r;
}

void account_opened(struct account *account, const struct caller *caller, struct address address,
                    const struct entity *entity)
{
    read_versions_note(account->write.versions, caller->process, address,
                       page_etag(entity->page, entity->row));
}
