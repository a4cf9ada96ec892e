#include "cache/account_parts.h"
#include "client/text/entity_check.h"
#include "client/text/table_name.h"

static const struct range whole_table = {{"", 0}, {POSITION_END, sizeof(POSITION_END) - 1}};

static int make_table(struct account *account, struct caller *caller, const char *table)
{
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

static int make_local(struct account *account, struct caller *caller,
                      const struct directory *directory, const struct directory *parent)
{
    int r = check_name(caller, directory);
    if (r < 0)
        return r;
    struct directory table = {
        .kind = DIRECTORY_FLAT, .table = directory->table, .range = whole_table};
    r = account_find_directory(account, caller, &table);
    if (r < 0)
        return r;
    r = account_find_directory(account, caller, directory);
    if (r == 0)
        return call_fail(&caller->call, -EEXIST, "there is such a directory");
    if (r != -ENOENT)
        return r;
    caller->call.failure = (struct failure){0};
    r = local_directories_add(account->write.local, directory, parent);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

int account_make_directory(struct account *account, struct caller *caller,
                           const struct directory *directory, const struct directory *parent)
{
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (!directory->table)
        return call_fail(&caller->call, -EEXIST, "the account is there");
    return directory_is_table(directory) ? make_table(account, caller, directory->table)
                                         : make_local(account, caller, directory, parent);
}

/* Is a local directory in it? 0: no; -ENOTEMPTY, -ENOMEM. */
static int check_no_local(struct account *account, struct caller *caller,
                          const struct directory *directory)
{
    _cleanup_(buffer_finish) struct buffer found;
    buffer_init(&found, POSITION_MAX_BYTES);
    int r = local_directories_next(account->write.local, directory, (struct bytes){0}, &found);
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    return r > 0 ? call_fail(&caller->call, -ENOTEMPTY, "a directory of this mount is in it") : 0;
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

static int drop_claimed(struct account *account, struct caller *caller, const char *table)
{
    struct write_side *write = &account->write;
    int r = check_no_row(account, caller, table);
    if (r == 0)
        r = committer_delete_table(write->committer, caller, table);
    if (r < 0)
        return r;
    /* without memory it may be listed until the service has deleted it */
    (void)pending_mask(write->pending, NULL, bytes_of(table), (struct bytes){0});
    local_directories_remove_table(write->local, table);
    return 0;
}

static int remove_table(struct account *account, struct caller *caller,
                        const struct directory *directory)
{
    /* those below a prefix, and those that were made in another layout */
    struct directory level = *directory, flat = *directory;
    level.kind = DIRECTORY_AUTO;
    flat.kind = DIRECTORY_FLAT;
    int r = check_no_local(account, caller, &level);
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
                        const struct directory *directory, const struct directory *parent,
                        const struct directory *grandparent)
{
    struct local_directories *local = account->write.local;
    int r = account_find_rows(account, caller, directory);
    if (r == 0)
        return call_fail(&caller->call, -ENOTEMPTY, "entities are in it");
    if (r != -ENOENT || !local_directories_has(local, directory))
        return r;
    caller->call.failure = (struct failure){0};
    r = check_no_local(account, caller, directory);
    if (r < 0)
        return r;
    if (grandparent && local_directories_add(local, parent, grandparent) < 0)
        return call_fail(&caller->call, -ENOMEM, "out of memory");
    local_directories_remove(local, directory);
    return 0;
}

int account_remove_directory(struct account *account, struct caller *caller,
                             const struct directory *directory, const struct directory *parent,
                             const struct directory *grandparent)
{
    int r = account_may_change(account, caller);
    if (r < 0)
        return r;
    if (!directory->table)
        return call_fail(&caller->call, -EBUSY, "the account cannot be removed");
    return directory_is_table(directory)
               ? remove_table(account, caller, directory)
               : remove_local(account, caller, directory, parent, grandparent);
}
