/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "cache/queue/pending_hold.h"
#include "client/entity/entity_check.h"
#include "client/text/table_name.h"

/* The step of the path becomes local: 0. 1: it was so already. */
static int keep(struct account *account, struct caller *caller, const struct directory_path *path,
                size_t i, bool is_empty)
{
    int r =
        local_directories_add(account->write.local, &path->steps[i], &path->steps[i + 1], is_empty);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : r;
}

int account_keep_path(struct account *account, struct caller *caller,
                      const struct directory_path *path, size_t first)
{
    int r = 0;
    for (size_t i = first; r >= 0 && i + 1 < path->n; i++)
        r = keep(account, caller, path, i, false);
    return MIN(r, 0);
}

/* The process counts as one that has listed the directory that it has just made: so while `cp -r`
 * fills it, lookups of absent names send no request. */
static void note_listed(struct account *account, const struct caller *caller,
                        const struct directory *directory)
{
    struct freshness *freshness = account->read.freshness;
    _cleanup_(owned_range_finish) struct owned_range left; /* it goes on there, too */
    owned_range_init(&left);
    struct stamp began = freshness_begin_listing(freshness, caller->process, directory);
    (void)freshness_listed(freshness, caller->process, directory, began, &left);
}

static int make_table(struct account *account, struct caller *caller,
                      const struct directory *directory)
{
    const char *table = directory->table;
    struct write_side *write = &account->write;
    if (!table_name_is_legal(bytes_of(table)))
        return call_fail(&caller->call, -EINVAL,
                         "a table's name is a letter and 2 to 62 letters or digits (ASCII)");
    int r = write_side_claim_table(write, table, &caller->call);
    if (r < 0)
        return r;
    r = committer_create_table(write->committer, caller, table);
    if (r == -EEXIST)
        caller->call.failure.advice =
            "the names of tables ignore case: ls DIR shows how it is written";
    if (r == 0 || r == -EEXIST) /* created by us or another client after we dropped it */
        pending_unmask(write->pending, NULL, bytes_of(table));
    if (r == 0) { /* those of a table of this name that another client has dropped */
        local_directories_remove_table(write->local, table);
        note_listed(account, caller, directory);
    }
    write_side_release_table(write, table);
    return r;
}

/* Could an entity be stored in the directory? */
static int check_name(struct caller *caller, const struct directory *directory)
{
    struct bytes lo = directory->range.lo;
    struct entity_refusal refusal;
    if (position_row_key(lo).size > 0)
        return call_fail(&caller->call, -EINVAL,
                         "directories are made for partitions and their prefixes, not in one");
    if (position_is_unsettled(lo)) /* the key is checked when it is known */
        return 0;
    int r = entity_check_key(position_partition_key(lo), &refusal);
    if (r == 0)
        return 0;
    r = call_fail(&caller->call, r, "%s", refusal.reason);
    (void)snprintf(caller->call.failure.code, sizeof(caller->call.failure.code), "%s",
                   refusal.code);
    return r;
}

static int fail_exists(struct caller *caller)
{
    return call_fail(&caller->call, -EEXIST, "there is such a directory");
}

static int make_local(struct account *account, struct caller *caller,
                      const struct directory_path *path)
{
    const struct directory *directory = path->steps;
    int r = check_name(caller, directory);
    if (r < 0)
        return r;
    struct directory table = directory_of_table(directory->table);
    r = account_find_directory(account, caller, &table);
    if (r < 0)
        return r;
    r = account_find_directory(account, caller, directory);
    if (r != -ENOENT)
        return r < 0 ? r : fail_exists(caller);
    caller->call.failure = (struct failure){0};
    r = keep(account, caller, path, 0, true);
    if (r > 0) /* another caller was faster, by another path */
        return fail_exists(caller);
    if (r == 0)
        r = account_keep_path(account, caller, path, 1);
    if (r == 0)
        note_listed(account, caller, directory);
    return r;
}

int account_make_directory(struct account *account, struct caller *caller,
                           const struct directory_path *path)
{
    const struct directory *directory = path->steps;
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (!directory->table)
        return call_fail(&caller->call, -EEXIST, "the account is there");
    return directory_is_table(directory) ? make_table(account, caller, directory)
                                         : make_local(account, caller, path);
}

int account_settle(struct account *account, const struct settlement *settlement)
{
    return local_directories_settle(account->write.local, settlement);
}

bool account_has_local(struct account *account, const struct directory *directory)
{
    return local_directories_has(account->write.local, directory);
}

/* The process has listed the directory above, so it is expected to remove that one next. */
static bool is_left_to_parent(struct account *account, const struct caller *caller,
                              const struct directory_path *path)
{
    return freshness_has_listed(account->read.freshness, caller->process, &path->steps[1]);
}

/* As account_find_rows. If deletes of the process are held there, and the rmdir of the directory
 * above comes, an old answer that shows no other row suffices: that rmdir asks for each row. Where
 * such an answer is not known any more, the look would come past all rows that are held. So it asks
 * only if one answer may do that. */
static int find_rows(struct account *account, struct caller *caller,
                     const struct directory *directory, bool is_left)
{
    size_t held = 0;
    if (is_left)
        held = pending_holds(account->write.pending, caller->process, directory->table,
                             directory->range, TABLE_STORE_PAGE_ROWS + 1);
    enum knowledge known = held > 0 ? account_recall_rows(account, caller, directory) : KNOWN_ROWS;
    bool asks = known == KNOWN_ROWS || (known == KNOWN_NOT && held <= TABLE_STORE_PAGE_ROWS);
    return asks ? account_find_rows(account, caller, directory) : -ENOENT;
}

static int remove_local(struct account *account, struct caller *caller,
                        const struct directory_path *path)
{
    const struct directory *directory = path->steps;
    struct local_directories *local = account->write.local;
    bool is_left = is_left_to_parent(account, caller, path);
    int r = is_left ? 0 : account_drain_below(account, caller, directory);
    if (r < 0)
        return r;
    r = find_rows(account, caller, directory, is_left);
    if (r == 0)
        return account_explain_not_empty(
            account, caller, directory, call_fail(&caller->call, -ENOTEMPTY, "entities are in it"));
    if (r != -ENOENT)
        return r;
    /* What was made below it by another path counts only if nothing else makes the directory: `rm
     * -r` finds it by that path. */
    if (!local_directories_has(local, directory))
        return local_directories_has_below(local, directory) ? account_fail_not_empty(caller) : r;
    caller->call.failure = (struct failure){0};
    r = account_check_no_local(account, caller, directory);
    if (r == 0)
        r = account_keep_path(account, caller, path, 1);
    if (r == 0)
        local_directories_remove(local, directory);
    return r;
}

int account_remove_filtered(struct account *account, struct caller *caller,
                            const struct directory *directory, const struct directory *above)
{
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (above && freshness_has_listed(account->read.freshness, caller->process, above))
        return 0;
    r = account_drain_below(account, caller, directory);
    return r < 0 ? r : account_check_deletes(account, caller, directory);
}

int account_remove_directory(struct account *account, struct caller *caller,
                             const struct directory_path *path)
{
    const struct directory *directory = path->steps;
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (!directory->table)
        return call_fail(&caller->call, -EBUSY, "the account cannot be removed");
    return directory_is_table(directory) ? account_remove_table(account, caller, directory)
                                         : remove_local(account, caller, path);
}
