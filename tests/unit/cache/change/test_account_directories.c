/* SPDX-License-Identifier: MIT */
/* Making and removing tables, and directories that exist in this mount alone. */
#include "tests/unit/cache/account_writing.h"

/* A prefix directory, and a partition in it. */
#define LEVEL_OF_TABLE                                                                             \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = RANGE_ALL})
#define PREFIX_N                                                                                   \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = {B("N"), B("O")}})

static int make(struct setup *setup, const struct directory_path *path)
{
    int r = account_make_directory(setup->account, caller_of(setup), path);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static void set_up_table(struct setup *setup, struct setup_options options)
{
    set_up(setup, options);
    memory_store_add_table(setup->memory, "t");
}

DEFINE_FIXTURE(table, struct setup, set_up_table(test, (struct setup_options){0}), tear_down(test))

static void a_created_table_is_there_without_a_request(void **state)
{
    struct setup *setup = *state;
    assert_table_found(setup, "new", -ENOENT);
    assert_int_equal(list(setup, TABLES, false), 1);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF("new"))), 0);
    assert_request_count(setup, 1);
    assert_table_found(setup, "new", 0);
    assert_int_equal(list(setup, TABLES, false), 2);
    assert_int_equal(make(setup, PATH_OF(*TABLES)), -EEXIST);
    assert_request_count(setup, 0);
}

static void a_table_that_another_client_made_is_seen_after_eexist(void **state)
{
    struct setup *setup = *state;
    assert_table_found(setup, "new", -ENOENT);
    memory_store_add_table(setup->memory, "new");
    assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF("new"))), -EEXIST);
    assert_string_equal(setup->caller.call.failure.advice,
                        "the names of tables ignore case: ls DIR shows how it is written");
    memory_store_forget_diary(setup->memory);
    assert_table_found(setup, "new", 0);
    assert_request_count(setup, 0);
}

static void a_bad_name_is_told_with_the_rule(void **state)
{
    struct setup *setup = *state;
    static const char *const names[] = {"a", "1table", "with-dash", "umlaut\xc3\xa4"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF(names[i]))), -EINVAL);
        assert_string_equal(setup->caller.call.failure.message,
                            "a table's name is a letter and 2 to 62 letters or digits (ASCII)");
    }
    assert_request_count(setup, 0);
}

static void a_table_that_is_being_deleted_is_not_waited_for(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "fail=create_table:1:409:TableBeingDeleted"});
    assert_int_equal(make(&setup, PATH_OF(*PARTITIONS_OF("new"))), -EBUSY);
    assert_string_equal(setup.caller.call.failure.advice,
                        "a dropped table's name is free after a minute");
    assert_int_equal(setup.now_ms, START_MS);
    tear_down(&setup);
}

static void a_partition_is_made_without_a_request(void **state)
{
    struct setup *setup = *state;
    assert_table_found(setup, "t", 0);
    assert_partition_found(setup, "p", -ENOENT);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(make(setup, PATH), 0);
    assert_partition_found(setup, "p", 0);
    assert_int_equal(make(setup, PATH), -EEXIST);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_int_equal(remove_at(setup, PATH), 0);
    assert_partition_found(setup, "p", -ENOENT);
    assert_int_equal(remove_at(setup, PATH), -ENOENT);
    assert_request_count(setup, 0);
}

static struct setup *between; /* where another process makes p by another path; NULL: none does */

/* The last look at whether there is such a directory (meson.build). */
bool __real_local_directories_has_below(struct local_directories *local,
                                        const struct directory *directory);
bool __wrap_local_directories_has_below(struct local_directories *local,
                                        const struct directory *directory);
bool __wrap_local_directories_has_below(struct local_directories *local,
                                        const struct directory *directory)
{
    bool has_below = __real_local_directories_has_below(local, directory);
    struct setup *setup = between;
    between = NULL;
    if (setup) {
        struct caller other = {.call = {.deadline_ms = INT64_MAX}, .patience_ms = PATIENCE_MS};
        const struct directory_path *path = PATH;
        assert_int_equal(account_make_directory(setup->account, &other, path), 0);
    }
    return has_below;
}

/* Scripts use mkdir as a lock. The kernel runs one mkdir of a parent directory at a time, but by
 * two paths the account may get two at once. */
static void one_of_two_concurrent_mkdirs_succeeds(void **state)
{
    struct setup *setup = *state;
    between = setup;
    assert_int_equal(make(setup, PATH_OF(*ROWS_OF("p"), *LEVEL_OF_TABLE)), -EEXIST);
    assert_null(between);
    assert_partition_found(setup, "p", 0);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("p"), *LEVEL_OF_TABLE)), 0);
    assert_partition_found(setup, "p", -ENOENT);
}

/* A partition of a table whose name is legal. */
static struct directory in_tab(const struct directory *directory)
{
    struct directory other = *directory;
    other.table = "tab";
    return other;
}

/* cp -r of a table of many partitions */
static void who_made_a_table_asks_for_no_partition_of_it(void **state)
{
    struct setup *setup = *state;
    struct directory table = *PARTITIONS_OF("tab"), p = in_tab(ROWS_OF("p"));
    struct directory q = in_tab(ROWS_OF("q"));
    setup->process = 7;
    assert_int_equal(make(setup, PATH_OF(table)), 0);
    memory_store_forget_diary(setup->memory);
    setup->now_ms += KEPT_MS - TTL_MS;
    assert_directory_found(setup, &q, -ENOENT);
    assert_int_equal(make(setup, PATH_OF(q, table)), 0);
    assert_directory_found(setup, &p, -ENOENT);
    assert_request_count(setup, 0);
    another_stores(setup, P_ROW("a"), "other");
    setup->process = 8; /* another one asks */
    assert_directory_found(setup, &p, 0);
}

static int repeat_once(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)number;
    call->repeats++;
    return 0;
}

/* Perhaps another client has made it, and its entities are in it. */
static void a_table_whose_creation_was_repeated_is_not_known_to_be_empty(void **state)
{
    struct setup *setup = *state;
    struct directory table = *PARTITIONS_OF("tab"), p = in_tab(ROWS_OF("p"));
    setup->memory->fault = repeat_once;
    assert_int_equal(make(setup, PATH_OF(table)), 0);
    setup->memory->fault = NULL;
    another_stores(setup, P_ROW("a"), "other");
    assert_directory_found(setup, &p, 0);
}

/* cp -r, which takes longer than a ttl */
static void who_made_a_directory_asks_for_no_new_name_in_it(void **state)
{
    struct setup *setup = *state;
    setup->process = 7;
    assert_int_equal(make(setup, PATH), 0);
    memory_store_forget_diary(setup->memory);
    setup->now_ms += KEPT_MS - TTL_MS;
    assert_found(setup, P_ROW("b"), NULL);
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, P_ROW("b"), "{}"), 0);
    assert_found(setup, P_ROW("a"), NULL);
    assert_request_count(setup, 1);
    setup->process = 8; /* another one asks */
    assert_found(setup, P_ROW("a"), NULL);
    assert_request_count(setup, 1);
}

static void a_directory_with_an_entity_stays(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(make(setup, PATH), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    assert_int_equal(remove_at(setup, PATH), -ENOTEMPTY);
    assert_int_equal(account_unlink(setup->account, caller_of(setup), address_of(P_ROW("x")),
                                    B("version-1"), PATH),
                     0);
    assert_int_equal(remove_at(setup, PATH), 0);
    assert_partition_found(setup, "p", -ENOENT);
}

static void prefixes_are_removed_from_below(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(make(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_int_equal(make(setup, PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), -ENOTEMPTY);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_directory_found(setup, PREFIX_N, 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_directory_found(setup, PREFIX_N, -ENOENT);
}

/* `rm -r T/N+` removes what it has listed, and then N+ itself. No mkdir has made N+, but it must
 * still exist when it is empty, for that rmdir. */
static void what_contained_a_removed_directory_stays_until_its_rmdir(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "New", 1);
    assert_directory_found(setup, PREFIX_N, 0);
    struct address address = address_of(ROW_AT("New", "00000"));
    assert_int_equal(account_unlink(setup->account, caller_of(setup), address, B("etag"),
                                    PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)),
                     0);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_directory_found(setup, PREFIX_N, 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_directory_found(setup, PREFIX_N, -ENOENT);
}

/* `rm T/N+/New/x; rmdir T/N+/New`, where x was the last row. The kernel looks up the path of rmdir
 * name by name, so N+ must exist as long as New does, although no mkdir has made it. */
static void what_leads_to_a_local_directory_is_there(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "New", 1);
    struct address address = address_of(ROW_AT("New", "00000"));
    assert_int_equal(account_unlink(setup->account, caller_of(setup), address, B("etag"),
                                    PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)),
                     0);
    setup->now_ms += TTL_MS + 1;
    assert_directory_found(setup, PREFIX_N, 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), -ENOTEMPTY);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("New"), *PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), 0);
    assert_directory_found(setup, PREFIX_N, -ENOENT);
    assert_int_equal(remove_at(setup, PATH_OF(*PREFIX_N, *LEVEL_OF_TABLE)), -ENOENT);
}

/* As any directory that a process made: other clients fill and empty it, and it stays. */
static void a_made_directory_stays_when_another_client_empties_it(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(make(setup, PATH), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    another_client_writes(setup, WRITE_DELETE, P_ROW("x"), "");
    setup->now_ms += TTL_MS + 1;
    assert_found(setup, P_ROW("x"), NULL);
    assert_partition_found(setup, "p", 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_int_equal(remove_at(setup, PATH), 0);
    assert_partition_found(setup, "p", -ENOENT);
    another_stores(setup, P_ROW("y"), "other"); /* it is another client's from now on */
    setup->now_ms += TTL_MS + 1;
    assert_partition_found(setup, "p", 0);
    another_client_writes(setup, WRITE_DELETE, P_ROW("y"), "");
    setup->now_ms += TTL_MS + 1;
    assert_partition_found(setup, "p", -ENOENT);
}

static void a_created_table_has_no_directory_of_an_earlier_one(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
    struct directory partition = *ROWS_OF("p");
    partition.table = "tab";
    assert_int_equal(make(setup, PATH_OF(partition, *PARTITIONS_OF("tab"))), 0);
    memory_store_remove_table(setup->memory, "tab"); /* by another client */
    setup->now_ms += TTL_MS + 1;
    assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
    assert_directory_found(setup, &partition, -ENOENT);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
}

static void what_no_key_can_be_is_refused(void **state)
{
    struct setup *setup = *state;
    _cleanup_(buffer_finish) struct buffer lo = {.max = 2000};
    for (int i = 0; i < 513; i++)
        (void)buffer_append_char(&lo, 'k');
    (void)buffer_append_char(&lo, '\0');
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {buffer_bytes(&lo), B("l")}};
    assert_int_equal(make(setup, PATH_OF(directory, *PARTITIONS_OF("t"))), -ENAMETOOLONG);
    directory.range = (struct range){B("p\0x"), B("p\0y")};
    assert_int_equal(make(setup, PATH_OF(directory, *ROWS_OF("p"))), -EINVAL);
    assert_request_count(setup, 0);
    memory_store_remove_table(setup->memory, "t");
    assert_int_equal(make(setup, PATH), -ENOENT);
}

/* The service deletes the table for a while, and lists it meanwhile. `faults`: of queries; the
 * first one is that of the drop. */
static void set_up_dropped(struct setup *setup, const char *faults)
{
    set_up(setup, (struct setup_options){.faults = faults});
    memory_store_add_table(setup->memory, "other");
    memory_store_add_table(setup->memory, "tab");
    memory_store_add_table(setup->memory, "zoo");
    assert_table_found(setup, "tab", 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
    assert_request_count(setup, 2); /* is it empty? then the drop */
    memory_store_add_table(setup->memory, "tab");
    assert_table_found(setup, "tab", -ENOENT);
    assert_request_count(setup, 0);
    setup->now_ms += TTL_MS + 1;
}

static void a_dropped_table_is_not_seen_while_it_is_being_deleted(void **state)
{
    (void)state;
    static const char *const answers[] = {"fail=query:2+:404:TableNotFound",
                                          "fail=query:2+:409:TableBeingDeleted",
                                          "fail=query:2+:403:AuthorizationPermissionMismatch"};
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct setup setup;
        set_up_dropped(&setup, answers[i]);
        for (int round = 0; round < 3; round++) {
            assert_table_found(&setup, "tab", -ENOENT);
            assert_requests(&setup, "tables"); /* and the query, which is refused */
            assert_int_equal(list(&setup, TABLES, false), 2);
            setup.now_ms += TTL_MS + 1;
            assert_int_equal(list(&setup, TABLES, false), 2);
            setup.now_ms += TTL_MS + 1;
            memory_store_forget_diary(setup.memory);
        }
        memory_store_remove_table(setup.memory, "tab");
        assert_int_equal(make(&setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
        assert_table_found(&setup, "tab", 0);
        assert_int_equal(list(&setup, TABLES, false), 3);
        tear_down(&setup);
    }
}

static void a_dropped_table_is_seen_when_another_client_has_made_it_again(void **state)
{
    (void)state;
    for (int is_listed = 0; is_listed <= 1; is_listed++) {
        struct setup setup;
        set_up_dropped(&setup, NULL);
        if (is_listed)
            assert_int_equal(list(&setup, TABLES, false), 3);
        assert_table_found(&setup, "tab", 0);
        assert_int_equal(setup.caller.valid_ms, TTL_MS);
        assert_int_equal(list(&setup, TABLES, false), 3);
        tear_down(&setup);
    }
}

/* When its deletion has ended, nothing is asked but what is asked of every name, and one read when
 * another client has made it again. */
static void a_table_that_is_deleted_needs_no_proof(void **state)
{
    (void)state;
    struct setup setup;
    set_up_dropped(&setup, NULL);
    memory_store_remove_table(setup.memory, "tab");
    for (int round = 0; round < 2; round++) {
        assert_table_found(&setup, "tab", -ENOENT);
        assert_requests(&setup, "tables");
        assert_table_found(&setup, "tab", -ENOENT);
        assert_request_count(&setup, 0);
        setup.now_ms += TTL_MS + 1;
    }
    memory_store_add_table(setup.memory, "tab");
    assert_table_found(&setup, "tab", 0);
    assert_requests(&setup, "tables, keys [ ~) 1");
    setup.now_ms += TTL_MS + 1;
    assert_table_found(&setup, "tab", 0);
    assert_requests(&setup, "tables");
    tear_down(&setup);
}

static void a_service_that_is_away_proves_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up_dropped(&setup, "fail=query:2:503:ServerBusy");
    int r = account_find_directory(setup.account, caller_of(&setup), PARTITIONS_OF("tab"));
    assert_true(r < 0 && r != -ENOENT);
    assert_table_found(&setup, "tab", 0); /* another client has made it again */
    tear_down(&setup);
}

static void a_dropped_table_that_another_client_made_again_is_seen_after_eexist(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "tab");
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("tab"))), 0);
    memory_store_add_table(setup->memory, "tab");
    assert_int_equal(make(setup, PATH_OF(*PARTITIONS_OF("tab"))), -EEXIST);
    assert_table_found(setup, "tab", 0);
}

static void a_table_that_is_not_empty_stays(void **state)
{
    struct setup *setup = *state;
    assert_partition_found(setup, "p", -ENOENT); /* known now, but not asked again */
    another_stores(setup, P_ROW("x"), "other");
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), -ENOTEMPTY);
    assert_requests(setup, "keys [ ~) 1000");
    assert_table_found(setup, "t", 0);
    another_client_writes(setup, WRITE_DELETE, P_ROW("x"), "");
    assert_int_equal(make(setup, PATH_OF(*ROWS_OF("q"), *PARTITIONS_OF("t"))), 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), -ENOTEMPTY);
    assert_int_equal(remove_at(setup, PATH_OF(*LEVEL_OF_TABLE)), -ENOTEMPTY);
    assert_request_count(setup, 0);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("q"), *PARTITIONS_OF("t"))), 0);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), 0);
}

/* rm -rf MNT */
static void who_has_listed_the_account_drops_no_table(void **state)
{
    struct setup *setup = *state;
    setup->process = 7;
    assert_int_equal(list(setup, TABLES, false), 1);
    for (int i = 0; i < 20; i++) { /* however many directories it lists then, and for how long */
        assert_int_equal(list(setup, i % 2 ? ROWS_OF("p") : ROWS_OF("q"), false), 0);
        setup->now_ms += KEPT_MS;
    }
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), -EPERM);
    assert_string_equal(setup->caller.call.failure.advice, "name the table: rmdir DIR/TABLE");
    assert_request_count(setup, 0);
    setup->process = 8; /* rmdir MNT/t, MNT/[a-z]* */
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), 0);
}

static void the_end_of_a_table_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.faults = "fail=delete_table:1:403:X"});
    assert_int_equal(remove_at(&setup, PATH_OF(*PARTITIONS_OF("t"))), -EACCES);
    assert_table_found(&setup, "t", 0);
    assert_int_equal(remove_at(&setup, PATH_OF(*PARTITIONS_OF("t"))), 0);
    assert_int_equal(remove_at(&setup, PATH_OF(*PARTITIONS_OF("t"))), -ENOENT);
    tear_down(&setup);
}

struct slow_store {
    struct setup *setup;
    int result;
};

static void *store_slowly(void *argument)
{
    struct slow_store *slow = argument;
    struct caller caller = {.call = {.deadline_ms = slow->setup->now_ms + PATIENCE_MS}};
    struct entity entity = {0};
    struct edit edit = {.address = address_of(P_ROW("x")), .begin = EDIT_NEW, .text = B("{}")};
    slow->result = account_store(slow->setup->account, &caller, &edit, &entity);
    entity_finish(&entity);
    return NULL;
}

static void a_table_with_a_store_under_way_stays(void **state)
{
    struct setup *setup = *state;
    struct slow_store slow = {.setup = setup};
    pthread_t thread;
    gate_store_let(setup->gate, 0);
    assert_int_equal(pthread_create(&thread, NULL, store_slowly, &slow), 0);
    while (gate_store_arrived(setup->gate) == 0)
        (void)usleep(500);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), -ENOTEMPTY);
    assert_int_equal(metric(setup, "tablefuse_changing"), 1);
    gate_store_let(setup->gate, GATE_OPEN);
    (void)pthread_join(thread, NULL);
    assert_int_equal(metric(setup, "tablefuse_changing"), 0);
    assert_int_equal(metric(setup, "tablefuse_changes_waiting"), 0);
    assert_int_equal(slow.result, 0);
    assert_found(setup, P_ROW("x"), "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\"\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table, a_created_table_is_there_without_a_request),
        TEST_WITH(table, a_table_that_another_client_made_is_seen_after_eexist),
        TEST_WITH(account, a_bad_name_is_told_with_the_rule),
        cmocka_unit_test(a_table_that_is_being_deleted_is_not_waited_for),
        TEST_WITH(table, a_partition_is_made_without_a_request),
        TEST_WITH(table, one_of_two_concurrent_mkdirs_succeeds),
        TEST_WITH(account, who_made_a_table_asks_for_no_partition_of_it),
        TEST_WITH(account, a_table_whose_creation_was_repeated_is_not_known_to_be_empty),
        TEST_WITH(table, who_made_a_directory_asks_for_no_new_name_in_it),
        TEST_WITH(table, a_directory_with_an_entity_stays),
        TEST_WITH(table, prefixes_are_removed_from_below),
        TEST_WITH(table, what_contained_a_removed_directory_stays_until_its_rmdir),
        TEST_WITH(table, what_leads_to_a_local_directory_is_there),
        TEST_WITH(table, a_made_directory_stays_when_another_client_empties_it),
        TEST_WITH(account, a_created_table_has_no_directory_of_an_earlier_one),
        TEST_WITH(table, what_no_key_can_be_is_refused),
        cmocka_unit_test(a_dropped_table_is_not_seen_while_it_is_being_deleted),
        cmocka_unit_test(a_dropped_table_is_seen_when_another_client_has_made_it_again),
        cmocka_unit_test(a_table_that_is_deleted_needs_no_proof),
        cmocka_unit_test(a_service_that_is_away_proves_nothing),
        TEST_WITH(account, a_dropped_table_that_another_client_made_again_is_seen_after_eexist),
        TEST_WITH(table, a_table_that_is_not_empty_stays),
        TEST_WITH(table, who_has_listed_the_account_drops_no_table),
        cmocka_unit_test(the_end_of_a_table_that_is_refused_changes_nothing),
        TEST_WITH(table, a_table_with_a_store_under_way_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
