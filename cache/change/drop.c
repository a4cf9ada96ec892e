/* SPDX-License-Identifier: MIT */
#include "cache/change/table_drop.h"
#include "cache/core.h"
#include "cache/queue/pending_hold.h"

/* From now on only a read of the table shows that it exists, not the service's list, which has a
 * table as long as its deletion takes. If there is no memory, the table may be shown so long. */
static void mask_table(struct account *account, const char *table)
{
    char drop[24];
    (void)snprintf(drop, sizeof(drop), "%llu", (unsigned long long)++account->orders);
    (void)pending_mask(account->write.pending, NULL, bytes_of(table), bytes_of(drop));
}

/* One Delete Table. The table is claimed. What is queued to be deleted there is deleted with it. */
static int drop_claimed(struct account *account, struct caller *caller, const char *table)
{
    struct write_side *write = &account->write;
    int r = committer_delete_table(write->committer, caller, table);
    if (r == 0 || r == -ENOENT || caller->call.failure.is_ambiguous)
        mask_table(account, table);
    if (r == 0)
        local_directories_remove_table(write->local, table);
    if (r == 0 || r == -ENOENT)
        pending_forget_deletes(write->pending, table);
    return r;
}

/* `rm -rf MNT` must leave the tables. It lists the account's root; `rm -r MNT/T`, which names the
 * table, does not. */
static int check_was_named(struct account *account, struct caller *caller)
{
    if (!freshness_has_listed_account(account->read.freshness, caller->process))
        return 0;
    (void)call_fail(&caller->call, -EPERM,
                    "a process that has listed the account's root drops no table");
    caller->call.failure.advice = "name the table: rmdir DIR/TABLE";
    return -EPERM;
}

/* The removal of a table by rmdir. */
struct removal {
    struct account *account;
    struct caller *caller;
    const struct directory *directory;
    /* It has a row that was not deleted here, whatever ended meanwhile, or a local directory. */
    bool is_in_use;
};

static int fail_in_use(struct caller *caller)
{
    return call_fail(&caller->call, -ENOTEMPTY, "the table has entities");
}

/* Reads all rows. 0 if each is one whose delete is queued; -ENOTEMPTY, or -errno. */
static int compare_with_queue(struct removal *removal)
{
    const struct account *account = removal->account;
    struct caller *caller = removal->caller;
    const struct table_drop_source source = {account->read_ahead, account->write.pending,
                                             account->read.clock};
    int64_t now_ms = clock_now_ms(account->read.clock);
    int64_t end_ms = now_ms + (caller->end_ms - now_ms) / 5 * 4; /* the rest is for the drop */
    int state = table_drop_compare(&source, caller, removal->directory->table, end_ms);
    if (state < 0)
        return state;
    removal->is_in_use = state == TABLE_IN_USE;
    bool may_drop =
        state == TABLE_EMPTY || (state == TABLE_REMOVED && !account->options.never_drops_rows);
    return may_drop ? 0 : fail_in_use(caller);
}

/* Another client has dropped the table, and the service may still list it. The table is claimed.
 * What is queued to be deleted is gone with it. But if a change has begun here meanwhile, nothing
 * is forgotten: another client may have made the table again, and a queued delete may be that of a
 * row which was stored in the new table, and deleted there, by this mount. */
static void note_gone(const struct removal *removal, bool has_changed)
{
    mask_table(removal->account, removal->directory->table);
    if (!has_changed)
        pending_forget_deletes(removal->account->write.pending, removal->directory->table);
}

/* 0: the table is dropped; -ENOTEMPTY: it has entities, or one was changed here meanwhile. */
static int drop_if_unused(struct removal *removal)
{
    struct write_side *write = &removal->account->write;
    struct caller *caller = removal->caller;
    const char *table = removal->directory->table;
    struct table_watch watch;
    removal->is_in_use = false;
    int r = pending_watch(write->pending, table, &watch) ? fail_in_use(caller)
                                                         : compare_with_queue(removal);
    bool is_gone = r == -ENOENT;
    int claimed = r == 0 || is_gone ? write_side_claim_table(write, table, &caller->call) : r;
    bool has_changed = pending_unwatch(write->pending, &watch);
    removal->is_in_use &= !has_changed && !watch.has_ended;
    if (claimed < 0)
        return claimed;
    if (is_gone)
        note_gone(removal, has_changed);
    else
        r = has_changed ? fail_in_use(caller) : drop_claimed(removal->account, caller, table);
    write_side_release_table(write, table);
    return r;
}

static int send_queued(struct removal *removal)
{
    return account_drain_below(removal->account, removal->caller, removal->directory);
}

/* A local directory below a prefix, or one that was made in another layout? */
static int check_no_local(const struct removal *removal)
{
    struct directory level = *removal->directory, flat = *removal->directory;
    level.kind = DIRECTORY_AUTO;
    flat.kind = DIRECTORY_FLAT;
    int r = account_check_no_local(removal->account, removal->caller, &level);
    return r < 0 ? r : account_check_no_local(removal->account, removal->caller, &flat);
}

static int drop_if_empty(struct removal *removal)
{
    int r = check_no_local(removal);
    if (r == 0)
        return drop_if_unused(removal);
    removal->is_in_use = r == -ENOTEMPTY;
    return r;
}

/* What is cached of the table, which the comparison has shown to be outdated. */
static void forget_rows(const struct removal *removal)
{
    struct account *account = removal->account;
    range_cache_drop_table(account->read.cache, removal->directory->table,
                           stamp_from_now(&account->orders, clock_now_ms(account->read.clock)));
}

static bool has_queued(const struct removal *removal)
{
    return pending_has_queued(removal->account->write.pending, removal->directory->table);
}

/* The queued deletes are not waited for: they continue. What fails later is in the failure log. */
static int leave_in_use(struct removal *removal)
{
    struct caller *caller = removal->caller;
    if (has_queued(removal)) {
        caller->call.failure.advice =
            "list the table: what it shows was not deleted. Deletes of the rest are still queued";
        forget_rows(removal);
    }
    return account_explain_not_empty(removal->account, caller, removal->directory, -ENOTEMPTY);
}

/* A first comparison may have failed because a queued delete was carried out between the scan and
 * the comparison: its row was read, and is no longer in the queue. While the rest is held no delete
 * is carried out, so a second comparison shows whether the table has other rows. */
static int drop_during_batches(struct removal *removal)
{
    int r = drop_if_empty(removal);
    if (r != -ENOTEMPTY || removal->is_in_use || !has_queued(removal))
        return r;
    removal->caller->call.failure = (struct failure){0};
    return drop_if_empty(removal);
}

static int remove_table(struct removal *removal)
{
    int r = removal->account->options.never_drops_rows ? send_queued(removal) : 0;
    bool had_queued = has_queued(removal);
    if (r == 0)
        r = drop_during_batches(removal);
    if (r != -ENOTEMPTY)
        return r;
    if (removal->is_in_use)
        return leave_in_use(removal);
    /* What is queued may be all that is in the table: of a second process that deletes it, too. */
    had_queued |= has_queued(removal);
    int sent = send_queued(removal);
    if (sent < 0)
        return sent;
    if (had_queued) {
        removal->caller->call.failure = (struct failure){0};
        r = drop_if_empty(removal);
    }
    if (r == -ENOTEMPTY && had_queued) /* the next listing shows what is in it */
        forget_rows(removal);
    return account_explain_not_empty(removal->account, removal->caller, removal->directory, r);
}

int account_remove_table(struct account *account, struct caller *caller,
                         const struct directory *directory)
{
    struct removal removal = {.account = account, .caller = caller, .directory = directory};
    struct pending *pending = account->write.pending;
    if (caller->end_ms == 0)
        caller->end_ms = caller->call.deadline_ms;
    pending_hold_again(pending, directory->table, caller->end_ms);
    int r = check_was_named(account, caller);
    if (r == 0)
        r = remove_table(&removal);
    pending_end_hold(pending, directory->table); /* if it is there, its deletes are sent */
    return r;
}

/* Without a comparison. A queued text is dropped with the table, as a stored one is. */
int account_drop_table(struct account *account, struct caller *caller, const char *table)
{
    struct write_side *write = &account->write;
    int r = account_may_change(account, caller);
    if (r == 0)
        r = write_side_claim_table(write, table, &caller->call);
    if (r < 0)
        return r;
    r = drop_claimed(account, caller, table);
    if (r == 0)
        pending_forget_all(write->pending, table);
    write_side_release_table(write, table);
    return r;
}
