/* SPDX-License-Identifier: MIT */
#include "cache/core.h"
#include "cache/queue/pending_hold.h"
#include "client/entity/entity_text.h"
#include "client/text/metrics.h"

/* Of a table that another client has dropped, this mount's own directories go, too. */
static void forget_local(void *context, const struct page *tables, struct stamp requested)
{
    const struct account *account = context;
    local_directories_keep_tables(account->write.local, tables, requested);
}

/* On failure the parts that exist stay, for account_destroy. */
static int create_parts(struct account *account)
{
    struct read_ahead_source *read = &account->read;
    int r = range_cache_create(read->cache_bytes, &read->cache);
    struct fetcher_source fetcher = {.store = account->store,
                                     .cache = read->cache,
                                     .clock = read->clock,
                                     .orders = &account->orders,
                                     .ttl_ms = read->ttl_ms,
                                     .failures = account->failures,
                                     .listed = forget_local,
                                     .listed_context = account};
    if (r == 0)
        r = fetcher_create(&fetcher, &read->fetcher);
    struct committer_source committer = {.store = account->store,
                                         .cache = read->cache,
                                         .fetcher = read->fetcher,
                                         .clock = read->clock,
                                         .orders = &account->orders};
    struct batch_committer queued = {.clock = read->clock,
                                     .patience_ms = account->options.timeout_ms,
                                     .stored = account_note_stored,
                                     .failed = account_note_failed,
                                     .context = account};
    if (r == 0)
        r = write_side_init(&account->write, &committer, &queued, account->options.pending_bytes);
    if (r == 0)
        r = overlay_create(read->cache, read->fetcher, account->write.pending, &read->overlay);
    if (r == 0)
        r = freshness_create(read->ttl_ms, read->clock, &account->orders, &read->freshness);
    if (r == 0)
        r = read_ahead_create(read, &account->read_ahead);
    if (r == 0)
        r = forms_create(account->failures, read->clock, &account->forms);
    account->listings = (struct listing_source){.read = read,
                                                .read_ahead = account->read_ahead,
                                                .local = account->write.local,
                                                .forms = account->forms};
    return r;
}

int account_create(struct table_store *store, const struct clock *clock,
                   const struct account_options *options, failure_sink *sink, void *sink_context,
                   struct account **ret)
{
    _cleanup_(account_destroyp) struct account *account = calloc(1, sizeof(*account));
    if (!account) {
        table_store_destroy(store);
        return -ENOMEM;
    }
    account->store = store;
    account->options = *options;
    account->read = (struct read_ahead_source){.clock = clock,
                                               .ttl_ms = options->ttl_ms,
                                               .cache_bytes = options->cache_bytes,
                                               .parallelism = options->parallelism,
                                               .fanout = options->fanout};
    int r = failure_log_create(sink, sink_context, &account->failures);
    if (r == 0)
        r = create_parts(account);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(account);
    return 0;
}

void account_destroy(struct account *account)
{
    if (!account)
        return;
    if (account->write.threads && account_end_changes(account, 0) > 0)
        account_abandon_changes(account);
    forms_destroy(account->forms);
    read_ahead_destroy(account->read_ahead);
    freshness_destroy(account->read.freshness);
    overlay_destroy(account->read.overlay);
    write_side_finish(&account->write);
    fetcher_destroy(account->read.fetcher);
    range_cache_destroy(account->read.cache);
    table_store_destroy(account->store);
    failure_log_destroy(account->failures);
    free(account);
}

/* Sets how long the kernel may keep the answer, also that a name is absent. `r` is the result of
 * overlay_next. A failure that is an answer (the table does not exist) may be of another caller's
 * request, so its age is not known. A mask may end at any moment. */
static void set_valid(const struct account *account, struct caller *caller, int r,
                      const struct seen *seen)
{
    bool may_be_kept = r >= 0 && !seen->was_overlaid;
    caller->valid_ms =
        may_be_kept ? freshness_valid_ms(account->read.freshness, seen->requested_ms) : 0;
}

static int fail_to_read(struct call *call, const struct entity *bad)
{
    _cleanup_(buffer_finish) struct buffer reason = {.max = sizeof(call->failure.message)};
    int r = entity_text_append_problem(page_text(bad->page, bad->row), &reason);
    if (r < 0 || !buffer_string(&reason))
        return call_fail(call, -ENOMEM, "out of memory");
    (void)call_fail(call, -EIO, "what the service has cannot be understood: %s",
                    buffer_string(&reason));
    call->failure.advice = "the entity can be deleted, or replaced as a whole";
    return -EIO;
}

int account_check_readable(struct caller *caller, const struct entity *entity)
{
    return page_is_bad(entity->page, entity->row) ? fail_to_read(&caller->call, entity) : 0;
}

int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret)
{
    struct position end;
    struct served served;
    struct question question = {.table = address.table,
                                .range = range_of_one(address.position, &end),
                                .since =
                                    freshness_oldest(account->read.freshness, caller->process,
                                                     address.table, address.position, &served)};
    struct seen seen = {0};
    int r = read_ahead_entity(account->read_ahead, caller, &question, served.is_in_order, &seen);
    set_valid(account, caller, r, &seen);
    if (overlay_is_changing(account->read.overlay, address.table, address.position))
        caller->valid_ms = 0; /* a change that is under way may end before the answer arrives */
    if (r == 0)
        return call_fail(&caller->call, -ENOENT, "no such entity");
    if (r < 0)
        return r;
    *ret = (struct entity){seen.run.page, seen.run.begin};
    return 0;
}

/* As overlay_find. */
static enum knowledge find_known(struct account *account, struct address address,
                                 int64_t not_before_ms, bool keys_suffice, struct seen *ret)
{
    struct position end;
    struct question question = {.table = address.table,
                                .range = range_of_one(address.position, &end),
                                .since = stamp_since(not_before_ms),
                                .keys_suffice = keys_suffice};
    return overlay_find(account->read.overlay, &question, ret, NULL);
}

bool account_knows(struct account *account, struct address address)
{
    const struct read_ahead_source *read = &account->read;
    struct seen seen = {0};
    enum knowledge known =
        find_known(account, address, clock_now_ms(read->clock) - read->ttl_ms, true, &seen);
    run_finish(&seen.run);
    return known == KNOWN_ROWS;
}

enum knowledge account_recall(struct account *account, struct address address, struct entity *ret)
{
    struct seen seen = {0};
    enum knowledge known = find_known(account, address, INT64_MIN, false, &seen);
    if (known == KNOWN_ROWS)
        *ret = (struct entity){seen.run.page, seen.run.begin};
    return known;
}

/* For the first row of the directory, as new as the process needs it. */
static struct question lookup_of_first(const struct account *account, const struct caller *caller,
                                       const struct directory *directory, struct served *ret_served)
{
    return (struct question){.table = directory->table,
                             .range = directory->range,
                             .since = freshness_oldest(account->read.freshness, caller->process,
                                                       directory->table, directory->range.lo,
                                                       ret_served),
                             .keys_suffice = true};
}

/* Finds the first row of a directory, which shows that the directory exists. A filtered listing
 * that has shown something shows it as well, although nothing is known of the rows before that. */
static int find_first(struct account *account, struct caller *caller,
                      const struct directory *directory, const char *absent)
{
    struct served served;
    struct question question = lookup_of_first(account, caller, directory, &served);
    struct seen seen = {0};
    int r = directory->filter &&
            overlay_knows_row(account->read.overlay, &question, &seen.requested_ms);
    if (r == 0)
        r = read_ahead_directory(account->read_ahead, caller, directory->kind, &question, &seen);
    set_valid(account, caller, r, &seen);
    if (r == 0)
        return call_fail(&caller->call, -ENOENT, "%s", absent);
    if (r < 0)
        return r;
    run_finish(&seen.run);
    if (served.is_served)
        caller->valid_ms = freshness_hold_ms(account->read.freshness, caller->valid_ms);
    return 0;
}

enum knowledge account_recall_rows(struct account *account, const struct caller *caller,
                                   const struct directory *directory)
{
    struct served served;
    struct question question = lookup_of_first(account, caller, directory, &served);
    struct seen seen = {0};
    question.since = stamp_since(INT64_MIN);
    enum knowledge known = overlay_find(account->read.overlay, &question, &seen, NULL);
    run_finish(&seen.run);
    return known;
}

/* The kernel does not keep the absence of a table: account_find_table_now may find the table before
 * that answer would expire. */
static int find_table(struct account *account, struct caller *caller, const char *table)
{
    struct position end;
    struct directory tables = {.kind = DIRECTORY_TABLES,
                               .range = range_of_one(bytes_of(table), &end)};
    int r = find_first(account, caller, &tables, "no such table");
    if (r == -ENOENT)
        caller->valid_ms = 0;
    return r;
}

int account_find_table_now(struct account *account, struct caller *caller, const char *table)
{
    struct position end;
    struct directory tables = {.kind = DIRECTORY_TABLES,
                               .range = range_of_one(bytes_of(table), &end)};
    struct served served;
    struct question question = lookup_of_first(account, caller, &tables, &served);
    struct seen seen = {0};
    int r = overlay_find(account->read.overlay, &question, &seen, NULL) == KNOWN_ROWS;
    if (r == 0) {
        question.since = stamp_from_now(&account->orders, clock_now_ms(account->read.clock));
        r = read_ahead_directory(account->read_ahead, caller, tables.kind, &question, &seen);
    }
    run_finish(&seen.run);
    return r == 0 ? call_fail(&caller->call, -ENOENT, "no such table") : MIN(r, 0);
}

int account_find_rows(struct account *account, struct caller *caller,
                      const struct directory *directory)
{
    switch (directory->kind) {
    case DIRECTORY_TABLES: /* an account always exists */
        return 0;
    case DIRECTORY_AUTO:
    case DIRECTORY_FLAT:
        if (directory_is_table(directory))
            return find_table(account, caller, directory->table);
        return find_first(account, caller, directory, "no partition starts so");
    case DIRECTORY_ENTITIES:
        return find_first(account, caller, directory, "no such partition");
    }
    return -ENOENT;
}

int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory)
{
    struct local_directories *local = account->write.local;
    /* Its rows may all be held deletes, and more than the cache has room for: a search for another
     * row would read all of them. `rm -r` of a filter has deleted all matches that it listed. */
    bool may_be_emptied =
        directory->table &&
        (directory->filter || pending_has_hold(account->write.pending, directory->table));
    if (may_be_emptied && local_directories_has(local, directory)) {
        caller->valid_ms = 0;
        return 0;
    }
    int r = account_find_rows(account, caller, directory);
    bool may_be_local = r == -ENOENT && directory->table && !directory_is_table(directory);
    if (!may_be_local ||
        !(local_directories_has(local, directory) || local_directories_has_below(local, directory)))
        return r;
    caller->call.failure = (struct failure){0};
    return 0;
}

int account_list(struct account *account, const struct directory *directory, struct listing **ret)
{
    return listing_create(&account->listings, directory, ret);
}

struct failure_log *account_failures(struct account *account)
{
    return account->failures;
}

int account_append_metrics(struct account *account, struct buffer *ret)
{
    struct range_cache_stats cache;
    struct fetcher_stats fetcher;
    struct read_ahead_stats ahead;
    struct pending_stats changes;
    read_ahead_stats(account->read_ahead, &ahead);
    pending_stats(account->write.pending, &changes);
    range_cache_stats(account->read.cache, &cache);
    fetcher_stats(account->read.fetcher, &fetcher);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } metrics[] = {
        {"tablefuse_cache_hits_total", "counter",
         "Lookups and steps of listings answered from memory.", ahead.hits},
        {"tablefuse_cache_misses_total", "counter",
         "Lookups and steps of listings that memory could not answer.", ahead.misses},
        {"tablefuse_cache_evicted_total", "counter", "Pages that were evicted.", cache.evicted},
        {"tablefuse_cache_pages", "gauge", "Pages in the cache.", cache.pages},
        {"tablefuse_cache_bytes", "gauge", "Bytes of the pages in the cache.", cache.bytes},
        {"tablefuse_flights_total", "counter", "Fetches from the service.", fetcher.flights},
        {"tablefuse_joined_total", "counter", "Fetches that waited for another caller's request.",
         fetcher.joined},
        {"tablefuse_window_size", "gauge",
         "Requests of scans of one table that may be in flight at once.",
         (uint64_t)ahead.window.size},
        {"tablefuse_window_shrunk_total", "counter", "How often the request window was halved.",
         ahead.window.shrunk},
        {"tablefuse_changing", "gauge", "Entities and tables that are being changed.",
         changes.claims},
        {"tablefuse_changes_waiting", "gauge",
         "Callers that wait for another change of the same entity or table, or for the queue.",
         changes.waiting},
        {"tablefuse_queued", "gauge", "Changes that are queued.", changes.queued},
        {"tablefuse_queued_bytes", "gauge", "Memory of the changes that are queued.",
         changes.queued_bytes},
        {"tablefuse_open_text_bytes", "gauge", "Texts of files that are open for writing.",
         changes.reserved},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
        r = metrics_append_number(ret, metrics[i].name, metrics[i].type, metrics[i].help,
                                  metrics[i].value);
    return r;
}
