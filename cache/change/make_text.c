/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

int account_refuse_text(struct call *call, int error, const struct entity_input_refusal *refusal)
{
    struct buffer line = {.max = ENTITY_INPUT_MAX_LINE + 1};
    int r = entity_input_refusal_append(&line, refusal);
    (void)call_fail(call, error, "%s", r < 0 ? refusal->refusal.reason : buffer_string(&line));
    if (refusal->refusal.code)
        (void)snprintf(call->failure.code, sizeof(call->failure.code), "%s", refusal->refusal.code);
    buffer_finish(&line);
    return error;
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

int account_make_text(struct caller *caller, struct bytes position, struct bytes text,
                      enum entity_input_kind kind, struct buffer *ret)
{
    const struct entity_input_over over = {.position = position, .text = text, .kind = kind};
    struct text_notes notes;
    return account_make_text_over(caller, &over, ret, &notes);
}

int account_make_stored_text(struct caller *caller, struct bytes position,
                             const struct entity *stored, struct buffer *ret)
{
    int r = account_check_readable(caller, stored);
    return r < 0 ? r
                 : account_make_text(caller, position, page_text(stored->page, stored->row),
                                     INPUT_WHOLE, ret);
}

int account_read_keys(struct caller *caller, struct bytes text, enum edit_begin begin,
                      struct buffer *ret_partition_key, struct buffer *ret_row_key)
{
    _cleanup_(entity_input_destroyp) struct entity_input *input = NULL;
    struct entity_input_refusal refusal = {0};
    int r = entity_input_create(&input);
    if (r == 0)
        r = entity_input_read_keys(input, text, account_input_kind(begin), ret_partition_key,
                                   ret_row_key, &refusal);
    if (r == -ENOMEM)
        return call_fail(&caller->call, r, "no memory for the entity's text");
    return r < 0 ? account_refuse_text(&caller->call, r, &refusal) : 0;
}
