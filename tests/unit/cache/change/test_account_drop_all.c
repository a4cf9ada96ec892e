/* SPDX-License-Identifier: MIT */
/* A table that is dropped with all that is in it, without a look. */
#include "tests/unit/cache/account_queueing.h"

#define OTHER 8 /* a process */

static void set_up_table(struct setup *setup, struct setup_options options)
{
    set_up_queue(setup, options);
    setup->memory->checks_tables = true;
    memory_store_add_table(setup->memory, "t");
}

static int drop(struct setup *setup, const char *table)
{
    int r = account_drop_table(setup->account, caller_of(setup), table);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

DEFINE_FIXTURE(table_queue, struct setup, set_up_table(test, (struct setup_options){0}),
               tear_down_queue(test))

static void a_drop_is_one_request(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    setup->process = RM;
    assert_int_equal(list(setup, TABLES, false), 1); /* which refuses an rmdir of a table */
    assert_int_equal(account_make_directory(setup->account, caller_of(setup),
                                            PATH_OF(*ROWS_OF("local"), *PARTITIONS_OF("t"))),
                     0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_table(setup), -EPERM);
    assert_request_count(setup, 0);
    assert_int_equal(drop(setup, "t"), 0);
    assert_requests(setup, "change of tables");
    memory_store_add_table(setup->memory, "t");
    assert_table_found(setup, "t", -ENOENT);
    assert_int_equal(remove_table(setup), -EPERM);
    memory_store_forget_diary(setup->memory);
}

static void an_unknown_process_may_drop(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    setup->process = NO_PROCESS;
    assert_int_equal(drop(setup, "t"), 0);
    assert_requests(setup, "change of tables");
}

static void deletes_that_are_queued_go_with_the_table(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 10);
    for (int row = 0; row < 8; row++)
        assert_int_equal(unlink_row(setup, row), 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 7);
    assert_requests(setup, "write p/00000");
    setup->process = OTHER;
    assert_int_equal(drop(setup, "t"), 0);
    assert_requests(setup, "change of tables");
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_int_equal(sync_all(setup), 0);
    assert_requests(setup, "");
}

static void texts_that_are_queued_go_with_the_table(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_write_back = true});
    setup.process = RM;
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("r"), "{}"), 0);
    assert_int_equal(drop(&setup, "t"), 0);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 0);
    assert_int_equal(sync_all(&setup), 0);
    assert_lost("");
    assert_requests(&setup, "change of tables");
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
    assert_int_equal(drop(&setup, "t"), -EACCES);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 1);
    assert_int_equal(sync_all(&setup), 0);
    assert_found(&setup, P_ROW("r"), TEXT_OF("r", "1"));
    tear_down_queue(&setup);
}

static void nothing_is_dropped_in_a_read_only_mount(void **state)
{
    (void)state;
    struct setup setup;
    set_up_table(&setup, (struct setup_options){.is_read_only = true});
    setup.process = RM;
    assert_int_equal(drop(&setup, "t"), -EROFS);
    assert_request_count(&setup, 0);
    tear_down_queue(&setup);
}

static void a_table_that_is_gone(void **state)
{
    struct setup *setup = *state;
    setup->process = RM;
    memory_store_remove_table(setup->memory, "t");
    assert_int_equal(drop(setup, "t"), -ENOENT);
}

static int find_now(struct setup *setup, const char *table)
{
    return account_find_table_now(setup->account, caller_of(setup), table);
}

static void a_table_that_is_not_there(void **state)
{
    struct setup *setup = *state;
    setup->process = RM;
    assert_table_found(setup, "new", -ENOENT);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_table_found(setup, "t", 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(find_now(setup, "t"), 0);
    assert_request_count(setup, 0); /* it is known to be there */
    assert_int_equal(find_now(setup, "new"), -ENOENT);
    memory_store_add_table(setup->memory, "new");
    assert_table_found(setup, "new", -ENOENT); /* which is young enough */
    memory_store_forget_diary(setup->memory);
    assert_int_equal(find_now(setup, "new"), 0); /* but the service is asked */
    assert_request_count(setup, 1);
    assert_table_found(setup, "new", 0);
    assert_request_count(setup, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table_queue, a_drop_is_one_request),
        TEST_WITH(table_queue, an_unknown_process_may_drop),
        TEST_WITH(table_queue, deletes_that_are_queued_go_with_the_table),
        cmocka_unit_test(texts_that_are_queued_go_with_the_table),
        cmocka_unit_test(a_drop_that_fails_leaves_what_is_queued),
        cmocka_unit_test(nothing_is_dropped_in_a_read_only_mount),
        TEST_WITH(table_queue, a_table_that_is_gone),
        TEST_WITH(table_queue, a_table_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
