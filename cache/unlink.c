#include "cache/account_parts.h"

#include <assert.h>

/* Deletes the version of `etag`; or, where another client has changed the entity, the version that
 * is there then. */
static int delete_claimed(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag)
{
    struct write write = {.kind = WRITE_DELETE, .position = address.position, .if_match = etag};
    _cleanup_(entity_finish) struct entity now = {0};
    struct committer *committer = account->write.committer;
    int r = committer_write(committer, caller, address.table, &write, &now);
    while (r == -ESTALE && now.page) {
        _cleanup_(entity_finish) struct entity found = now;
        now.page = NULL;
        r = call_check(&caller->call, account->read.clock, "other clients keep changing it");
        if (r < 0)
            return r;
        write.if_match = page_etag(found.page, found.row);
        r = committer_write(committer, caller, address.table, &write, &now);
    }
    return r;
}

static int end_delete(struct caller *caller, int r)
{
    struct failure *failure = &caller->call.failure;
    if (r == 0 || r == -ENOENT) /* it is gone, by whoever's delete */
        *failure = (struct failure){0};
    if (r == -ESTALE) { /* of a path: the kernel would send the call again */
        failure->error = -EBUSY;
        failure->advice = "another client has changed the entity, and it could not be read again";
    }
    return r == -ENOENT ? 0 : r == -ESTALE ? -EBUSY : r;
}

int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory *partition,
                   const struct directory *parent)
{
    struct write_side *write = &account->write;
    assert(etag.size > 0);
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim(write, address, &caller->call);
    if (r < 0)
        return r;
    /* first, because a LOOKUP may come as soon as the entity is gone */
    r = local_directories_add(write->local, partition, parent);
    if (r < 0)
        r = call_fail(&caller->call, r, "out of memory");
    else
        r = end_delete(caller, delete_claimed(account, caller, address, etag));
    if (r == 0)
        read_versions_forget(write->versions, caller->process, address);
    write_side_release(write, address);
    return r;
}
