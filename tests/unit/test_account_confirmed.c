/* SPDX-License-Identifier: MIT */
/* A table that is dropped with all that is in it, because the process has confirmed that. */
#include "tests/unit/account_queueing.h"

#define OTHER 8 /* a process */

static void set_up_table(struct setup *setup, struct setup_options options)
{
    set_up_queue(setup, options);
    setup->memory->checks_tables = true;
    memory_store_add_table(setup->memory, "t");
}

static int confirm(struct setup *setup, const char *table)
{
    int r = account_confirm_drop(setup->account, caller_of(setup), table);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static int remove_table(struct setup *setup)
{
    int r =
        account_remove_directory(setup->account, caller_of(setup), PATH_OF(*PARTITIONS_OF("t")));
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static void a_confirmed_drop_is_one_request(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 3);
    setup.process = RM;
    assert_int_equal(list(&setup, TABLES, false), 1); /* which refuses an rmdir of a table */
    assert_int_equal(account_make_directory(setup.account, caller_of(&setup),
                                            PATH_OF(*ROWS_OF("local"), *PARTITIONS_OF("t"))),
                     0);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(remove_table(&setup), -EPERM);
    assert_int_equal(confirm(&setup, "t"), 0);
    assert_request_count(&setup, 0);
    assert_int_equal(remove_table(&setup), 0);
    assert_requests(&setup, "change of tables");
    memory_store_add_table(setup.memory, "t");
    assert_table_found(&setup, "t", -ENOENT);
    assert_int_equal(remove_table(&setup), -EPERM);
    memory_store_forget_diary(setup.memory);
    tear_down_queue(&setup);
}

static void it_is_of_one_process_and_one_table(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 3);
    setup.process = RM;
    memory_store_add_table(setup.memory, "other");
    assert_int_equal(confirm(&setup, "other"), 0);
    assert_int_equal(remove_table(&setup), -ENOTEMPTY);
    setup.process = OTHER;
    assert_int_equal(confirm(&setup, "t"), 0);
    setup.process = RM;
    assert_int_equal(remove_table(&setup), -ENOTEMPTY);
    setup.process = OTHER;
    memory_store_forget_diary(setup.memory);
    assert_int_equal(remove_table(&setup), 0);
    assert_requests(&setup, "change of tables");
    tear_down_queue(&setup);
}

static void it_ends_after_30_s(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 3);
    setup.process = RM;
    assert_int_equal(confirm(&setup, "t"), 0);
    setup.now_ms += 30000;
    assert_int_equal(remove_table(&setup), -ENOTEMPTY);
    tear_down_queue(&setup);
}

static void deletes_that_are_queued_go_with_the_table(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 10);
    begin_rm(&setup, 10);
    for (int row = 0; row < 8; row++)
        assert_int_equal(unlink_row(&setup, row), 0);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 7);
    assert_requests(&setup, "write p/00000");
    setup.process = OTHER;
    assert_int_equal(confirm(&setup, "t"), 0);
    assert_int_equal(remove_table(&setup), 0);
    assert_requests(&setup, "change of tables");
    assert_int_equal(metric(&setup, "tablefuse_queued"), 0);
    assert_int_equal(sync_all(&setup), 0);
    assert_requests(&setup, "");
    tear_down_queue(&setup);
}

static void texts_that_are_queued_go_with_the_table(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_write_back = true});
    setup.process = RM;
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("r"), "{}"), 0);
    assert_int_equal(confirm(&setup, "t"), 0);
    assert_int_equal(remove_table(&setup), 0);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 0);
    assert_int_equal(sync_all(&setup), 0);
    assert_lost("");
    assert_requests(&setup, "tables, change of tables");
    tear_down_queue(&setup);
}

static void a_drop_that_fails_leaves_what_is_queued(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_write_back = true,
                                                .faults = "fail=delete_table:1:403:X"});
    setup.process = RM;
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("r"), "{\"a\": 1}"), 0);
    assert_int_equal(confirm(&setup, "t"), 0);
    assert_int_equal(remove_table(&setup), -EACCES);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 1);
    assert_int_equal(sync_all(&setup), 0);
    assert_found(&setup, P_ROW("r"), TEXT_OF("r", "1"));
    tear_down_queue(&setup);
}

static void an_unknown_process_confirms_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    setup.process = NO_PROCESS;
    assert_int_equal(confirm(&setup, "t"), -EPERM);
    assert_string_equal(setup.caller.call.failure.message,
                        "the process that asks for it is not known");
    assert_string_equal(setup.caller.call.failure.advice,
                        "ask where the mount's process runs, not in a container");
    tear_down_queue(&setup);
}

static void nothing_is_confirmed_in_a_read_only_mount(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_read_only = true});
    setup.process = RM;
    assert_int_equal(confirm(&setup, "t"), -EROFS);
    tear_down_queue(&setup);
}

static void a_table_that_is_gone(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    setup.process = RM;
    assert_int_equal(confirm(&setup, "t"), 0);
    memory_store_remove_table(setup.memory, "t");
    assert_int_equal(remove_table(&setup), -ENOENT);
    tear_down_queue(&setup);
}

static void a_table_that_is_not_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){0});
    setup.process = RM;
    assert_table_found(&setup, "new", -ENOENT);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_table_found(&setup, "t", 0);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(confirm(&setup, "t"), 0);
    assert_request_count(&setup, 0); /* it is known to be there */
    assert_int_equal(confirm(&setup, "new"), -ENOENT);
    assert_string_equal(setup.caller.call.failure.message, "there is no such table: new");
    memory_store_add_table(setup.memory, "new");
    assert_table_found(&setup, "new", -ENOENT); /* which is young enough */
    memory_store_forget_diary(setup.memory);
    assert_int_equal(confirm(&setup, "new"), 0); /* but the service is asked */
    assert_request_count(&setup, 1);
    assert_table_found(&setup, "new", 0);
    assert_request_count(&setup, 0);
    tear_down_queue(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confirmed_drop_is_one_request),
        cmocka_unit_test(it_is_of_one_process_and_one_table),
        cmocka_unit_test(it_ends_after_30_s),
        cmocka_unit_test(deletes_that_are_queued_go_with_the_table),
        cmocka_unit_test(texts_that_are_queued_go_with_the_table),
        cmocka_unit_test(a_drop_that_fails_leaves_what_is_queued),
        cmocka_unit_test(an_unknown_process_confirms_nothing),
        cmocka_unit_test(nothing_is_confirmed_in_a_read_only_mount),
        cmocka_unit_test(a_table_that_is_gone),
        cmocka_unit_test(a_table_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
