#include "cache/account.h"
#include "cache/freshness.h"

#include <stdatomic.h>

struct account {
    struct table_store *store;
    const struct clock *clock;
    int64_t ttl_ms;
    _Atomic uint64_t numbers; /* the next inode number; 1 is the root's */
    struct failure_log *failures;
};

int account_create(struct table_store *store, const struct clock *clock,
                   const struct account_options *options, failure_sink *sink, void *sink_context,
                   struct account **ret)
{
    struct account *account = calloc(1, sizeof(*account));
    if (!account)
        return -ENOMEM;
    int r = failure_log_create(sink, sink_context, &account->failures);
    if (r < 0) {
        free(account);
        return r;
    }
    account->store = store;
    account->clock = clock;
    account->ttl_ms = options->ttl_ms;
    atomic_init(&account->numbers, 2);
    *ret = account;
    return 0;
}

void account_destroy(struct account *account)
{
    if (!account)
        return;
    table_store_destroy(account->store);
    failure_log_destroy(account->failures);
    free(account);
}

static void set_valid(const struct account *account, struct caller *caller, int64_t began_ms)
{
    int64_t now_ms = clock_now_ms(account->clock);
    int64_t asked_ms = caller_asked_ms(caller, began_ms);
    caller->valid_ms = MAX(freshness_end_ms(asked_ms, now_ms, account->ttl_ms) - now_ms, 0);
}

int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret)
{
    struct page *page = NULL;
    int64_t began_ms = clock_now_ms(account->clock);
    int r = table_store_get(account->store, address.table, address.position, &caller->call, &page);
    set_valid(account, caller, began_ms);
    if (r < 0)
        return r;
    *ret = (struct entity){page, 0};
    return 0;
}

static int find_table(struct account *account, struct caller *caller, const char *table)
{
    struct table_names names;
    buffer_init(&names.names, (size_t)1 << 20);
    struct continuation *next = NULL;
    int r;
    do {
        _cleanup_(continuation_destroyp) struct continuation *after = TAKE_PTR(next);
        r = table_store_list_tables(account->store, table, after, &caller->call, &names, &next);
    } while (r == 0 && names.names.size == 0 && next);
    continuation_destroy(next);
    if (r == 0 && names.names.size == 0)
        r = call_fail(&caller->call, -ENOENT, "no such table");
    buffer_finish(&names.names);
    return r;
}

static int find_row(struct account *account, struct caller *caller, const char *table,
                    struct range range)
{
    _cleanup_(answer_finish) struct answer answer = {0};
    struct query query = {.table = table, .range = range, .top = 1, .keys_only = true};
    int r;
    do {
        _cleanup_(answer_finish) struct answer last = answer;
        answer = (struct answer){0};
        query.after = last.next;
        r = table_store_query(account->store, &query, &caller->call, &answer);
        if (r < 0)
            return r;
        caller_made_progress(caller, account->clock);
    } while (page_rows(answer.page) == 0 && answer.next);
    if (page_rows(answer.page) == 0)
        return call_fail(&caller->call, -ENOENT, "no such partition");
    return 0;
}

int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory)
{
    int r = 0;
    int64_t began_ms = clock_now_ms(account->clock);
    switch (directory->kind) {
    case DIRECTORY_TABLES:
        break;
    case DIRECTORY_AUTO:
    case DIRECTORY_FLAT:
        r = find_table(account, caller, directory->table);
        break;
    case DIRECTORY_ENTITIES:
        r = find_row(account, caller, directory->table, directory->range);
        break;
    }
    set_valid(account, caller, began_ms);
    return r;
}

uint64_t account_number(struct account *account, const struct entity *entity)
{
    return entity ? page_number(entity->page, entity->row, &account->numbers)
                  : atomic_fetch_add(&account->numbers, 1);
}

int account_list(struct account *account, const struct directory *directory, struct listing **ret)
{
    struct listing_source source = {.store = account->store,
                                    .clock = account->clock,
                                    .ttl_ms = account->ttl_ms,
                                    .numbers = &account->numbers};
    return listing_create(&source, directory, ret);
}

struct failure_log *account_failures(struct account *account)
{
    return account->failures;
}
