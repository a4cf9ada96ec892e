/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "client/entity/entity_input.h"
#include "client/entity/entity_merge.h"

/* Makes the canonical text of `over`, whose values keep the types that they have in `before`. */
static int make_over(struct caller *caller, struct bytes position, struct bytes over,
                     const struct entity *before, struct buffer *ret)
{
    struct text_notes notes; /* account_make_edit_text has them */
    struct entity_input_over text = {.position = position, .text = over, .kind = INPUT_MERGE};
    int r = before->page ? account_check_readable(caller, before) : 0;
    if (r < 0)
        return r;
    if (before->page)
        text.stored = page_text(before->page, before->row);
    return account_make_text_over(caller, &text, ret, &notes);
}

/* The merged text, which is checked: a value that would be refused may have been stored already. */
static int merge(struct caller *caller, struct bytes position, struct bytes over,
                 const struct entity *before, struct buffer *ret)
{
    struct entity_input_refusal refusal = {0};
    int r = entity_merge_append(page_text(before->page, before->row), over, ret);
    if (r < 0)
        return call_fail(&caller->call, r, "%s",
                         r == -EFBIG ? "the merged text is longer than 4 MiB"
                                     : "the texts could not be merged");
    r = entity_check(position, buffer_bytes(ret), &refusal.refusal);
    if (r == 0)
        return 0;
    (void)account_refuse_text(&caller->call, r, &refusal);
    if (refusal.refusal.name.size > 0) /* `over` was checked before */
        caller->call.failure.advice = "the stored value is refused, not what is appended: append a "
                                      "right value of this property, too, or write all anew";
    return r;
}

/* Stores `over` merged into the entity `before`, or alone if `before` is absent. A merge is sent as
 * a Replace of that version by the merged text, so that the text is known without another read.
 * ret_now: what is stored afterwards, also after a failure; without a page: nothing, or it is not
 * known. */
static int send_merged(struct account *account, struct caller *caller, struct address address,
                       struct bytes over, const struct entity *before, struct entity *ret_now)
{
    _cleanup_(buffer_finish) struct buffer made = {.max = ENTITY_INPUT_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer merged = {.max = ENTITY_INPUT_MAX_BYTES};
    int r = make_over(caller, address.position, over, before, &made);
    if (r < 0)
        return r;
    struct write write = {
        .kind = WRITE_INSERT, .position = address.position, .text = buffer_bytes(&made)};
    if (before->page) {
        r = merge(caller, address.position, write.text, before, &merged);
        if (r < 0)
            return r;
        write.kind = WRITE_REPLACE;
        write.if_match = page_etag(before->page, before->row);
        write.text = buffer_bytes(&merged);
    }
    return account_send(account, caller, address.table, &write, ret_now);
}

static bool was_another_first(int error, const struct failure *failure)
{
    return error == -ESTALE || error == -EEXIST ||
           (error == -ENOENT && !failure_is_no_table(failure));
}

/* Finds the entity, unless *ret has it already, as the committer has read it after a refusal. If
 * the committer has read that it was deleted, the cache has that. No page in *ret: it does not
 * exist. */
static int find_present(struct account *account, struct caller *caller, struct address address,
                        struct entity *ret)
{
    int r = ret->page ? 0 : account_find(account, caller, address, ret);
    return r == -ENOENT ? 0 : r;
}

int account_append_claimed(struct account *account, struct caller *caller, struct address address,
                           struct bytes over, struct entity *ret)
{
    _cleanup_(entity_finish) struct entity now = {0};
    int r;
    do {
        r = find_present(account, caller, address, &now);
        if (r < 0)
            return r;
        _cleanup_(entity_finish) struct entity before = now;
        now.page = NULL;
        r = call_check(&caller->call, account->read.clock, "other clients keep changing it");
        if (r == 0)
            r = send_merged(account, caller, address, over, &before, &now);
        if (r == 0 && before.page)
            account_note_replaced(account, caller, address, page_etag(before.page, before.row),
                                  &now);
    } while (was_another_first(r, &caller->call.failure));
    if (r < 0)
        return r;
    caller->call.failure = (struct failure){0};
    *ret = now;
    now.page = NULL;
    return 0;
}
