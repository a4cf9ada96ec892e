/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "cache/queue/pending_hold.h"
#include "client/filter/filter.h"

/* Deletes the version of `etag`; or, where another client has changed the entity, the version that
 * is there then, unless it is to be this one. */
static int delete_claimed(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag, bool is_exact)
{
    struct write write = {.kind = WRITE_DELETE, .position = address.position, .if_match = etag};
    _cleanup_(entity_finish) struct entity now = {0};
    int r = is_exact ? account_send(account, caller, address.table, &write, &now)
                     : account_write_over(account, caller, address.table, write, &now);
    return MIN(r, 0);
}

#define NOT_READ_ADVICE "another client has changed the entity, and it could not be read again"
#define CHANGED_ADVICE                                                                             \
    "another program or client has changed the entity since the filter has shown it"

static int end_delete(struct caller *caller, int r, const char *advice)
{
    struct failure *failure = &caller->call.failure;
    if (r == 0 || r == -ENOENT) /* it is gone; another client may have deleted it */
        *failure = (struct failure){0};
    if (r == -ESTALE) { /* of a path: the kernel would send the call again */
        failure->error = -EBUSY;
        failure->advice = advice;
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
    int r = 0;
    if (account_recall(account, address, &now) == KNOWN_NOT)
        r = account_find(account, caller, address, &now);
    if (r < 0 && r != -ENOENT)
        return r;
    caller->call.failure = (struct failure){0};
    return now.page && bytes_equal(page_etag(now.page, now.row), etag_bytes(ret));
}

static int delete_now(struct account *account, struct caller *caller, struct address address,
                      struct bytes etag, bool is_exact)
{
    int r = end_delete(caller, delete_claimed(account, caller, address, etag, is_exact),
                       is_exact ? CHANGED_ADVICE : NOT_READ_ADVICE);
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

static void report_no_room(const struct account *account, const char *table)
{
    if (account->options.no_room)
        account->options.no_room(account->options.no_room_context, table);
}

/* Is the delete, which is queued, held in case that the process removes the table? What it deletes
 * through a filter is no beginning of that. */
static bool may_hold(struct account *account, const struct caller *caller, const char *table,
                     const struct directory_path *path)
{
    bool has_ended;
    if (path->filter || !may_drop(account, caller, table))
        return false;
    bool may_hold = pending_may_hold(account->write.pending, table, &has_ended);
    if (has_ended)
        report_no_room(account, table);
    return may_hold;
}

/* Has the process listed the directory as it has reached it? */
static bool has_listed(const struct account *account, const struct caller *caller,
                       const struct directory_path *path)
{
    struct directory directory = path->steps[0];
    directory.filter = path->filter;
    return freshness_has_listed(account->read.freshness, caller->process, &directory);
}

static enum delete_decision decide(struct account *account, const struct caller *caller,
                                   const struct directory_path *path)
{
    if (!account_may_queue(account))
        return DELETE_NOW;
    return delete_policy_unlink(account->write.policy, caller->process,
                                has_listed(account, caller, path),
                                clock_now_ms(account->read.clock));
}

/* A process that deletes what a filter has shown takes only what matches. Its kernel looks a name
 * up anew, and may find a version that another client, or another process of this mount, has stored
 * since. A process that names an entity without having listed the filter means this entity; what
 * one that cannot be seen has listed is not known. 0 or -errno. */
static int check_matches(struct account *account, struct caller *caller, struct address address,
                         struct bytes etag, const struct directory_path *path)
{
    struct filter_error error;
    _cleanup_(entity_finish) struct entity now = {0};
    _cleanup_(filter_destroyp) struct filter *filter = NULL;
    if (!path->filter || (caller->process != 0 && !has_listed(account, caller, path)))
        return 0;
    int r = 0;
    if (account_recall(account, address, &now) == KNOWN_ROWS &&
        bytes_equal(page_etag(now.page, now.row), etag))
        r = filter_create(bytes_of(path->filter), &filter, &error);
    if (r == -ENOMEM)
        return call_fail(&caller->call, r, "out of memory");
    if (!filter || filter_matches(filter, address.position, page_text(now.page, now.row),
                                  page_timestamp(now.page, now.row)) != 0)
        return 0;
    (void)call_fail(&caller->call, -EBUSY, "the entity does not match the filter any more");
    caller->call.failure.advice = CHANGED_ADVICE;
    return -EBUSY;
}

/* The claim is released, unless it has passed to the queue. */
static int delete_or_queue(struct account *account, struct caller *caller, struct address address,
                           struct bytes etag, const struct directory_path *path,
                           enum delete_decision decision)
{
    struct write_side *write = &account->write;
    bool is_exact = path->filter != NULL; /* what a LOOKUP has shown just before */
    int r = decision == DELETE_NOW
                ? delete_now(account, caller, address, etag, is_exact)
                : account_queue_delete(account, caller, address, etag,
                                       may_hold(account, caller, address.table, path));
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
    /* first, because a LOOKUP may arrive as soon as the entity is gone */
    r = account_keep_path(account, caller, path, 0);
    if (r == 0)
        r = choose_version(account, caller, address, &etag, &found);
    if (r == 0)
        r = check_matches(account, caller, address, etag, path);
    bool is_masked = pending_masked(write->pending, address.table, address.position, &masked);
    if (r == 0 && !is_masked)
        return delete_or_queue(account, caller, address, etag, path,
                               was_shown ? decide(account, caller, path) : DELETE_NOW);
    if (r == 0)
        r = account_delete_unmasked(account, caller, address, etag_bytes(&masked));
    r = end_delete(caller, r, NOT_READ_ADVICE);
    if (r == 0)
        read_versions_forget(write->versions, caller->process, address);
    write_side_release(write, address);
    return r;
}
