/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

/* An editor that has read an older version would put its text over a change that it has not seen.
 */
static int check_read(struct account *account, struct caller *caller, struct address address,
                      const struct entity *entity)
{
    struct known_versions known;
    account_known(account, caller, address, &known);
    int r = account_check_read(account, caller, address, &known);
    if (r < 0 || known.read.size == 0 || account->options.overwrites_conflicts ||
        bytes_equal(etag_bytes(&known.read), page_etag(entity->page, entity->row)))
        return r;
    (void)call_fail(&caller->call, -ESTALE, "another version");
    return account_lose(account, caller, address, -ESTALE, WRITE_REPLACE);
}

static int mask_claimed(struct account *account, struct caller *caller, struct address address,
                        const struct directory_path *path, struct entity *ret)
{
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = account_find(account, caller, address, &entity);
    if (r == 0)
        r = account_check_readable(caller, &entity);
    if (r == 0)
        r = check_read(account, caller, address, &entity);
    if (r == 0)
        r = account_keep_path(account, caller, path, 0);
    if (r < 0)
        return r;
    r = pending_mask(account->write.pending, address.table, address.position,
                     page_etag(entity.page, entity.row));
    if (r < 0)
        return call_fail(&caller->call, r, "no memory for a mask");
    *ret = entity;
    entity.page = NULL;
    return 0;
}

int account_mask(struct account *account, struct caller *caller, struct address address,
                 const struct directory_path *path, struct entity *ret)
{
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim(&account->write, address, &caller->call);
    if (r < 0)
        return r;
    r = mask_claimed(account, caller, address, path, ret);
    write_side_release(&account->write, address);
    return r;
}

void account_recall_masked(struct account *account, struct address address, struct entity *ret)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct etag masked;
    struct question question = {.table = address.table,
                                .range = {address.position, BYTES_LITERAL(POSITION_END)},
                                .since = stamp_since(INT64_MIN)};
    if (!pending_masked(account->write.pending, address.table, address.position, &masked) ||
        !(page = overlay_known_page(account->read.overlay, &question)))
        return;
    size_t row = page_seek(page, address.position);
    if (row < page_rows(page) && bytes_equal(page_position(page, row), address.position) &&
        bytes_equal(page_etag(page, row), etag_bytes(&masked)))
        *ret = (struct entity){TAKE_PTR(page), row};
}

bool account_unmask(struct account *account, struct address address, struct bytes etag)
{
    return pending_unmask_version(account->write.pending, address.table, address.position, etag);
}

static int delete_version(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag)
{
    struct write write = {.kind = WRITE_DELETE, .position = address.position, .if_match = etag};
    struct entity now;
    int r = account_send(account, caller, address.table, &write, &now);
    entity_finish(&now);
    return r;
}

static int delete_masked_claimed(struct account *account, struct caller *caller,
                                 struct address address, struct bytes etag)
{
    struct failure *failure = &caller->call.failure;
    struct etag masked;
    if (!pending_masked(account->write.pending, address.table, address.position, &masked) ||
        !bytes_equal(etag_bytes(&masked), etag))
        return 0; /* not that version, any more */
    int r = delete_version(account, caller, address, etag);
    if (r == -ESTALE) {
        r = failure->error = -EBUSY;
        failure->advice = "another client has changed the entity, which is shown again";
    } else if (r == -ENOENT) { /* another client has deleted it */
        *failure = (struct failure){0};
        r = 0;
    }
    if (r == 0 || r == -EBUSY)
        (void)account_unmask(account, address, etag);
    return r;
}

int account_delete_masked(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag)
{
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim(&account->write, address, &caller->call);
    if (r < 0)
        return r;
    r = delete_masked_claimed(account, caller, address, etag);
    write_side_release(&account->write, address);
    return r;
}

/* What readers of this mount see is not what is there, so this reads from the service. */
int account_delete_unmasked(struct account *account, struct caller *caller, struct address address,
                            struct bytes masked)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct position end;
    struct range range = range_of_one(address.position, &end);
    int r = committer_read(account->write.committer, caller, address.table, range, 1, &page);
    if (r < 0 || page_rows(page) == 0 || bytes_equal(page_etag(page, 0), masked))
        return r;
    r = delete_version(account, caller, address, page_etag(page, 0));
    if (r == 0)
        (void)account_unmask(account, address, masked);
    return r;
}
