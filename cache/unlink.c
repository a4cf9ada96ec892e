/* SPDX-License-Identifier: MIT */
#include "cache/account_parts.h"
#include "cache/write/pending_hold.h"

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

/* The version that is there, of an entity that was not stored when it was shown: it was queued
 * then, and the claim has waited for its end. It may be another client's, which took the place of
 * the one that was shown. */
static int find_etag(struct account *account, struct caller *caller, struct address address,
                     struct etag *ret)
{
    _cleanup_(entity_finish) struct entity now = {0};
    int r = account_find(account, caller, address, &now);
    if (r < 0)
        return r;
    etag_set(ret, page_etag(now.page, now.row));
    return ret->size > 0 ? 0 : call_fail(&caller->call, -EPROTO, "the entity has no usable ETag");
}

/* The version that was shown may be older than one that this mount has stored, by another path or
 * in another thread, before the claim. That is no other client's change: the delete is of the
 * mount's own version. Then ret has it: 1. 0: it is of the version that was shown. */
static int find_own(struct account *account, struct caller *caller, struct address address,
                    struct bytes shown, struct etag *ret)
{
    _cleanup_(entity_finish) struct entity now = {0};
    read_versions_find_stored(account->write.versions, address, ret);
    if (ret->size == 0 || bytes_equal(etag_bytes(ret), shown))
        return 0;
    int r = account_look(account, address, &now);
    if (r == KNOWN_NOT)
        r = account_find(account, caller, address, &now);
    if (r < 0 && r != -ENOENT)
        return r;
    caller->call.failure = (struct failure){0};
    return now.page && bytes_equal(page_etag(now.page, now.row), etag_bytes(ret));
}

static int delete_now(struct account *account, struct caller *caller, struct address address,
                      struct bytes etag)
{
    int r = end_delete(caller, delete_claimed(account, caller, address, etag));
    delete_policy_answered(account->write.policy, caller->process, r == 0,
                           clock_now_ms(account->read.clock));
    return r;
}

/* Does the process perhaps delete the whole table, and may it drop it? */
static bool may_drop(struct account *account, const struct caller *caller, const char *table)
{
    struct freshness *freshness = account->read.freshness;
    struct directory directory = directory_of_table(table);
    return !account->options.never_drops_rows &&
           freshness_has_listed(freshness, caller->process, &directory) &&
           !freshness_has_listed_account(freshness, caller->process);
}

static void tell_no_room(const struct account *account, const char *table)
{
    if (account->options.no_room)
        account->options.no_room(account->options.no_room_context, table);
}

/* Is the delete, which is queued, held in case that the process removes the table? */
static bool may_hold(struct account *account, const struct caller *caller, const char *table)
{
    bool has_ended;
    if (!may_drop(account, caller, table))
        return false;
    bool may_hold = pending_may_hold(account->write.pending, table, &has_ended);
    if (has_ended)
        tell_no_room(account, table);
    return may_hold;
}

static enum delete_decision decide(struct account *account, const struct caller *caller,
                                   const struct directory *directory)
{
    if (!account_may_queue(account))
        return DELETE_NOW;
    return delete_policy_unlink(
        account->write.policy, caller->process,
        freshness_has_listed(account->read.freshness, caller->process, directory),
        clock_now_ms(account->read.clock));
}

/* The claim is released, unless it has passed to the queue. */
static int delete_or_queue(struct account *account, struct caller *caller, struct address address,
                           struct bytes etag, enum delete_decision decision)
{
    struct write_side *write = &account->write;
    int r = decision == DELETE_NOW ? delete_now(account, caller, address, etag)
                                   : account_queue_delete(account, caller, address, etag,
                                                          may_hold(account, caller, address.table));
    if (r == 0)
        read_versions_forget(write->versions, caller->process, address);
    if (r < 0 || decision == DELETE_NOW)
        write_side_release(write, address);
    return r;
}

/* The version to delete; `etag` is the one that was shown, or empty. found: its memory. */
static int choose_version(struct account *account, struct caller *caller, struct address address,
                          struct bytes *etag, struct etag *found)
{
    int r = etag->size > 0 ? find_own(account, caller, address, *etag, found)
                           : find_etag(account, caller, address, found);
    if (r < 0)
        return r;
    if (r > 0 || etag->size == 0)
        *etag = etag_bytes(found);
    return 0;
}

int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory_path *path)
{
    struct write_side *write = &account->write;
    bool was_shown = etag.size > 0;
    struct etag masked, found;
    int r = account_may_change(account, caller);
    if (r == 0)
        r = account_check_path(account, caller, path);
    if (r == 0)
        r = write_side_claim(write, address, &caller->call);
    if (r < 0)
        return r;
    /* first, because a LOOKUP may come as soon as the entity is gone */
    r = account_keep_path(account, caller, path, 0);
    if (r == 0)
        r = choose_version(account, caller, address, &etag, &found);
    bool is_masked = pending_masked(write->pending, address.table, address.position, &masked);
    if (r == 0 && !is_masked)
        return delete_or_queue(account, caller, address, etag,
                               was_shown ? decide(account, caller, &path->steps[0]) : DELETE_NOW);
    if (r == 0)
        r = account_delete_beside_mask(account, caller, address, etag_bytes(&masked));
    r = end_delete(caller, r);
    if (r == 0)
        read_versions_forget(write->versions, caller->process, address);
    write_side_release(write, address);
    return r;
}
