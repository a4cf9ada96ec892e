/* SPDX-License-Identifier: MIT */
/* Changes and readers of one account in every order: schedule_account [SEED [COUNT]].
 *
 * Threads store a few entities, in every way, touch and delete them; others look them up and list
 * them, by every kind of listing. In half of the runs deletes are queued, and in half of these
 * texts, too.
 *
 * What is read may be seen by the rule of history.h. So a lookup or listing that begins after an
 * own change shows it, however old the queries are whose pages arrive, and whatever was evicted. At
 * the end the service agrees with the results that the callers got. */
#include "tests/schedule/scheduled_account.h"

#define ROUNDS    3
#define ROWS      3
#define NOT_SHOWN (-1)

/* The value of a row is the number that its text has; 0: deleted. */
static const struct address rows[ROWS] = {
    {"tab", BYTES_LITERAL("p\0a")}, {"tab", BYTES_LITERAL("p\0b")}, {"tab", BYTES_LITERAL("q\0a")}};
static const struct directory partitions[] = {
    {.kind = DIRECTORY_ENTITIES,
     .table = "tab",
     .range = {BYTES_LITERAL("p\0"), BYTES_LITERAL("p\x01")}},
    {.kind = DIRECTORY_ENTITIES,
     .table = "tab",
     .range = {BYTES_LITERAL("q\0"), BYTES_LITERAL("q\x01")}}};

static bool may_be_there(size_t row, unsigned begun, unsigned ended)
{
    for (int value = 1; value <= HISTORY_MAX; value++)
        if (history_may_be_seen(&test.history, row, value, begun, ended))
            return true;
    return false;
}

static int value_of_text(struct bytes text)
{
    uint64_t value = 0;
    for (size_t i = 0; i + 7 < text.size; i++)
        if (bytes_start_with(bytes_skip(text, i), BYTES_LITERAL("value\": "))) {
            struct bytes rest = bytes_skip(text, i + 8);
            SCHEDULE_CHECK(
                bytes_parse_unsigned(bytes_take_until(&rest, '\n'), HISTORY_MAX, &value));
        }
    SCHEDULE_CHECK(value > 0);
    return (int)value;
}

static int value_of(const struct entity *entity)
{
    return value_of_text(page_text(entity->page, entity->row));
}

/* With another change of this mount. */
static bool is_conflict(int error)
{
    return error == -ESTALE || error == -EEXIST || error == -ENOENT;
}

/* A queued change has failed. Of several deletes of a row the last one is meant, and it is not
 * known which one that is. */
static void note_lost(void *context, const struct lost_change *lost)
{
    (void)context;
    int value = lost->is_delete ? 0 : value_of_text(lost->text);
    size_t undone = 0;
    SCHEDULE_CHECK(test.queues && (lost->is_delete || test.writes_back));
    SCHEDULE_CHECK(is_conflict(lost->failure->error));
    for (size_t i = 0; i < test.history.count; i++) {
        struct change *change = &test.history.changes[i];
        if (change->value == value && address_compare(rows[change->name], lost->address) == 0) {
            history_undo(change);
            undone++;
        }
    }
    SCHEDULE_CHECK(undone > 0);
}

/* Its ETag, if there is one: the caller finishes ret. */
static int look_up(size_t row, struct caller *caller, struct entity *ret)
{
    unsigned begun = history_now(&test.history);
    int r = account_find(test.account, caller, rows[row], ret);
    SCHEDULE_CHECK(r == 0 || r == -ENOENT);
    SCHEDULE_CHECK(history_may_be_seen(&test.history, row, r == 0 ? value_of(ret) : 0, begun,
                                       history_now(&test.history)));
    return r;
}

static void end(struct change *change, const struct caller *caller, int r)
{
    bool is_ambiguous = r < 0 && caller->call.failure.is_ambiguous;
    SCHEDULE_CHECK(r == caller->call.failure.error);
    SCHEDULE_CHECK(r == 0 || r == -EEXIST || r == -ESTALE || r == -EBUSY || is_ambiguous ||
                   (r == -EIO && test.stalls));
    SCHEDULE_CHECK(!is_ambiguous || test.loses);
    history_end(&test.history, change, r == 0 ? MADE : is_ambiguous ? IN_DOUBT : NOT_MADE);
}

static void store_row(size_t row)
{
    char text[32];
    struct entity before = {0}, entity = {0};
    struct caller caller = new_caller();
    enum edit_begin begin = (enum edit_begin)schedule_random(EDIT_APPENDED + 1);
    if (schedule_random(2) == 0 && look_up(row, &caller, &before) == 0)
        account_opened(test.account, &caller, rows[row], &before);
    caller.call.failure = (struct failure){0};
    struct change *change = history_begin(&test.history, row, (int)test.history.count + 1);
    (void)snprintf(text, sizeof(text), "{\"value\": %d}", change->value);
    struct edit edit = {.address = rows[row], .begin = begin, .text = bytes_of(text)};
    if (before.page)
        edit.snapshot = page_etag(before.page, before.row);
    end(change, &caller, account_store(test.account, &caller, &edit, &entity));
    entity_finish(&before);
    entity_finish(&entity);
}

/* It leaves the value as it is. */
static void touch_row(size_t row)
{
    struct entity entity = {0};
    struct caller caller = new_caller();
    unsigned begun = history_now(&test.history);
    int r = account_touch(test.account, &caller, rows[row], (struct bytes){0}, NULL, &entity);
    unsigned ended = history_now(&test.history);
    SCHEDULE_CHECK(r == 0 || r == -ENOENT || (test.loses && caller.call.failure.is_ambiguous) ||
                   (r == -EIO && test.stalls));
    if (r == -ENOENT)
        SCHEDULE_CHECK(history_may_be_seen(&test.history, row, 0, begun, ended));
    if (r == 0)
        SCHEDULE_CHECK(history_may_be_seen(&test.history, row, value_of(&entity), begun, ended));
    entity_finish(&entity);
}

/* What was shown of each row: its value, or NOT_SHOWN; 0: its name alone, or its partition. */
static void list(struct caller *caller, const struct directory *directory, int shown[ROWS]);

static void delete_row(size_t row)
{
    const struct directory steps[] = {partitions[row == 2],
                                      {.kind = DIRECTORY_FLAT, .table = "tab", .range = RANGE_ALL}};
    const struct directory_path path = {.steps = steps, .n = ARRAY_SIZE(steps)};
    struct entity entity = {0};
    struct caller caller = new_caller();
    int shown[ROWS];
    if (test.queues && schedule_random(2) == 0) /* then it may be queued */
        list(&caller, &steps[0], shown);
    if (look_up(row, &caller, &entity) < 0)
        return;
    struct change *change = history_begin(&test.history, row, 0);
    end(change, &caller,
        account_unlink(test.account, &caller, rows[row], page_etag(entity.page, entity.row),
                       &path));
    entity_finish(&entity);
}

/* Of one partition: afterwards nothing is queued there that was queued before. */
static void sync_rows(size_t partition)
{
    struct caller caller = new_caller();
    int r = account_sync(test.account, &caller, "tab", partitions[partition].range);
    SCHEDULE_CHECK(r == caller.call.failure.error);
    SCHEDULE_CHECK(r == 0 || is_conflict(r) || (r == -EIO && test.stalls));
}

static void *change_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(2) == 0)
            wait_some_time();
        size_t row = schedule_random(ROWS);
        switch (schedule_random(test.queues ? 8 : 6)) {
        case 0:
        case 1:
            delete_row(row);
            break;
        case 2:
            touch_row(row);
            break;
        case 6:
            sync_rows(row == 2);
            break;
        default:
            store_row(row);
        }
    }
    return NULL;
}

static void list(struct caller *caller, const struct directory *directory, int shown[ROWS])
{
    struct listing *listing;
    struct listing_entry entry = {0};
    bool names_suffice = schedule_random(2) == 0;
    int r;
    for (size_t row = 0; row < ROWS; row++)
        shown[row] = NOT_SHOWN;
    SCHEDULE_CHECK(account_list(test.account, directory, &listing) == 0);
    while ((r = listing_next(listing, caller, entry.cookie, names_suffice, true, &entry)) == 1)
        for (size_t row = 0; row < ROWS; row++) {
            struct bytes position = rows[row].position;
            bool is_of_partition = directory->kind == DIRECTORY_ENTITIES;
            bool is_it = is_of_partition ? range_holds(directory->range, position) &&
                                               bytes_equal(position_row_key(position), entry.key)
                                         : bytes_equal(position_partition_key(position), entry.key);
            if (!is_it)
                continue;
            SCHEDULE_CHECK(!is_of_partition || shown[row] == NOT_SHOWN);
            SCHEDULE_CHECK(names_suffice || !is_of_partition || entry.entity.page);
            shown[row] = entry.entity.page ? value_of(&entry.entity) : 0;
        }
    SCHEDULE_CHECK(r == 0);
    listing_close(listing);
}

static void check_row(size_t row, int shown, unsigned begun, unsigned ended)
{
    if (shown == NOT_SHOWN)
        SCHEDULE_CHECK(history_may_be_seen(&test.history, row, 0, begun, ended));
    else if (shown == 0)
        SCHEDULE_CHECK(may_be_there(row, begun, ended));
    else
        SCHEDULE_CHECK(history_may_be_seen(&test.history, row, shown, begun, ended));
}

static void list_rows(void)
{
    const struct directory *partition = &partitions[schedule_random(ARRAY_SIZE(partitions))];
    int shown[ROWS];
    struct caller caller = new_caller();
    unsigned begun = history_now(&test.history);
    list(&caller, partition, shown);
    unsigned ended = history_now(&test.history);
    for (size_t row = 0; row < ROWS; row++)
        if (range_holds(partition->range, rows[row].position))
            check_row(row, shown[row], begun, ended);
}

/* A partition is shown if a row of it is there. */
static void list_partitions(enum directory_kind kind)
{
    struct directory table = {.kind = kind, .table = "tab", .range = RANGE_ALL};
    int shown[ROWS];
    struct caller caller = new_caller();
    unsigned begun = history_now(&test.history);
    list(&caller, &table, shown);
    unsigned ended = history_now(&test.history);
    check_row(2, shown[2], begun, ended);
    if (shown[0] == NOT_SHOWN) {
        check_row(0, NOT_SHOWN, begun, ended);
        check_row(1, NOT_SHOWN, begun, ended);
    } else {
        SCHEDULE_CHECK(may_be_there(0, begun, ended) || may_be_there(1, begun, ended));
    }
}

static void *read_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        struct entity entity = {0};
        struct caller caller = new_caller();
        if (schedule_random(2) == 0)
            wait_some_time();
        switch (schedule_random(5)) {
        case 0:
            list_partitions(DIRECTORY_FLAT);
            break;
        case 1:
            list_partitions(DIRECTORY_AUTO);
            break;
        case 2:
        case 3:
            list_rows();
            break;
        default:
            (void)look_up(schedule_random(ROWS), &caller, &entity);
            entity_finish(&entity);
        }
    }
    return NULL;
}

/* The account, the results that the callers got, and the service must agree. */
static void check_end(size_t row)
{
    struct entity entity = {0};
    struct caller caller = new_caller();
    struct page *page = NULL;
    int found = look_up(row, &caller, &entity);
    int r = table_store_get(&test.memory->store, "tab", rows[row].position, &caller.call, &page);
    SCHEDULE_CHECK(found == r);
    if (r == 0)
        SCHEDULE_CHECK(bytes_equal(page_text(entity.page, entity.row), page_text(page, 0)) &&
                       bytes_equal(page_etag(entity.page, entity.row), page_etag(page, 0)));
    entity_finish(&entity);
    page_unref(page);
}

static void body(void *context)
{
    (void)context;
    int parallelism = 1 + (int)schedule_random(2);
    test.account = new_account(parallelism, schedule_random(2) ? 1 : 512);
    run_threads(change_again_and_again, read_again_and_again);
    int64_t deadline_ms = clock_now_ms(&clock_system) + PATIENCE_MS;
    SCHEDULE_CHECK(account_end_changes(test.account, deadline_ms) == 0);
    for (size_t row = 0; row < ROWS; row++)
        check_end(row);
    account_destroy(test.account);
}

static void add_row(size_t row, int value)
{
    char text[100];
    history_add(&test.history, row, value);
    (void)snprintf(text, sizeof(text),
                   "{\n  \"PartitionKey\": \"%s\",\n  \"RowKey\": \"%s\",\n  \"value\": %d\n}\n",
                   rows[row].position.data, rows[row].position.data + 2, value);
    if (value > 0)
        memory_store_write(test.memory, &(struct write){.kind = WRITE_UPSERT_REPLACE,
                                                        .position = rows[row].position,
                                                        .text = bytes_of(text)});
}

static void run(uint64_t seed)
{
    begin_test(seed);
    test.queues = seed / 6 % 2;
    test.writes_back = test.queues && seed / 12 % 2;
    test.stalls = test.queues && !test.retries && seed / 24 % 2;
    test.lost = note_lost;
    memory_store_add_table(test.memory, "tab");
    for (size_t row = 0; row < ROWS; row++)
        add_row(row, (seed >> row) % 2 ? (int)row + 1 : 0);
    schedule_test(seed, body);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
