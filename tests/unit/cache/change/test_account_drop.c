/* SPDX-License-Identifier: MIT */
/* A process that deletes a whole table: what is held, what drops the table, and what keeps it. */
#include "cache/queue/pending_hold.h"
#include "cache/queue/pending_table.h"
#include "tests/unit/cache/dropping.h"

DEFINE_FIXTURE(table_queue, struct setup, set_up_table(test, (struct setup_options){0}),
               tear_down_queue(test))

static void a_whole_table_is_dropped_by_one_request(void **state)
{
    struct setup *setup = *state;
    remove_partitions(setup);
    assert_int_equal(remove_table(setup), 0);
    assert_requests(setup, "keys [ ~) 1000, change of tables");
    assert_table_found(setup, "t", -ENOENT);
}

static void the_rmdir_of_another_table_keeps_the_hold(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "u");
    remove_partition(setup, "p");
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("u"))), -ENOTEMPTY);
    assert_int_equal(metric(setup, "tablefuse_queued"), ROWS - 1);
    remove_partition(setup, "q");
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_table(setup), 0);
    assert_requests(setup, "keys [ ~) 1000, change of tables");
}

static void a_table_that_another_client_has_dropped_needs_no_delete(void **state)
{
    struct setup *setup = *state;
    remove_partitions(setup);
    memory_store_remove_table(setup->memory, "t");
    assert_int_equal(remove_table(setup), -ENOENT);
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_int_equal(sync_all(setup), 0);
    assert_requests(setup, "keys [ ~) 1000");
}

struct ending { /* of all queued deletes, when a query has been answered */
    struct setup *setup;
    bool is_armed;
};

static int end_deletes(void *context, bool is_change, int r, struct call *call)
{
    struct ending *ending = context;
    char position[16];
    (void)call;
    if (is_change || !ending->is_armed)
        return r;
    ending->is_armed = false;
    for (int i = 0; i < 2 * ROWS; i++) {
        int size =
            snprintf(position, sizeof(position), "%s%c%05d", partitions[i / ROWS], '\0', i % ROWS);
        const struct write write = {.kind = WRITE_DELETE, .position = {position, (size_t)size}};
        memory_store_write(ending->setup->memory, &write);
    }
    pending_forget_deletes(ending->setup->account->write.pending, "t");
    return r;
}

/* The rows are in the answer, and their deletes are not in the queue any more. */
static void deletes_that_end_during_the_look_are_no_rows(void **state)
{
    (void)state;
    struct setup setup;
    struct ending ending = {.setup = &setup};
    const struct store_hooks hooks = {.after = end_deletes, .context = &ending};
    set_up_table(&setup, (struct setup_options){.hooks = &hooks});
    remove_partitions(&setup);
    ending.is_armed = true;
    assert_int_equal(remove_table(&setup), 0);
    assert_requests(&setup, "keys [ ~) 1000, keys [ ~) 1000, change of tables");
    tear_down_queue(&setup);
}

static void what_another_client_adds_stays(void **state)
{
    struct setup *setup = *state;
    remove_partitions(setup);
    another_stores(setup, P_ROW("new"), "other");
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_table(setup), -ENOTEMPTY);
    assert_string_equal(setup->caller.call.failure.message, "the table has entities");
    assert_int_equal(sync_all(setup), 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_found(setup, P_ROW("new"), "other");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
}

static void what_another_client_changes_stays(void **state)
{
    struct setup *setup = *state;
    remove_partitions(setup);
    another_stores(setup, P_ROW("00003"), "younger");
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_table(setup), -ENOTEMPTY);
    assert_int_equal(sync_all(setup), -ESTALE); /* it tells what could not be deleted */
    assert_lost("unlink t p/00003 ESTALE;");
    assert_found(setup, P_ROW("00003"), "younger");
}

static void a_partition_that_stays_keeps_the_table(void **state)
{
    struct setup *setup = *state;
    remove_rows(setup, "p", ROWS - 1);
    assert_int_equal(metric(setup, "tablefuse_queued"), ROWS - 2);
    remove_rows(setup, "q", 1);
    assert_int_equal(sync_all(setup), 0);
    assert_int_equal(remove_table(setup), -ENOTEMPTY);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
}

/* The deletes that were asked for are sent. */
static void a_drop_that_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int error;
    } cases[] = {{"fail=delete_table:*:403:AuthorizationPermissionMismatch", -EACCES},
                 {"fail=query:2+:403:AuthorizationFailure", -EACCES},
                 {"fail=delete_table:*:409:TableBeingDeleted", -EBUSY}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_table(&setup, (struct setup_options){.faults = cases[i].faults});
        remove_partitions(&setup);
        assert_int_equal(remove_table(&setup), cases[i].error);
        assert_int_equal(sync_all(&setup), 0);
        assert_int_equal(metric(&setup, "tablefuse_queued"), 0);
        tear_down_queue(&setup);
    }
}

static void a_table_is_never_dropped_with_rows(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.never_drops_rows = true});
    remove_partitions(&setup);
    assert_int_equal(remove_table(&setup), 0);
    assert_request_count(&setup, 4); /* two batches, the look, Delete Table */
    tear_down_queue(&setup);
}

static void a_process_that_has_listed_the_account_drops_no_table(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(list(setup, TABLES, false), 1);
    remove_partitions(setup);
    assert_int_equal(remove_table(setup), -EPERM);
    assert_int_equal(sync_all(setup), 0);
    assert_table_found(setup, "t", 0);
}

static int no_room_calls;

static void count_no_room(void *context, const char *table)
{
    (void)context;
    assert_string_equal(table, "t");
    no_room_calls++;
}

static void a_queue_without_room_ends_the_hold(void **state)
{
    (void)state;
    struct setup setup;
    struct setup_options options = {.no_room = count_no_room};
    no_room_calls = 0;
    for (int calls = 0; calls < 2; calls++) {
        set_up_table(&setup, options);
        remove_partitions(&setup);
        assert_int_equal(no_room_calls, calls);
        options.pending_bytes = metric(&setup, "tablefuse_queued_bytes");
        assert_int_equal(remove_table(&setup), 0);
        tear_down_queue(&setup);
    }
}

static struct setup *waiting;

static bool let_a_second_pass(void *context)
{
    (void)context;
    waiting->now_ms += 1000;
    return false;
}

/* Nothing comes until the call gives up. */
static int answer_no_drop(struct memory_store *memory, size_t number, struct call *call)
{
    if (memory->diary[number - 1].what != ASKED_TABLE_CHANGE)
        return 0;
    waiting->now_ms = call->deadline_ms;
    return call_fail(call, -ETIMEDOUT, "no answer to Delete Table");
}

#define REMOVAL_MS INT64_C(30000)

/* Of what no answer comes to. The caller is patient enough for more than that. */
static void the_removal_of_a_table_ends_in_time(void **state)
{
    (void)state;
    static const struct {
        bool never_drops_rows, answers_reads;
        int error;
        int64_t took_ms;
        const char *message;
    } cases[] = {
        {false, false, -ETIMEDOUT, REMOVAL_MS / 5 * 4,
         "the service did not answer for 24 s while the entities of the table were read"},
        {true, false, -EBUSY, REMOVAL_MS, "queued changes are still being sent: 11"},
        {false, true, -ETIMEDOUT, REMOVAL_MS, "no answer to Delete Table"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_table(&setup, (struct setup_options){.never_drops_rows = cases[i].never_drops_rows});
        remove_partitions(&setup);
        waiting = &setup;
        setup.memory->fault = answer_no_drop;
        if (!cases[i].answers_reads)
            gate_store_let(setup.gate, 0);
        struct caller caller = *caller_of(&setup);
        int64_t began_ms = setup.now_ms;
        caller.end_ms = caller.call.deadline_ms = began_ms + REMOVAL_MS;
        caller.call.is_cancelled = cases[i].answers_reads ? NULL : let_a_second_pass;
        int r = account_remove_directory(setup.account, &caller, PATH_OF(*PARTITIONS_OF("t")));
        assert_int_equal(r, cases[i].error);
        assert_string_equal(caller.call.failure.message, cases[i].message);
        assert_int_equal(setup.now_ms - began_ms, cases[i].took_ms);
        gate_store_let(setup.gate, GATE_OPEN);
        assert_int_equal(sync_all(&setup), 0);
        tear_down_queue(&setup);
    }
}

/* To send the deletes would not change the answer. */
static void a_table_with_a_local_directory_waits_for_no_delete(void **state)
{
    struct setup *setup = *state;
    remove_rows(setup, "p", ROWS);
    memory_store_forget_diary(setup->memory);
    waiting = setup;
    gate_store_let(setup->gate, 0);
    struct caller caller = *caller_of(setup);
    caller.end_ms = caller.call.deadline_ms = setup->now_ms + REMOVAL_MS;
    caller.call.is_cancelled = let_a_second_pass;
    int r = account_remove_directory(setup->account, &caller, PATH_OF(*PARTITIONS_OF("t")));
    assert_int_equal(r, -ENOTEMPTY);
    assert_string_equal(caller.call.failure.message, "a directory of this mount is in it");
    assert_int_equal(metric(setup, "tablefuse_queued"), ROWS - 1);
    gate_store_let(setup->gate, GATE_OPEN);
    assert_int_equal(sync_all(setup), 0);
    assert_request_count(setup, 1);
}

/* The process FIND may drop the table, too, and has deleted nothing. */
static void a_hold_of_another_process_hides_no_row(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_ttl_0 = true});
    remove_rows(&setup, "p", ROWS);
    pending_hold_again(setup.account->write.pending, "t", setup.now_ms + 60000);
    setup.process = FIND;
    assert_int_equal(list(&setup, PARTITIONS_OF("t"), false), 1);
    const struct directory_path *path = PATH_OF(rows_of("x"), *PARTITIONS_OF("t"));
    assert_int_equal(account_make_directory(setup.account, caller_of(&setup), path), 0);
    another_stores(&setup, (struct bytes)BYTES_LITERAL("x\0new"), "other");
    memory_store_forget_diary(setup.memory);
    setup.now_ms += 30000; /* what is known is out of date */
    assert_int_equal(remove_at(&setup, path), -ENOTEMPTY);
    assert_request_count(&setup, 1);
    assert_int_equal(metric(&setup, "tablefuse_queued"), ROWS - 1);
    assert_int_equal(sync_all(&setup), 0);
    tear_down_queue(&setup);
}

/* The kernel keeps what it is told of a local directory, but for those of the table. */
static void a_hold_is_none_of_another_table(void **state)
{
    struct setup *setup = *state;
    static const char *const tables[] = {"t", "u"};
    memory_store_add_table(setup->memory, "u");
    remove_rows(setup, "p", ROWS);
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        struct directory x = rows_of("x");
        x.table = tables[i];
        const struct directory_path *path = PATH_OF(x, *PARTITIONS_OF(tables[i]));
        assert_int_equal(account_make_directory(setup->account, caller_of(setup), path), 0);
        assert_int_equal(account_find_directory(setup->account, caller_of(setup), &x), 0);
        assert_int_equal(setup->caller.valid_ms, i == 0 ? 0 : TTL_MS);
    }
    assert_int_equal(sync_all(setup), 0);
}

/* As far as one answer tells: the cache has lost what it knew. */
static void the_end_of_a_forgotten_partition_asks_for_what_is_left(void **state)
{
    struct setup *setup = *state;
    struct account *account = setup->account;
    remove_rows(setup, "p", ROWS);
    remove_rows(setup, "q", ROWS - 1);
    range_cache_drop_table(account->read.cache, "t",
                           stamp_from_now(&account->orders, setup->now_ms));
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("p"), *PARTITIONS_OF("t"))), 0);
    assert_requests(setup, "rows [p/ ~) 1000");
    assert_int_equal(remove_at(setup, PATH_OF(*ROWS_OF("q"), *PARTITIONS_OF("t"))), -ENOTEMPTY);
    assert_requests(setup, "");
    assert_int_equal(metric(setup, "tablefuse_queued"), 2 * ROWS - 2);
    assert_int_equal(sync_all(setup), 0);
}

/* However small the cache is: the rmdir of the table asks for all. */
static void the_end_of_a_partition_asks_nothing(void **state)
{
    (void)state;
    struct setup setup;
    enum { MANY = 5000 };
    set_up_queue(&setup, (struct setup_options){.cache_bytes = (size_t)256 << 10});
    setup.memory->checks_tables = true;
    memory_store_add_table(setup.memory, "t");
    add_rows(&setup, "p", MANY);
    begin_rm_of_table(&setup, 1);
    assert_int_equal(list(&setup, ROWS_OF("p"), false), MANY);
    for (int row = 0; row < MANY; row++)
        remove_row(&setup, "p", row);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(remove_at(&setup, PATH_OF(*ROWS_OF("p"), *PARTITIONS_OF("t"))), 0);
    assert_request_count(&setup, 0);
    assert_int_equal(metric(&setup, "tablefuse_queued"), MANY - 1);
    assert_int_equal(remove_table(&setup), 0);
    tear_down_queue(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table_queue, a_whole_table_is_dropped_by_one_request),
        TEST_WITH(table_queue, the_rmdir_of_another_table_keeps_the_hold),
        TEST_WITH(table_queue, a_table_that_another_client_has_dropped_needs_no_delete),
        cmocka_unit_test(deletes_that_end_during_the_look_are_no_rows),
        TEST_WITH(table_queue, what_another_client_adds_stays),
        TEST_WITH(table_queue, what_another_client_changes_stays),
        TEST_WITH(table_queue, a_partition_that_stays_keeps_the_table),
        cmocka_unit_test(a_drop_that_is_refused),
        cmocka_unit_test(a_table_is_never_dropped_with_rows),
        TEST_WITH(table_queue, a_process_that_has_listed_the_account_drops_no_table),
        cmocka_unit_test(a_queue_without_room_ends_the_hold),
        cmocka_unit_test(the_removal_of_a_table_ends_in_time),
        TEST_WITH(table_queue, a_table_with_a_local_directory_waits_for_no_delete),
        cmocka_unit_test(a_hold_of_another_process_hides_no_row),
        TEST_WITH(table_queue, a_hold_is_none_of_another_table),
        TEST_WITH(table_queue, the_end_of_a_forgotten_partition_asks_for_what_is_left),
        cmocka_unit_test(the_end_of_a_partition_asks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
