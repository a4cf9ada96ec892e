/* SPDX-License-Identifier: MIT */
/* Deletes that are queued: which ones, what is seen of them, and what ends them. */
#include "cache/queue/pending_queue.h"
#include "tests/unit/cache/account_queueing.h"

static void a_process_that_has_listed_deletes_in_batches(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 10);
    assert_int_equal(unlink_row(setup, 0), 0);
    assert_requests(setup, "write p/00000");
    for (int row = 1; row < 10; row++)
        assert_int_equal(unlink_row(setup, row), 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 9);
    assert_found(setup, P_ROW("00004"), NULL);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_request_count(setup, 0);
    assert_int_equal(sync_all(setup), 0);
    assert_requests(setup, "write p/00001 and p/00009");
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_found(setup, P_ROW("00004"), NULL);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_request_count(setup, 0);
}

static void other_processes_wait_for_the_first_answers(void **state)
{
    (void)state;
    struct setup setup;
    static const struct {
        uint64_t process;
        int at_once;
    } cases[] = {{NO_PROCESS, 20}, {RM, 16}}; /* DELETE_POLICY_FIRST */
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        set_up_queue(&setup, (struct setup_options){0});
        add_rows(&setup, "p", 20);
        setup.process = cases[i].process;
        for (int row = 0; row < 20; row++)
            assert_int_equal(unlink_row(&setup, row), 0);
        assert_int_equal(metric(&setup, "tablefuse_queued"), 20 - cases[i].at_once);
        assert_request_count(&setup, cases[i].at_once);
        assert_int_equal(sync_all(&setup), 0);
        assert_request_count(&setup, i);
        tear_down_queue(&setup);
    }
}

static void without_a_queue_each_delete_is_sent(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    begin_rm_of_new(&setup, 4);
    unlink_rows(&setup, 4);
    assert_request_count(&setup, 4);
    tear_down(&setup);
}

static void a_new_text_waits_for_the_queued_delete(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    unlink_rows(setup, 4);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(store_text(setup, EDIT_EXCLUSIVE, P_ROW("00002"), "{\"a\": 1}"), 0);
    assert_requests(setup, "write p/00001 and p/00003, write p/00002");
    assert_found(setup, P_ROW("00002"), TEXT_OF("00002", "1"));
    assert_found(setup, P_ROW("00003"), NULL);
    assert_request_count(setup, 0);
}

static void a_version_that_was_not_shown_stays(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    another_stores(setup, P_ROW("00002"), "younger");
    unlink_rows(setup, 4);
    assert_found(setup, P_ROW("00002"), NULL);
    assert_request_count(setup, 1);
    assert_int_equal(sync_all(setup), -ESTALE);
    assert_string_equal(setup->caller.call.failure.message,
                        "another client has changed the entity since it was shown: it is not "
                        "deleted");
    assert_lost("unlink t p/00002 ESTALE;");
    assert_requests(setup, "write p/00001 and p/00003, rows [p/00002 p/00003+) 1000, "
                           "write p/00001 and p/00003");
    assert_int_equal(sync_all(setup), 0); /* it was reported */
    assert_found(setup, P_ROW("00002"), "younger");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_request_count(setup, 0);
}

/* By another path the kernel may still show the version before, and so may a thread that has looked
 * the entity up before another one has stored it. */
static void a_version_that_this_mount_has_stored_is_deleted(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 5);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("00002"), "{\"a\": 1}"), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("00002"), "{\"a\": 2}"), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("00003"), "{\"a\": 1}"), 0);
    another_stores(setup, P_ROW("00003"), "younger"); /* that is still another client's change */
    memory_store_forget_diary(setup->memory);
    unlink_rows(setup, 5);
    assert_requests(setup, "write p/00000");
    assert_int_equal(sync_all(setup), -ESTALE);
    assert_lost("unlink t p/00003 ESTALE;");
    memory_store_forget_diary(setup->memory);
    assert_found(setup, P_ROW("00002"), NULL);
    assert_found(setup, P_ROW("00003"), "younger");
    assert_found(setup, P_ROW("00004"), NULL);
    assert_request_count(setup, 0);
}

/* With write-back: what was shown has no ETag, and another client may have taken its place since.
 */
static void what_was_not_stored_when_it_was_shown_is_deleted_at_once(void **state)
{
    (void)state;
    struct setup setup;
    set_up_queue(&setup, (struct setup_options){.is_write_back = true});
    begin_rm_of_new(&setup, 3);
    assert_int_equal(unlink_row(&setup, 0), 0);
    assert_int_equal(unlink_row(&setup, 1), 0);
    assert_int_equal(store_text(&setup, EDIT_EXCLUSIVE, P_ROW("new"), "{\"a\": 1}"), 0);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 2);
    another_stores(&setup, P_ROW("new"), "younger");
    memory_store_forget_diary(setup.memory);
    assert_int_equal(account_unlink(setup.account, caller_of(&setup), address_of(P_ROW("new")),
                                    (struct bytes){0}, PATH),
                     0);
    assert_lost("write t p/new EEXIST;");
    assert_requests(&setup, "write p/00001 and p/new, get p/new, write p/00001, "
                            "write p/new");
    assert_int_equal(metric(&setup, "tablefuse_queued"), 0);
    assert_int_equal(unlink_row(&setup, 2), 0); /* the others are queued as before */
    assert_int_equal(metric(&setup, "tablefuse_queued"), 1);
    assert_int_equal(sync_all(&setup), -EEXIST);
    tear_down_queue(&setup);
}

static int sync_row(struct setup *setup, struct bytes position)
{
    int r = account_sync_entity(setup->account, caller_of(setup), address_of(position));
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

/* As after a store that is sent at once: it was reported, and the next text wins. */
static void after_an_fsync_that_told_of_a_conflict_the_next_text_overwrites(void **state)
{
    (void)state;
    struct setup setup;
    set_up_queue(&setup, (struct setup_options){.is_write_back = true});
    add_rows(&setup, "p", 1);
    setup.process = RM;
    open_row(&setup, P_ROW("00000"));
    another_stores(&setup, P_ROW("00000"), "younger");
    assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00000"), "{\"a\": 1}"), 0);
    assert_int_equal(sync_row(&setup, P_ROW("00000")), -ESTALE);
    assert_lost("write t p/00000 ESTALE;");
    assert_found(&setup, P_ROW("00000"), "younger");
    assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00000"), "{\"a\": 2}"), 0);
    assert_int_equal(sync_row(&setup, P_ROW("00000")), 0);
    assert_found(&setup, P_ROW("00000"), TEXT_OF("00000", "2"));
    tear_down_queue(&setup);
}

/* So a process that may not delete gets the error of each file. */
static void after_a_failure_the_next_delete_is_sent_at_once(void **state)
{
    (void)state;
    struct setup setup;
    set_up_queue(&setup, (struct setup_options){.faults = "fail=batch:1:403:AuthorizationFailure"});
    begin_rm_of_new(&setup, 6);
    unlink_rows(&setup, 3);
    assert_int_equal(sync_all(&setup), -EACCES);
    assert_lost("unlink t p/00001 EACCES;unlink t p/00002 EACCES;");
    memory_store_forget_diary(setup.memory);
    assert_int_equal(unlink_row(&setup, 3), 0);
    assert_requests(&setup, "write p/00003");
    assert_int_equal(unlink_row(&setup, 4), 0); /* and one that succeeds is believed */
    assert_request_count(&setup, 0);
    assert_int_equal(sync_all(&setup), 0);
    tear_down_queue(&setup);
}

static _Atomic bool is_away;

static int be_away(struct memory_store *memory, size_t number, struct call *call)
{
    if (!is_away || memory->diary[number - 1].what != ASKED_WRITE)
        return 0;
    (void)call_fail(call, -EIO, "connection refused");
    call->failure.is_unanswered = true;
    return -EIO;
}

/* Nothing new is queued, so that the caller gets the answer. What is queued is sent later. */
static void while_the_service_is_away_nothing_is_queued(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 5);
    setup->memory->fault = be_away;
    unlink_rows(setup, 3);
    is_away = true;
    assert_int_equal(sync_all(setup), -EIO);
    assert_string_equal(setup->caller.call.failure.message, "connection refused");
    assert_int_equal(unlink_row(setup, 3), -EIO);
    assert_int_equal(metric(setup, "tablefuse_queued"), 2);
    assert_found(setup, P_ROW("00001"), NULL);
    assert_row_found(setup, "p", 3);
    is_away = false;
    while (sync_all(setup) < 0)
        setup->now_ms += PENDING_AGAIN_MIN_MS;
    assert_int_equal(unlink_row(setup, 3), 0);
    assert_int_equal(sync_all(setup), 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
}

/* `rm -r t/p` names the partition. */
static void a_directory_waits_for_the_deletes_in_it(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 4);
    add_rows(setup, "q", 1);
    begin_rm(setup, 4);
    unlink_rows(setup, 4);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH), 0);
    assert_requests(setup, "write p/00001 and p/00003");
    assert_partition_found(setup, "p", -ENOENT);
    assert_partition_found(setup, "q", 0);
}

/* `rm -r t` has listed t, and comes to its rmdir. */
static void a_directory_leaves_its_deletes_to_its_parent(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "p", 4);
    setup->process = RM;
    assert_int_equal(list(setup, PARTITIONS_OF("t"), false), 1);
    begin_rm(setup, 4);
    unlink_rows(setup, 4);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_at(setup, PATH), 0);
    assert_request_count(setup, 0);
    assert_int_equal(metric(setup, "tablefuse_queued"), 3);
    assert_int_equal(remove_at(setup, PATH_OF(*PARTITIONS_OF("t"))), 0);
    assert_requests(setup, "keys [ ~) 1000, change of tables"); /* with the three */
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
}

static void a_failed_delete_is_why_a_directory_is_not_empty(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    another_stores(setup, P_ROW("00002"), "younger");
    unlink_rows(setup, 4);
    assert_int_equal(remove_at(setup, PATH), -ENOTEMPTY);
    assert_string_equal(setup->caller.call.failure.message,
                        "a file in it: another client has changed the entity since it was shown: "
                        "it is not deleted");
    assert_int_equal(remove_at(setup, PATH), -ENOTEMPTY);
    assert_string_equal(setup->caller.call.failure.message, "entities are in it");
    assert_lost("unlink t p/00002 ESTALE;");
    assert_found(setup, P_ROW("00002"), "younger");
}

/* It goes with what another client has deleted, but no command has told that a text is lost. */
static void a_removed_directory_tells_no_lost_text(void **state)
{
    (void)state;
    for (int removes_table = 0; removes_table <= 1; removes_table++) {
        struct setup setup;
        const struct write gone = {.kind = WRITE_DELETE, .position = P_ROW("00000")};
        set_up_queue(&setup, (struct setup_options){.is_write_back = true});
        memory_store_add_table(setup.memory, "t");
        add_rows(&setup, "p", removes_table ? 1 : 2);
        setup.process = RM;
        if (!removes_table) /* and the directory is kept */
            assert_int_equal(unlink_row(&setup, 1), 0);
        open_row(&setup, P_ROW("00000"));
        assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00000"), "{\"a\": 1}"), 0);
        memory_store_write(setup.memory, &gone);
        assert_int_equal(remove_at(&setup, removes_table ? PATH_OF(*PARTITIONS_OF("t")) : PATH), 0);
        assert_lost("write t p/00000 ESTALE;");
        assert_int_equal(account_unreported_failures(setup.account), 1);
        assert_int_equal(sync_all(&setup), -ESTALE);
        assert_int_equal(account_unreported_failures(setup.account), 0);
        tear_down_queue(&setup);
    }
}

/* A text that is lost is not why the directory is not empty. */
static void a_directory_that_is_not_empty_tells_no_lost_text(void **state)
{
    (void)state;
    for (int removes_table = 0; removes_table <= 1; removes_table++) {
        struct setup setup;
        set_up_queue(&setup, (struct setup_options){.is_write_back = true});
        memory_store_add_table(setup.memory, "t");
        add_rows(&setup, "p", 1);
        setup.process = RM;
        open_row(&setup, P_ROW("00000"));
        another_stores(&setup, P_ROW("00000"), "younger");
        assert_int_equal(store_text(&setup, EDIT_OVER, P_ROW("00000"), "{\"a\": 1}"), 0);
        assert_int_equal(remove_at(&setup, removes_table ? PATH_OF(*PARTITIONS_OF("t")) : PATH),
                         -ENOTEMPTY);
        assert_string_equal(setup.caller.call.failure.message,
                            removes_table ? "the table has entities" : "entities are in it");
        assert_lost("write t p/00000 ESTALE;");
        assert_int_equal(sync_all(&setup), -ESTALE);
        tear_down_queue(&setup);
    }
}

static void what_is_left_at_the_end_is_told(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    unlink_rows(setup, 4);
    gate_store_let(setup->gate, gate_store_arrived(setup->gate)); /* nothing more is answered */
    assert_int_equal(account_end_changes(setup->account, setup->now_ms), 3);
    account_abandon_changes(setup->account);
    assert_lost(
        "unlink t p/00001 ETIMEDOUT;unlink t p/00002 ETIMEDOUT;unlink t p/00003 ETIMEDOUT;");
    assert_int_equal(account_unreported_failures(setup->account), 0);
    assert_int_equal(account_end_changes(setup->account, setup->now_ms), 0);
}

/* What fails at the end is reported by its number alone, as what has failed before. */
static void what_fails_at_the_end_is_not_told_before(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    another_stores(setup, P_ROW("00002"), "younger");
    unlink_rows(setup, 4);
    assert_int_equal(account_unreported_failures(setup->account), 0);
    assert_int_equal(account_end_changes(setup->account, setup->now_ms + PATIENCE_MS), 0);
    assert_int_equal(account_unreported_failures(setup->account), 1);
    assert_lost("unlink t p/00002 ESTALE;");
    assert_int_equal(sync_all(setup), -ESTALE);
    assert_int_equal(account_unreported_failures(setup->account), 0);
}

static void at_the_end_all_is_sent(void **state)
{
    struct setup *setup = *state;
    begin_rm_of_new(setup, 4);
    unlink_rows(setup, 4);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(account_end_changes(setup->account, setup->now_ms + PATIENCE_MS), 0);
    assert_requests(setup, "write p/00001 and p/00003");
}

/* Each deleted row alone would leave a page of some 400 bytes. */
static void many_deletes_leave_the_other_pages(void **state)
{
    (void)state;
    struct setup setup;
    enum { MANY = 5000 };
    set_up_queue(&setup, (struct setup_options){.cache_bytes = (size_t)400 << 10});
    add_rows(&setup, "p", MANY);
    add_rows(&setup, "q", 20);
    assert_int_equal(list(&setup, ROWS_OF("q"), false), 20);
    begin_rm(&setup, MANY);
    assert_int_equal(metric(&setup, "tablefuse_cache_evicted_total"), 0);
    unlink_rows(&setup, MANY);
    assert_int_equal(sync_all(&setup), 0);
    assert_int_equal(metric(&setup, "tablefuse_cache_evicted_total"), 0);
    assert_in_range(metric(&setup, "tablefuse_cache_pages"), 2, 8);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(list(&setup, ROWS_OF("q"), false), 20);
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 0);
    assert_request_count(&setup, 0);
    tear_down_queue(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account_queue, a_process_that_has_listed_deletes_in_batches),
        cmocka_unit_test(other_processes_wait_for_the_first_answers),
        cmocka_unit_test(without_a_queue_each_delete_is_sent),
        TEST_WITH(account_queue, a_new_text_waits_for_the_queued_delete),
        TEST_WITH(account_queue, a_version_that_was_not_shown_stays),
        TEST_WITH(account_queue, a_version_that_this_mount_has_stored_is_deleted),
        cmocka_unit_test(what_was_not_stored_when_it_was_shown_is_deleted_at_once),
        cmocka_unit_test(after_an_fsync_that_told_of_a_conflict_the_next_text_overwrites),
        cmocka_unit_test(after_a_failure_the_next_delete_is_sent_at_once),
        TEST_WITH(account_queue, while_the_service_is_away_nothing_is_queued),
        TEST_WITH(account_queue, a_directory_waits_for_the_deletes_in_it),
        TEST_WITH(account_queue, a_directory_leaves_its_deletes_to_its_parent),
        TEST_WITH(account_queue, a_failed_delete_is_why_a_directory_is_not_empty),
        cmocka_unit_test(a_removed_directory_tells_no_lost_text),
        cmocka_unit_test(a_directory_that_is_not_empty_tells_no_lost_text),
        TEST_WITH(account_queue, what_is_left_at_the_end_is_told),
        TEST_WITH(account_queue, what_fails_at_the_end_is_not_told_before),
        TEST_WITH(account_queue, at_the_end_all_is_sent),
        cmocka_unit_test(many_deletes_leave_the_other_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
