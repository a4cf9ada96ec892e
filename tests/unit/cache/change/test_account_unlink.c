/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/account_writing.h"

static int unlink_row(struct setup *setup, struct bytes position, struct bytes etag)
{
    int r = account_unlink(setup->account, caller_of(setup), address_of(position), etag, PATH);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static void a_deleted_entity_is_gone_at_once(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 3);
    assert_request_count(setup, 1);
    assert_int_equal(unlink_row(setup, P_ROW("00001"), B("etag")), 0);
    assert_request_count(setup, 1);
    assert_found(setup, P_ROW("00001"), NULL);
    assert_found(setup, P_ROW("00002"), "p|00002");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2);
    assert_request_count(setup, 0);
}

static void an_emptied_partition_stays_until_its_rmdir(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "p", 1);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_int_equal(unlink_row(setup, P_ROW("00000"), B("etag")), 0);
    memory_store_forget_diary(setup->memory);
    assert_partition_found(setup, "p", 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_int_equal(account_remove_directory(setup->account, caller_of(setup), PATH), 0);
    assert_partition_found(setup, "p", -ENOENT);
    assert_request_count(setup, 0);
}

static void another_version_is_read_and_deleted(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    another_stores(setup, P_ROW("00000"), "other");
    assert_int_equal(unlink_row(setup, P_ROW("00000"), B("etag")), 0);
    assert_request_count(setup, 3);
    assert_found(setup, P_ROW("00000"), NULL);
    assert_request_count(setup, 0);
}

static void an_entity_that_is_gone_is_done(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    assert_row_found(setup, "p", 0);
    another_client_writes(setup, WRITE_DELETE, P_ROW("00000"), "");
    assert_int_equal(unlink_row(setup, P_ROW("00000"), B("etag")), 0);
    assert_found(setup, P_ROW("00000"), NULL);
}

static void in_a_table_that_is_being_deleted_it_is_gone(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "fail=delete:*:409:TableBeingDeleted"});
    add_rows(&setup, "p", 1);
    assert_row_found(&setup, "p", 0);
    assert_int_equal(unlink_row(&setup, P_ROW("00000"), B("etag")), 0);
    assert_int_equal(setup.caller.call.failure.error, 0);
    assert_found(&setup, P_ROW("00000"), NULL);
    assert_request_count(&setup, 1); /* of assert_row_found */
    tear_down(&setup);
}

static void a_refused_delete_deletes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "fail=delete:*:403:AuthorizationFailure"});
    add_rows(&setup, "p", 1);
    assert_row_found(&setup, "p", 0);
    assert_int_equal(unlink_row(&setup, P_ROW("00000"), B("etag")), -EACCES);
    assert_row_found(&setup, "p", 0);
    assert_request_count(&setup, 1);
    tear_down(&setup);
}

static struct setup *changing;

/* Another client is faster each time, and time passes. */
static int change_first(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    if (memory->diary[number - 1].what == ASKED_WRITE)
        another_stores(changing, P_ROW("00000"), "other");
    changing->now_ms += PATIENCE_MS / 10;
    return 0;
}

static void an_entity_that_changes_all_the_time_is_given_up(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    changing = setup;
    setup->memory->fault = change_first;
    assert_int_equal(unlink_row(setup, P_ROW("00000"), B("etag")), -ETIMEDOUT);
    assert_string_equal(setup->caller.call.failure.message, "other clients keep changing it");
    setup->memory->fault = NULL;
    assert_found(setup, P_ROW("00000"), "other");
}

static void a_lost_answer_is_reported(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "lost=delete:1"});
    add_rows(&setup, "p", 2);
    assert_row_found(&setup, "p", 0);
    assert_true(unlink_row(&setup, P_ROW("00000"), B("etag")) < 0);
    assert_true(setup.caller.call.failure.is_ambiguous);
    memory_store_forget_diary(setup.memory);
    assert_found(&setup, P_ROW("00000"), NULL);
    assert_request_count(&setup, 0);
    tear_down(&setup);
}

static void a_process_that_deletes_it_has_not_read_the_next_one(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    setup->process = 7;
    open_row(setup, P_ROW("00000"));
    assert_int_equal(unlink_row(setup, P_ROW("00000"), B("etag")), 0);
    another_stores(setup, P_ROW("00000"), "other");
    assert_int_equal(store_text(setup, EDIT_OVER, P_ROW("00000"), "{}"), 0);
}

static void what_is_known_to_be_there_is_told_without_a_request(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    assert_int_equal(account_knows(setup->account, address_of(P_ROW("x"))), 0);
    assert_found(setup, P_ROW("x"), NULL);
    assert_int_equal(account_knows(setup->account, address_of(P_ROW("x"))), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(account_knows(setup->account, address_of(P_ROW("x"))), 1);
    setup->now_ms += TTL_MS + 1;
    assert_int_equal(account_knows(setup->account, address_of(P_ROW("x"))), 0);
    assert_request_count(setup, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, what_is_known_to_be_there_is_told_without_a_request),
        TEST_WITH(account, a_deleted_entity_is_gone_at_once),
        TEST_WITH(account, an_emptied_partition_stays_until_its_rmdir),
        TEST_WITH(account, another_version_is_read_and_deleted),
        TEST_WITH(account, an_entity_that_is_gone_is_done),
        cmocka_unit_test(in_a_table_that_is_being_deleted_it_is_gone),
        cmocka_unit_test(a_refused_delete_deletes_nothing),
        TEST_WITH(account, an_entity_that_changes_all_the_time_is_given_up),
        cmocka_unit_test(a_lost_answer_is_reported),
        TEST_WITH(account, a_process_that_deletes_it_has_not_read_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
