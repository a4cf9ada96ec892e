#include "cache/account.h"
#include "cache/view.h"
#include "client/text/metrics.h"

#define FIRST_ROWS 32 /* of a directory that is looked up: what most of them hold */

struct account {
    struct view view;
    struct table_store *store;
    struct failure_log *failures;
};

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
    int r = view_init(&account->view, store, clock, options);
    if (r == 0)
        r = failure_log_create(sink, sink_context, &account->failures);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(account);
    return 0;
}

void account_destroy(struct account *account)
{
    if (!account)
        return;
    view_finish(&account->view);
    table_store_destroy(account->store);
    failure_log_destroy(account->failures);
    free(account);
}

/* The range [position, the least position behind it), its end in *end. */
static int point_range(struct bytes position, struct buffer *end, struct range *ret)
{
    buffer_init(end, POSITION_MAX_BYTES);
    int r = position_append_behind(end, position);
    *ret = (struct range){position, buffer_bytes(end)};
    return r;
}

static int out_of_memory(struct caller *caller)
{
    return call_fail(&caller->call, -ENOMEM, "out of memory");
}

/* Asks, and says how long the answer holds: 1, 0 or -errno. */
static int ask(struct account *account, struct caller *caller, const struct question *question,
               const struct ahead *ahead, struct seen *ret)
{
    int64_t began_ms = clock_now_ms(account->view.clock);
    ret->asked_ms = began_ms;
    int r = overlay_next(account->view.overlay, caller, question, ahead, ret);
    view_set_valid(&account->view, caller, r < 0 ? began_ms : ret->asked_ms);
    return r;
}

/* A reader that goes in key order is served with what comes next, and needs no more what it has
 * left behind. */
static int read_row(struct account *account, struct caller *caller, const struct question *question,
                    struct bytes partition_end, struct seen *ret)
{
    struct view *view = &account->view;
    struct bytes position = question->range.lo;
    struct reading reading =
        process_history_ask(view->history, caller->process, question->table, position);
    struct ahead ahead = {.hi = reading.rows > 1 ? partition_end : question->range.hi,
                          .top = reading.rows};
    int r = ask(account, caller, question, &ahead, ret);
    if (r >= 0 && ret->fetched_bytes > 0) /* not by another's request */
        process_history_missed(view->history, caller->process, WAY_ROWS, question->table, position,
                               ret->fetched_rows, ret->fetched_bytes);
    if (r >= 0 && reading.is_in_order) {
        struct bytes key = position_partition_key(position);
        range_cache_passed(view->cache, question->table,
                           (struct range){bytes_first(position, key.size + 1), position});
    }
    return r;
}

/* Who reads in one partition after the other, and is on no walk, is served with the rows of the
 * next ones, too, when it comes to a new one; with ttl 0 they would not be used. enum reach: did it
 * ask? Or -errno; a failure that may be of the others is told by who asks for this one alone. */
static int read_partitions(struct account *account, struct caller *caller, const char *table,
                           struct range partition)
{
    struct view *view = &account->view;
    _cleanup_(region_finish) struct region whole;
    region_init(&whole);
    int rows = process_history_ahead(view->history, caller->process, table, partition.lo);
    if (rows <= 1 || view->ttl_ms == 0 || view_find_walk(view, caller, table, partition, &whole))
        return REACH_NOT;
    struct question question = {.table = table,
                                .range = partition,
                                .since = view_since(view, caller, table, partition.lo, NULL)};
    struct ahead ahead = {.hi = BYTES_LITERAL(POSITION_END), .top = rows};
    struct seen seen = {0};
    int r = overlay_next(view->overlay, caller, &question, &ahead, &seen);
    run_finish(&seen.run);
    if (r < 0 || seen.fetched_bytes > 0)
        process_history_missed(view->history, caller->process, WAY_PARTITIONS, table, partition.lo,
                               seen.fetched_rows, seen.fetched_bytes);
    if (r < 0)
        return caller_forgive(caller, r);
    return seen.was_fetched ? REACH_IN_CACHE : REACH_NOT;
}

int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret)
{
    _cleanup_(buffer_finish) struct buffer behind = {0}, partition_end = {0};
    struct range point, partition;
    struct bytes key = position_partition_key(address.position);
    if (point_range(address.position, &behind, &point) < 0 ||
        point_range(key, &partition_end, &partition) < 0)
        return out_of_memory(caller);
    partition.lo = bytes_first(address.position, key.size + 1);
    int reached = read_partitions(account, caller, address.table, partition);
    if (reached < 0)
        return reached;
    struct question question = {
        .table = address.table,
        .range = point,
        .since = view_since(&account->view, caller, address.table, address.position, NULL)};
    struct seen seen = {0};
    int r = read_row(account, caller, &question, partition.hi, &seen);
    view_count(&account->view, reached, r, &seen);
    if (r == 0)
        return call_fail(&caller->call, -ENOENT, "no such entity");
    if (r < 0)
        return r;
    *ret = (struct entity){seen.run.page, seen.run.begin};
    return 0;
}

/* The first row of a directory, as a sign that it is there. */
static int find_first(struct account *account, struct caller *caller, const char *table,
                      struct range range, const char *absent)
{
    bool is_served;
    struct question question = {.table = table,
                                .range = range,
                                .since =
                                    view_since(&account->view, caller, table, range.lo, &is_served),
                                .keys_suffice = true};
    struct ahead ahead = {.top = FIRST_ROWS};
    struct seen seen = {0};
    _cleanup_(page_unrefp) struct page *page = NULL;
    int reached = view_walk(&account->view, caller, range, &question, &page);
    int r = reached < 0 ? reached : ask(account, caller, &question, &ahead, &seen);
    view_count(&account->view, reached, r, &seen);
    if (r == 0)
        return call_fail(&caller->call, -ENOENT, "%s", absent);
    if (r < 0)
        return r;
    run_finish(&seen.run);
    if (is_served)
        caller->valid_ms = view_hold_for_tools(&account->view, caller->valid_ms);
    return 0;
}

static int find_table(struct account *account, struct caller *caller, const char *table)
{
    _cleanup_(buffer_finish) struct buffer end = {0};
    struct range name;
    if (point_range(bytes_of(table), &end, &name) < 0)
        return out_of_memory(caller);
    return find_first(account, caller, NULL, name, "no such table");
}

int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory)
{
    int r;
    switch (directory->kind) {
    case DIRECTORY_TABLES: /* an account is always there */
        return 0;
    case DIRECTORY_AUTO:
    case DIRECTORY_FLAT:
        if (directory_is_table(directory))
            return find_table(account, caller, directory->table);
        return find_first(account, caller, directory->table, directory->range,
                          "no partition starts so");
    case DIRECTORY_ENTITIES:
        r = read_partitions(account, caller, directory->table, directory->range);
        return r < 0 ? r
                     : find_first(account, caller, directory->table, directory->range,
                                  "no such partition");
    }
    return -ENOENT;
}

uint64_t account_number(struct account *account, const struct entity *entity)
{
    return page_number(entity->page, entity->row, &account->view.numbers);
}

int account_list(struct account *account, const struct directory *directory, struct listing **ret)
{
    return listing_create(&account->view, directory, ret);
}

struct failure_log *account_failures(struct account *account)
{
    return account->failures;
}

int account_append_metrics(struct account *account, struct buffer *ret)
{
    struct range_cache_stats cache;
    struct reader_stats reader;
    struct request_window_stats window;
    request_window_stats(account->view.window, &window);
    range_cache_stats(account->view.cache, &cache);
    reader_stats(account->view.reader, &reader);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } metrics[] = {
        {"tablefuse_cache_hits_total", "counter",
         "Lookups and steps of listings answered from memory.", account->view.hits},
        {"tablefuse_cache_misses_total", "counter",
         "Lookups and steps of listings that memory could not answer.", account->view.misses},
        {"tablefuse_cache_evicted_total", "counter", "Pages that left for want of room.",
         cache.evicted},
        {"tablefuse_cache_pages", "gauge", "Pages that are kept.", cache.pages},
        {"tablefuse_cache_bytes", "gauge", "Memory that they take.", cache.bytes},
        {"tablefuse_flights_total", "counter", "Readings from the service.", reader.flights},
        {"tablefuse_joined_total", "counter", "Questions that waited for another's reading.",
         reader.joined},
        {"tablefuse_window_size", "gauge", "Requests of scans that may be in flight at once.",
         (uint64_t)window.size},
        {"tablefuse_window_shrunk_total", "counter", "How often the service was found too busy.",
         window.shrunk},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
        r = metrics_append_number(ret, metrics[i].name, metrics[i].type, metrics[i].help,
                                  metrics[i].value);
    return r;
}
