/* Making and removing tables, and directories that exist in this mount alone. */
#include "tests/unit/account_writing.h"

/* A prefix directory, and a partition in it. */
#define LEVEL_OF_TABLE                                                                             \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = RANGE_ALL})
#define PREFIX_N                                                                                   \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = {B("N"), B("O")}})

static int make(struct setup *setup, const struct directory *directory,
                const struct directory *parent)
{
    int r = account_make_directory(setup->account, caller_of(setup), directory, parent);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static int take_away(struct setup *setup, const struct directory *directory,
                     const struct directory *parent, const struct directory *grandparent)
{
    int r =
        account_remove_directory(setup->account, caller_of(setup), directory, parent, grandparent);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static void set_up_table(struct setup *setup, struct setup_options options)
{
    set_up(setup, options);
    memory_store_add_table(setup->memory, "t");
}

static void a_created_table_is_there_without_a_request(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_table_found(&setup, "new", -ENOENT);
    assert_int_equal(list(&setup, TABLES, false), 1);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(make(&setup, PARTITIONS_OF("new"), TABLES), 0);
    assert_request_count(&setup, 1);
    assert_table_found(&setup, "new", 0);
    assert_int_equal(list(&setup, TABLES, false), 2);
    assert_int_equal(make(&setup, TABLES, NULL), -EEXIST);
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

static void a_table_that_another_client_made_is_seen_after_eexist(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_table_found(&setup, "new", -ENOENT);
    memory_store_add_table(setup.memory, "new");
    assert_int_equal(make(&setup, PARTITIONS_OF("new"), TABLES), -EEXIST);
    memory_store_forget_diary(setup.memory);
    assert_table_found(&setup, "new", 0);
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

static void a_bad_name_is_told_with_the_rule(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "1table", "with-dash", "umlaut\xc3\xa4"};
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(make(&setup, PARTITIONS_OF(names[i]), TABLES), -EINVAL);
        assert_string_equal(setup.caller.call.failure.message,
                            "a table's name is a letter and 2 to 62 letters or digits (ASCII)");
    }
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

static void a_table_that_is_being_deleted_is_not_waited_for(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "fail=create_table:1:409:TableBeingDeleted"});
    assert_int_equal(make(&setup, PARTITIONS_OF("new"), TABLES), -EBUSY);
    assert_string_equal(setup.caller.call.failure.advice,
                        "a dropped table's name is free after a minute");
    assert_int_equal(setup.now_ms, START_MS);
    tear_down(&setup);
}

static void a_partition_is_made_without_a_request(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_table_found(&setup, "t", 0);
    assert_partition_found(&setup, "p", -ENOENT);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(make(&setup, ROWS_OF("p"), PARTITIONS_OF("t")), 0);
    assert_partition_found(&setup, "p", 0);
    assert_int_equal(make(&setup, ROWS_OF("p"), PARTITIONS_OF("t")), -EEXIST);
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 0);
    assert_int_equal(take_away(&setup, ROWS_OF("p"), PARTITIONS_OF("t"), NULL), 0);
    assert_partition_found(&setup, "p", -ENOENT);
    assert_int_equal(take_away(&setup, ROWS_OF("p"), PARTITIONS_OF("t"), NULL), -ENOENT);
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

static void a_directory_with_an_entity_stays(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_int_equal(make(&setup, ROWS_OF("p"), PARTITIONS_OF("t")), 0);
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    assert_int_equal(take_away(&setup, ROWS_OF("p"), PARTITIONS_OF("t"), NULL), -ENOTEMPTY);
    assert_int_equal(account_unlink(setup.account, caller_of(&setup), address_of(P_ROW("x")),
                                    B("version-1"), ROWS_OF("p"), PARTITIONS_OF("t")),
                     0);
    assert_int_equal(take_away(&setup, ROWS_OF("p"), PARTITIONS_OF("t"), NULL), 0);
    assert_partition_found(&setup, "p", -ENOENT);
    tear_down(&setup);
}

static void prefixes_are_removed_from_below(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_int_equal(make(&setup, PREFIX_N, LEVEL_OF_TABLE), 0);
    assert_int_equal(make(&setup, ROWS_OF("New"), PREFIX_N), 0);
    assert_int_equal(take_away(&setup, PREFIX_N, LEVEL_OF_TABLE, NULL), -ENOTEMPTY);
    assert_int_equal(take_away(&setup, ROWS_OF("New"), PREFIX_N, LEVEL_OF_TABLE), 0);
    assert_directory_found(&setup, PREFIX_N, 0);
    assert_int_equal(take_away(&setup, PREFIX_N, LEVEL_OF_TABLE, NULL), 0);
    assert_directory_found(&setup, PREFIX_N, -ENOENT);
    tear_down(&setup);
}

/* `rm -r T/N+`, which has listed it: nobody made N+, and it must still answer when it is empty. */
static void what_contained_a_removed_directory_stays_until_its_rmdir(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    add_rows(&setup, "New", 1);
    assert_directory_found(&setup, PREFIX_N, 0);
    struct address address = address_of(B("New\0"
                                          "00000"));
    assert_int_equal(account_unlink(setup.account, caller_of(&setup), address, B("etag"),
                                    ROWS_OF("New"), PREFIX_N),
                     0);
    assert_int_equal(take_away(&setup, ROWS_OF("New"), PREFIX_N, LEVEL_OF_TABLE), 0);
    assert_directory_found(&setup, PREFIX_N, 0);
    assert_int_equal(take_away(&setup, PREFIX_N, LEVEL_OF_TABLE, NULL), 0);
    assert_directory_found(&setup, PREFIX_N, -ENOENT);
    tear_down(&setup);
}

static void what_no_key_can_be_is_refused(void **state)
{
    (void)state;
    struct setup setup;
    struct buffer lo = {.max = 2000};
    set_up_table(&setup, (struct setup_options){0});
    for (int i = 0; i < 513; i++)
        (void)buffer_append_char(&lo, 'k');
    (void)buffer_append_char(&lo, '\0');
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {buffer_bytes(&lo), B("l")}};
    assert_int_equal(make(&setup, &directory, PARTITIONS_OF("t")), -ENAMETOOLONG);
    directory.range = (struct range){B("p\0x"), B("p\0y")};
    assert_int_equal(make(&setup, &directory, ROWS_OF("p")), -EINVAL);
    assert_request_count(&setup, 0);
    memory_store_remove_table(setup.memory, "t");
    assert_int_equal(make(&setup, ROWS_OF("p"), PARTITIONS_OF("t")), -ENOENT);
    buffer_finish(&lo);
    tear_down(&setup);
}

static void an_empty_table_is_dropped_and_not_seen_any_more(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    memory_store_add_table(setup.memory, "tab");
    memory_store_add_table(setup.memory, "other");
    assert_table_found(&setup, "tab", 0);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("tab"), TABLES, NULL), 0);
    assert_request_count(&setup, 2);             /* is it empty? then the drop */
    memory_store_add_table(setup.memory, "tab"); /* the service still lists it */
    assert_table_found(&setup, "tab", -ENOENT);
    setup.now_ms += TTL_MS + 1;
    assert_table_found(&setup, "tab", -ENOENT);
    assert_int_equal(setup.caller.valid_ms, 0); /* the mask may end at any moment */
    assert_int_equal(list(&setup, TABLES, false), 1);
    memory_store_remove_table(setup.memory, "tab");
    assert_int_equal(make(&setup, PARTITIONS_OF("tab"), TABLES), 0);
    assert_table_found(&setup, "tab", 0);
    assert_int_equal(list(&setup, TABLES, false), 2);
    tear_down(&setup);
}

static void a_dropped_table_that_another_client_made_again_is_seen(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    memory_store_add_table(setup.memory, "tab");
    assert_int_equal(take_away(&setup, PARTITIONS_OF("tab"), TABLES, NULL), 0);
    memory_store_add_table(setup.memory, "tab");
    assert_int_equal(make(&setup, PARTITIONS_OF("tab"), TABLES), -EEXIST);
    assert_table_found(&setup, "tab", 0);
    tear_down(&setup);
}

static void a_table_that_is_not_empty_stays(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    assert_partition_found(&setup, "p", -ENOENT); /* known now, but not asked again */
    another_stores(&setup, P_ROW("x"), "other");
    memory_store_forget_diary(setup.memory);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), -ENOTEMPTY);
    assert_requests(&setup, "keys [ ~) 1");
    assert_table_found(&setup, "t", 0);
    another_client_writes(&setup, WRITE_DELETE, P_ROW("x"), "");
    assert_int_equal(make(&setup, ROWS_OF("q"), PARTITIONS_OF("t")), 0);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), -ENOTEMPTY);
    assert_int_equal(take_away(&setup, LEVEL_OF_TABLE, TABLES, NULL), -ENOTEMPTY);
    assert_request_count(&setup, 0);
    assert_int_equal(take_away(&setup, ROWS_OF("q"), PARTITIONS_OF("t"), NULL), 0);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), 0);
    tear_down(&setup);
}

static void the_end_of_a_table_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.faults = "fail=delete_table:1:403:X"});
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), -EACCES);
    assert_table_found(&setup, "t", 0);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), 0);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), -ENOENT);
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
    (void)state;
    struct setup setup;
    struct slow_store slow = {.setup = &setup};
    pthread_t thread;
    set_up_table(&setup, (struct setup_options){0});
    gate_store_let(setup.gate, 0);
    assert_int_equal(pthread_create(&thread, NULL, store_slowly, &slow), 0);
    while (gate_store_arrived(setup.gate) == 0)
        (void)usleep(500);
    assert_int_equal(take_away(&setup, PARTITIONS_OF("t"), TABLES, NULL), -ENOTEMPTY);
    gate_store_let(setup.gate, GATE_OPEN);
    (void)pthread_join(thread, NULL);
    assert_int_equal(slow.result, 0);
    assert_found(&setup, P_ROW("x"), "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\"\n}\n");
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_created_table_is_there_without_a_request),
        cmocka_unit_test(a_table_that_another_client_made_is_seen_after_eexist),
        cmocka_unit_test(a_bad_name_is_told_with_the_rule),
        cmocka_unit_test(a_table_that_is_being_deleted_is_not_waited_for),
        cmocka_unit_test(a_partition_is_made_without_a_request),
        cmocka_unit_test(a_directory_with_an_entity_stays),
        cmocka_unit_test(prefixes_are_removed_from_below),
        cmocka_unit_test(what_contained_a_removed_directory_stays_until_its_rmdir),
        cmocka_unit_test(what_no_key_can_be_is_refused),
        cmocka_unit_test(an_empty_table_is_dropped_and_not_seen_any_more),
        cmocka_unit_test(a_dropped_table_that_another_client_made_again_is_seen),
        cmocka_unit_test(a_table_that_is_not_empty_stays),
        cmocka_unit_test(the_end_of_a_table_that_is_refused_changes_nothing),
        cmocka_unit_test(a_table_with_a_store_under_way_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
