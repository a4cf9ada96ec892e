#include "cache/account_parts.h"
#include "client/text/entity_check.h"
#include "client/text/table_name.h"

static const struct range whole_table = {{"", 0}, {POSITION_END, sizeof(POSITION_END) - 1}};

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

/* The process counts as one that has listed the directory that it has just made. So while `cp -r`
 * fills it, names that are not there cost no request. */
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
    struct directory table = {
        .kind = DIRECTORY_FLAT, .table = directory->table, .range = whole_table};
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

static int fail_not_empty(struct caller *caller)
{
    return call_fail(&caller->call, -ENOTEMPTY, "a directory of this mount is in it");
}

/* Is a local directory in it? 0: no; -ENOTEMPTY, -ENOMEM. */
static int check_no_local(struct account *account, struct caller *caller,
                          const struct directory *directory)
{
    _cleanup_(buffer_finish) struct buffer found;
    buffer_init(&found, POSITION_MAX_BYTES);
    bool is_empty;
    int r = local_directories_next(account->write.local, directory, (struct bytes){0}, &found,
                                   &is_empty);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    return r > 0 ? fail_not_empty(caller) : 0;
}

/* Asks the service, whatever is known: the table would take an entity with it. */
static int check_no_row(struct account *account, struct caller *caller, const char *table)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct fetch fetch = {
        .table = table, .range = whole_table, .top = 1, .keys_only = true, .is_alone = true};
    struct stamp since = stamp_from_now(&account->orders, clock_now_ms(account->read.clock));
    bool is_own;
    if (write_side_is_changing(&account->write, table))
        return call_fail(&caller->call, -ENOTEMPTY, "a change of an entity in it is under way");
    int r = fetcher_fetch(account->read.fetcher, caller, &fetch, since, &page, &is_own);
    if (r < 0)
        return r;
    return page_rows(page) > 0 ? call_fail(&caller->call, -ENOTEMPTY, "the table has entities") : 0;
}

/* From now on only a read of the table shows that it exists, not the service's list, which has a
 * table as long as its deletion takes. If there is no memory, the table may be shown so long. */
static void mask_table(struct account *account, const char *table)
{
    char drop[24];
    (void)snprintf(drop, sizeof(drop), "%llu", (unsigned long long)++account->orders);
    (void)pending_mask(account->write.pending, NULL, bytes_of(table), bytes_of(drop));
}

static int drop_claimed(struct account *account, struct caller *caller, const char *table)
{
    struct write_side *write = &account->write;
    int r = check_no_row(account, caller, table);
    if (r == 0)
        r = committer_delete_table(write->committer, caller, table);
    if (r == 0 || r == -ENOENT || caller->call.failure.is_ambiguous)
        mask_table(account, table);
    if (r == 0)
        local_directories_remove_table(write->local, table);
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

static int remove_table(struct account *account, struct caller *caller,
                        const struct directory *directory)
{
    /* those below a prefix, and those that were made in another layout */
    struct directory level = *directory, flat = *directory;
    level.kind = DIRECTORY_AUTO;
    flat.kind = DIRECTORY_FLAT;
    int r = check_was_named(account, caller);
    if (r == 0)
        r = check_no_local(account, caller, &level);
    if (r == 0)
        r = check_no_local(account, caller, &flat);
    if (r == 0)
        r = write_side_claim_table(&account->write, directory->table, &caller->call);
    if (r < 0)
        return r;
    r = drop_claimed(account, caller, directory->table);
    write_side_release_table(&account->write, directory->table);
    return r;
}

static int remove_local(struct account *account, struct caller *caller,
                        const struct directory_path *path)
{
    const struct directory *directory = path->steps;
    struct local_directories *local = account->write.local;
    int r = account_find_rows(account, caller, directory);
    if (r == 0)
        return call_fail(&caller->call, -ENOTEMPTY, "entities are in it");
    if (r != -ENOENT)
        return r;
    /* What was made below by another path counts only where it is all that makes the directory: `rm
     * -r` meets it by that path. */
    if (!local_directories_has(local, directory))
        return local_directories_has_below(local, directory) ? fail_not_empty(caller) : r;
    caller->call.failure = (struct failure){0};
    r = check_no_local(account, caller, directory);
    if (r == 0)
        r = account_keep_path(account, caller, path, 1);
    if (r == 0)
        local_directories_remove(local, directory);
    return r;
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
    return directory_is_table(directory) ? remove_table(account, caller, directory)
                                         : remove_local(account, caller, path);
}
