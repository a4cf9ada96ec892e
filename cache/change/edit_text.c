/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

/* The text that an edit replaces, or is merged into, as far as that is known without a request. An
 * editor masks an entity before it stores its new text. No page: nothing is there, or it is not
 * known. */
static void look_below(struct account *account, const struct edit *edit, struct entity *ret)
{
    int r = account_look(account, edit->address, ret);
    if (r != KNOWN_ROWS && edit->begin != EDIT_APPENDED)
        account_look_masked(account, edit->address, ret);
}

static void keep_note(const struct entity_input_refusal *ignored, char ret[TEXT_NOTE_SIZE])
{
    struct buffer line = {.max = TEXT_NOTE_SIZE};
    bool is_there = ignored->refusal.reason && entity_input_refusal_append(&line, ignored) == 0;
    (void)snprintf(ret, TEXT_NOTE_SIZE, "%s", is_there ? buffer_string(&line) : "");
    buffer_finish(&line);
}

int account_make_text_over(struct caller *caller, const struct entity_input_over *over,
                           struct buffer *ret, struct text_notes *ret_notes)
{
    _cleanup_(entity_input_destroyp) struct entity_input *input = NULL;
    struct entity_input_ignored ignored = {0};
    struct entity_input_refusal refusal = {0};
    int r = entity_input_create(&input);
    if (r == 0)
        r = entity_input_append_over(input, over, ret, &ignored, &refusal);
    if (r == -ENOMEM)
        return call_fail(&caller->call, r, "no memory for the entity's text");
    if (r < 0)
        return account_refuse_text(&caller->call, r, &refusal);
    keep_note(&ignored.annotation, ret_notes->annotation);
    keep_note(&ignored.key, ret_notes->key);
    return 0;
}

int account_make_edit_text(struct account *account, struct caller *caller, const struct edit *edit,
                           struct buffer *ret, struct text_notes *ret_notes)
{
    _cleanup_(entity_finish) struct entity below = {0};
    struct entity_input_over over = {.position = edit->address.position,
                                     .text = edit->text,
                                     .kind = account_input_kind(edit->begin)};
    look_below(account, edit, &below);
    if (below.page && !page_is_bad(below.page, below.row))
        over.stored = page_text(below.page, below.row);
    return account_make_text_over(caller, &over, ret, ret_notes);
}

static void tell(struct account *account, const struct caller *caller, struct address address,
                 const char *note)
{
    struct failure_record record = {.at_100ns = clock_utc_100ns(account->read.clock),
                                    .operation = "write",
                                    .command = caller->call.command,
                                    .table = address.table,
                                    .position = address.position,
                                    .is_one_of_many = true};
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "%s", note);
    failure_log_add(account->failures, &record);
}

/* Of two programs that take turns, and share a place here, each may be told again. */
static bool is_told_keys(struct account *account, uint64_t process)
{
    _Atomic uint64_t *told = &account->told_keys[process % TOLD_KEYS];
    return atomic_exchange(told, process + 1) == process + 1;
}

void account_tell_notes(struct account *account, const struct caller *caller,
                        struct address address, const struct text_notes *notes)
{
    if (notes->annotation[0])
        tell(account, caller, address, notes->annotation);
    if (notes->key[0] && !is_told_keys(account, caller->process))
        tell(account, caller, address, notes->key);
}
