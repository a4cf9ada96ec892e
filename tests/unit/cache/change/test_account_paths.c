/* SPDX-License-Identifier: MIT */
/* Deletes by a process that has used the partition by another path: cache/who/path_aliases.h. */
#include "tests/unit/cache/account_writing.h"

#define RSYNC 7 /* a process */
#define FIND  8
#define LEVEL (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = RANGE_ALL})
#define PREFIX                                                                                     \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = {B("p"), B("q")}})
#define DIRECT    PATH_OF(*ROWS_OF("p"), *LEVEL)
#define BY_PREFIX PATH_OF(*ROWS_OF("p"), *PREFIX, *LEVEL)
#define FLAT      (&(struct directory_path){.steps = DIRECT->steps, .n = 2, .is_flat = true})

/* The process has used the partition by both paths. */
static void set_up_rows(struct setup *setup)
{
    set_up(setup, (struct setup_options){0});
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "p", 3);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 3);
    setup->process = RSYNC;
    account_use_path(setup->account, caller_of(setup), DIRECT);
    account_use_path(setup->account, caller_of(setup), BY_PREFIX);
    memory_store_forget_diary(setup->memory);
}

static int unlink_by(struct setup *setup, struct bytes position, const struct directory_path *path)
{
    int r = account_unlink(setup->account, caller_of(setup), address_of(position), B("etag"), path);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

static int rename_by(struct setup *setup, struct bytes to, const struct directory_path *path)
{
    const struct rename rename = {
        .from = address_of(P_ROW("00001")), .to = address_of(to), .begin = EDIT_NEW, .path = path};
    struct renamed renamed;
    int r = account_rename(setup->account, caller_of(setup), &rename, &renamed);
    assert_int_equal(setup->caller.call.failure.error, r);
    renamed_finish(&renamed);
    return r;
}

DEFINE_FIXTURE(rows, struct setup, set_up_rows(test), tear_down(test))

static void an_unlink_by_another_path_is_refused(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(unlink_by(setup, P_ROW("00001"), BY_PREFIX), -EBUSY);
    assert_non_null(strstr(setup->caller.call.failure.message, "by another path"));
    assert_non_null(strstr(setup->caller.call.failure.advice, "TABLE/.flat"));
    assert_int_equal(unlink_by(setup, P_ROW("00001"), DIRECT), -EBUSY);
    assert_request_count(setup, 0);
    assert_found(setup, P_ROW("00001"), "p|00001");
}

static void below_flat_it_is_made(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(unlink_by(setup, P_ROW("00001"), FLAT), 0);
    assert_requests(setup, "write p/00001");
}

static void another_process_is_not_refused(void **state)
{
    struct setup *setup = *state;
    setup->process = FIND;
    account_use_path(setup->account, caller_of(setup), BY_PREFIX);
    assert_int_equal(unlink_by(setup, P_ROW("00001"), BY_PREFIX), 0);
    setup->process = NO_PROCESS;
    account_use_path(setup->account, caller_of(setup), DIRECT);
    assert_int_equal(unlink_by(setup, P_ROW("00002"), BY_PREFIX), 0);
    assert_requests(setup, "write p/00001, write p/00002");
}

static void a_rename_out_of_the_partition_is_refused(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_OVER, P_ROW("00001"), "{\"a\": 1}"), 0);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(rename_by(setup, B("q\0z"), BY_PREFIX), -EBUSY);
    assert_request_count(setup, 0);
    assert_int_equal(rename_by(setup, P_ROW("00001"), BY_PREFIX), 0); /* one name, by two paths */
    assert_request_count(setup, 0);
    assert_int_equal(rename_by(setup, P_ROW("z"), BY_PREFIX), 0);
    assert_found(setup, P_ROW("00001"), NULL);
}

static void a_backup_in_the_partition_is_not_refused(void **state)
{
    struct setup *setup = *state;
    _cleanup_(entity_finish) struct entity masked = {0};
    assert_int_equal(account_mask(setup->account, caller_of(setup), address_of(P_ROW("00001")),
                                  BY_PREFIX, &masked),
                     0);
    assert_int_equal(account_delete_masked(setup->account, caller_of(setup),
                                           address_of(P_ROW("00001")),
                                           page_etag(masked.page, masked.row)),
                     0);
    assert_requests(setup, "write p/00001");
}

static void a_directory_that_is_empty_is_removed_by_any_path(void **state)
{
    struct setup *setup = *state;
    for (size_t i = 0; i < 3; i++) {
        static const struct bytes rows[] = {P_ROW("00000"), P_ROW("00001"), P_ROW("00002")};
        assert_int_equal(unlink_by(setup, rows[i], FLAT), 0);
    }
    memory_store_forget_diary(setup->memory);
    assert_int_equal(account_remove_directory(setup->account, caller_of(setup), BY_PREFIX), 0);
    assert_request_count(setup, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(rows, an_unlink_by_another_path_is_refused),
        TEST_WITH(rows, below_flat_it_is_made),
        TEST_WITH(rows, another_process_is_not_refused),
        TEST_WITH(rows, a_rename_out_of_the_partition_is_refused),
        TEST_WITH(rows, a_backup_in_the_partition_is_not_refused),
        TEST_WITH(rows, a_directory_that_is_empty_is_removed_by_any_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
