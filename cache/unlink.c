#include "cache/account_parts.h"

#include <assert.h>

/* Deletes the version of `etag`; or, where another client has changed the entity, the version that
 * is there then. */
static int delete_claimed(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag)
{
    struct write write = {.kind = WRITE_DELETE, .position = address.position, .if_match = etag};
    _cleanup_(entity_finish) struct entity now = {0};
    int r = account_write_over(account, caller, address.table, write, &now);
    return MIN(r, 0);
}

static int end_delete(struct caller *caller, int r)
{
    struct failure *failure = &caller->call.failure;
    if (r == 0 || r == -ENOENT) /* it is gone; another client may have deleted it */
        *failure = (struct failure){0};
    if (r == -ESTALE) { /* of a path: the kernel would send the call again */
        failure->error = -EBUSY;
        failure->advice = "another client has changed the entity, and it could not be read again";
    }
    return r == -ENOENT ? 0 : r == -ESTALE ? -EBUSY : r;
}

int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory_path *path)
{
    struct write_side *write = &account->write;
    _cleanup_(buffer_finish) struct buffer masked;
    buffer_init(&masked, PENDING_ETAG_MAX_BYTES);
    assert(etag.size > 0);
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim(write, address, &caller->call);
    if (r < 0)
        return r;
    /* first, because a LOOKUP may come as soon as the entity is gone */
    r = account_keep_path(account, caller, path, 0);
    if (r == 0)
        r = pending_masked(write->pending, address.table, address.position, &masked);
    if (r == 0)
        r = end_delete(caller, delete_claimed(account, caller, address, etag));
    else if (r > 0)
        r = end_delete(caller,
                       account_delete_beside_mask(account, caller, address, buffer_bytes(&masked)));
    if (r == 0)
        read_versions_forget(write->versions, caller->process, address);
    write_side_release(write, address);
    return r;
}
