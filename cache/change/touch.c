/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

static int touch_claimed(struct account *account, struct caller *caller, struct address address,
                         const struct bytes *known, struct entity *ret)
{
    _cleanup_(entity_finish) struct entity before = {0};
    _cleanup_(entity_finish) struct entity now = {0};
    _cleanup_(buffer_finish) struct buffer text = {.max = ENTITY_INPUT_MAX_BYTES};
    struct write write = {.kind = WRITE_REPLACE, .position = address.position};
    int r = account_find(account, caller, address, &before);
    if (r == 0)
        r = account_aim_at(caller, &before, &write, &text);
    if (r < 0)
        return r;
    struct bytes etag = write.if_match;
    r = account_write_over(account, caller, address.table, write, &now);
    if (r < 0)
        return r;
    bool is_known = !known || (r == 0 && bytes_equal(*known, etag));
    if (r == 0)
        account_note_replaced(account, caller, address, etag, &now);
    *ret = (struct entity){0};
    if (is_known) {
        *ret = now;
        now.page = NULL;
    }
    return 0;
}

int account_touch(struct account *account, struct caller *caller, struct address address,
                  struct bytes known, const struct later_etag *queued, struct entity *ret)
{
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim(&account->write, address, &caller->call);
    if (r < 0)
        return r;
    bool is_any = known.size == 0 && !queued;
    if (queued)
        known = later_etag_get(queued);
    r = touch_claimed(account, caller, address, is_any ? NULL : &known, ret);
    write_side_release(&account->write, address);
    return r;
}
