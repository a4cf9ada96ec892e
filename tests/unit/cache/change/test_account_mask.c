/* SPDX-License-Identifier: MIT */
/* An editor's backup: the entity is hidden here, and what takes its place is one request. */
#include "tests/unit/cache/change/account_renaming.h"

static char etag[32]; /* of the version that was masked last */

static int mask(struct setup *setup)
{
    struct entity entity = {0};
    int r = account_mask(setup->account, caller_of(setup), address_of(A), PATH, &entity);
    assert_int_equal(setup->caller.call.failure.error, r);
    if (r == 0)
        copy_etag(&entity, etag);
    entity_finish(&entity);
    return r;
}

static int delete_version(struct setup *setup, const char *version)
{
    int r =
        account_delete_masked(setup->account, caller_of(setup), address_of(A), bytes_of(version));
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static int delete_masked(struct setup *setup)
{
    return delete_version(setup, etag);
}

static int unlink_a(struct setup *setup)
{
    return account_unlink(setup->account, caller_of(setup), address_of(A), bytes_of(etag), PATH);
}

/* a is 1, and is masked. */
static void set_up_mask(struct setup *setup, struct setup_options options)
{
    set_up(setup, options);
    memory_store_add_table(setup->memory, "t");
    another_stores(setup, A, A_1);
    setup->process = 7;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(mask(setup), 0);
    assert_requests(setup, "");
}

/* What another client sees. */
static void assert_stored(struct setup *setup, const char *expected)
{
    struct page *page = NULL;
    struct call call = {.deadline_ms = setup->now_ms + PATIENCE_MS};
    int r = table_store_get(&setup->memory->store, "t", A, &call, &page);
    assert_int_equal(r, expected ? 0 : -ENOENT);
    if (expected)
        assert_bytes(page_text(page, 0), bytes_of(expected));
    page_unref(page);
    memory_store_forget_diary(setup->memory);
}

DEFINE_FIXTURE(mask, struct setup, set_up_mask(test, (struct setup_options){0}), tear_down(test))

static void it_is_hidden_here_and_stays_there(void **state)
{
    struct setup *setup = *state;
    assert_found(setup, A, NULL);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_int_equal(account_knows(setup->account, address_of(A)), 0);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_partition_found(setup, "p", 0); /* it is not gone with its last entity */
    assert_requests(setup, "");
    setup->now_ms += TTL_MS + 1;
    assert_found(setup, A, NULL);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 0);
    assert_stored(setup, A_1);
    assert_int_equal(mask(setup), -ENOENT);
}

static void unmasked_it_is_shown_without_a_request(void **state)
{
    struct setup *setup = *state;
    assert_false(account_unmask(setup->account, address_of(A), B("another")));
    assert_found(setup, A, NULL);
    assert_true(account_unmask(setup->account, address_of(A), bytes_of(etag)));
    assert_false(account_unmask(setup->account, address_of(A), bytes_of(etag)));
    assert_found(setup, A, A_1);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1);
    assert_requests(setup, "");
}

static void a_new_version_replaces_it_with_one_request(void **state)
{
    (void)state;
    static const enum edit_begin begins[] = {EDIT_NEW, EDIT_EXCLUSIVE, EDIT_OVER, EDIT_APPENDED};
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        struct setup setup;
        set_up_mask(&setup, (struct setup_options){0});
        assert_int_equal(store_text(&setup, begins[i], A, "{\"a\": 2}"), 0);
        assert_requests(&setup, "write p/a");
        assert_found(&setup, A, A_2);
        assert_stored(&setup, A_2);
        /* the backup is removed */
        assert_false(account_unmask(setup.account, address_of(A), bytes_of(etag)));
        assert_int_equal(delete_masked(&setup), 0);
        assert_requests(&setup, "");
        assert_found(&setup, A, A_2);
        tear_down(&setup);
    }
}

/* By a file that was opened before: other clients lose no property. */
static void what_is_appended_to_it_is_merged(void **state)
{
    struct setup *setup = *state;
    struct edit edit = {.address = address_of(A), .begin = EDIT_APPENDED, .text = B("{\"b\": 2}")};
    edit.snapshot = bytes_of(etag);
    assert_int_equal(store(setup, &edit, NULL), 0);
    assert_requests(setup, "write p/a");
    const char *merged = "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"a\",\n"
                         "  \"a\": 1,\n  \"b\": 2\n}\n";
    assert_found(setup, A, merged);
    assert_stored(setup, merged);
    assert_false(account_unmask(setup->account, address_of(A), bytes_of(etag)));
}

static void an_entity_that_is_renamed_replaces_it(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("b"), "{\"a\": 2}"), 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(rename_to(setup, P_ROW("b"), A, EDIT_NEW, A_2), 0);
    assert_requests(setup, "write p/a and p/b");
    assert_found(setup, A, A_2);
    assert_found(setup, P_ROW("b"), NULL);
    assert_int_equal(delete_masked(setup), 0);
    assert_requests(setup, "");
}

/* What was made is compared with what is there, not with what readers see of it. */
static void a_rename_whose_answer_is_lost_replaces_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up_mask(&setup, (struct setup_options){.faults = "lost=batch:1"});
    assert_int_equal(store_text(&setup, EDIT_NEW, P_ROW("b"), "{\"a\": 2}"), 0);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(rename_to(&setup, P_ROW("b"), A, EDIT_NEW, A_2), 0);
    assert_requests(&setup, "write p/a and p/b, get p/a, get p/b");
    assert_found(&setup, A, A_2);
    assert_found(&setup, P_ROW("b"), NULL);
    assert_false(account_unmask(setup.account, address_of(A), bytes_of(etag)));
    tear_down(&setup);
}

/* From another partition: what is stored over the masked version is shown, also where the old name
 * could not be deleted. */
static void half_a_rename_replaces_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up_mask(&setup, (struct setup_options){.faults = "fail=delete:1:403:AuthorizationFailure"});
    assert_int_equal(store_text(&setup, EDIT_NEW, B("q\0b"), "{\"a\": 2}"), 0);
    assert_int_equal(rename_to(&setup, B("q\0b"), A, EDIT_NEW, NULL), -EACCES);
    assert_found(&setup, A, A_2);
    assert_false(account_unmask(setup.account, address_of(A), bytes_of(etag)));
    tear_down(&setup);
}

static void the_change_of_another_client_is_not_replaced(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, A, A_3);
    assert_int_equal(store_text(setup, EDIT_NEW, A, "{\"a\": 2}"), -ESTALE);
    assert_found(setup, A, NULL); /* the editor removes what it wrote, and renames its backup */
    assert_true(account_unmask(setup->account, address_of(A), bytes_of(etag)));
    assert_found(setup, A, A_3);
}

static void a_version_that_the_process_has_not_read_is_not_masked(void **state)
{
    (void)state;
    for (int overwrites = 0; overwrites <= 1; overwrites++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.overwrites_conflicts = overwrites});
        another_stores(&setup, A, A_1);
        setup.process = 7;
        open_row(&setup, A);
        another_stores(&setup, A, A_3);
        setup.now_ms += TTL_MS + 1;
        assert_int_equal(mask(&setup), overwrites ? 0 : -ESTALE);
        assert_found(&setup, A, overwrites ? NULL : A_3);
        if (!overwrites)
            assert_int_equal(mask(&setup), 0); /* it has been reported */
        tear_down(&setup);
    }
}

static void deleted_it_is_gone_everywhere(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(delete_version(setup, "another"), 0);
    assert_requests(setup, "");
    assert_int_equal(delete_masked(setup), 0);
    assert_requests(setup, "write p/a");
    assert_found(setup, A, NULL);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_partition_found(setup, "p", 0);
    assert_requests(setup, "");
    assert_stored(setup, NULL);
}

static void a_delete_meets_another_client(void **state)
{
    (void)state;
    struct setup setup;
    set_up_mask(&setup, (struct setup_options){0});
    another_stores(&setup, A, A_3);
    assert_int_equal(delete_masked(&setup), -EBUSY);
    assert_requests(&setup, "write p/a, get p/a");
    assert_found(&setup, A, A_3);
    assert_int_equal(delete_masked(&setup), 0);
    assert_requests(&setup, "");
    tear_down(&setup);

    set_up_mask(&setup, (struct setup_options){0});
    another_client_writes(&setup, WRITE_DELETE, A, "");
    assert_int_equal(delete_masked(&setup), 0);
    assert_false(account_unmask(setup.account, address_of(A), bytes_of(etag)));
    tear_down(&setup);
}

static void a_delete_that_fails_leaves_the_mask(void **state)
{
    (void)state;
    struct setup setup;
    set_up_mask(&setup, (struct setup_options){.faults = "fail=delete:1:403:AuthorizationFailure"});
    assert_int_equal(delete_masked(&setup), -EACCES);
    assert_found(&setup, A, NULL);
    assert_int_equal(delete_masked(&setup), 0);
    assert_stored(&setup, NULL);
    tear_down(&setup);
}

static void an_empty_new_file_replaces_nothing(void **state)
{
    struct setup *setup = *state;
    struct edit edit = {
        .address = address_of(A), .begin = EDIT_EXCLUSIVE, .text = B("{}"), .is_blank = true};
    assert_int_equal(store(setup, &edit, NULL), 0);
    assert_requests(setup, "");
    assert_found(setup, A, A_1);
    assert_int_equal(store(setup, &edit, NULL), -EEXIST); /* without a mask it is as any */
    assert_int_equal(mask(setup), 0);
    another_client_writes(setup, WRITE_DELETE, A, "");
    setup->now_ms += TTL_MS + 1;
    assert_int_equal(store(setup, &edit, NULL), 0);
    assert_stored(setup, "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"a\"\n}\n");
}

/* A store whose answer was lost, then a removal of the new file: the old version stays, a new one
 * goes. */
static void what_is_unlinked_beside_a_mask(void **state)
{
    (void)state;
    struct setup setup;
    set_up_mask(&setup, (struct setup_options){0});
    assert_int_equal(unlink_a(&setup), 0);
    assert_requests(&setup, "get p/a");
    assert_true(account_unmask(setup.account, address_of(A), bytes_of(etag)));
    assert_found(&setup, A, A_1);
    tear_down(&setup);

    set_up_mask(&setup, (struct setup_options){.faults = "lost=write:1"});
    assert_true(store_text(&setup, EDIT_NEW, A, "{\"a\": 2}") < 0);
    assert_found(&setup, A, NULL);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(unlink_a(&setup), 0);
    assert_requests(&setup, "get p/a, write p/a");
    assert_false(account_unmask(setup.account, address_of(A), bytes_of(etag)));
    assert_stored(&setup, NULL);
    tear_down(&setup);
}

static void read_only_comes_first(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_read_only = true});
    assert_int_equal(mask(&setup), -EROFS);
    assert_int_equal(delete_version(&setup, "etag"), -EROFS);
    assert_requests(&setup, "");
    tear_down(&setup);
}

static void a_bad_row_has_no_backup(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    memory_store_write_bad(setup.memory, A, "{\"x\":[]}");
    assert_int_equal(mask(&setup), -EIO);
    assert_found(&setup, A, "{\"x\":[]}");
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(mask, it_is_hidden_here_and_stays_there),
        TEST_WITH(mask, unmasked_it_is_shown_without_a_request),
        cmocka_unit_test(a_new_version_replaces_it_with_one_request),
        TEST_WITH(mask, what_is_appended_to_it_is_merged),
        TEST_WITH(mask, an_entity_that_is_renamed_replaces_it),
        cmocka_unit_test(a_rename_whose_answer_is_lost_replaces_it),
        cmocka_unit_test(half_a_rename_replaces_it),
        TEST_WITH(mask, the_change_of_another_client_is_not_replaced),
        cmocka_unit_test(a_version_that_the_process_has_not_read_is_not_masked),
        TEST_WITH(mask, deleted_it_is_gone_everywhere),
        cmocka_unit_test(a_delete_meets_another_client),
        cmocka_unit_test(a_delete_that_fails_leaves_the_mask),
        TEST_WITH(mask, an_empty_new_file_replaces_nothing),
        cmocka_unit_test(what_is_unlinked_beside_a_mask),
        cmocka_unit_test(read_only_comes_first),
        cmocka_unit_test(a_bad_row_has_no_backup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
