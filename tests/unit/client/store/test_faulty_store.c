/* SPDX-License-Identifier: MIT */
/* What the stores of tests do to batches: other clients between two requests, and partitions that
 * take no more. */
#include "tests/unit/client/store/retrying_fixture.h"

static const struct write deletes[] = {
    {.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("etag"), .text = B("")},
    {.kind = WRITE_DELETE, .position = B("p\0s"), .if_match = B("etag"), .text = B("")},
    {.kind = WRITE_DELETE, .position = B("p\0t"), .if_match = B("etag"), .text = B("")},
};

static const struct write upserts[] = {
    {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0r"), .text = B("{\n}\n")},
    {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0s"), .text = B("{\n}\n")},
    {.kind = WRITE_UPSERT_REPLACE, .position = B("q\0s"), .text = B("{\n}\n")},
    {.kind = WRITE_UPSERT_REPLACE, .position = B("q\0t"), .text = B("{\n}\n")},
};

static void begin(struct setup *setup, const char *rules)
{
    set_up(setup, rules);
    setup->memory->checks_tables = true;
    memory_store_add_strings(setup->memory, "p", "s");
    memory_store_add_strings(setup->memory, "p", "t");
}

static int write(struct setup *setup, const struct write *writes, size_t n, struct call *call)
{
    struct write_result results[4];
    *call = (struct call){.deadline_ms = setup->now_ms + 60000};
    return table_store_write(setup->store, "one", writes, n, call, results);
}

static void another_client_deletes_a_row(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    begin(&setup, "gone=batch:1:3");
    assert_int_equal(write(&setup, deletes, 3, &call), -ENOENT);
    assert_int_equal(call.failure.operation, 2);
    assert_false(call.failure.is_ambiguous);
    assert_int_equal(write(&setup, deletes, 2, &call), 0);
    assert_int_equal(setup.memory->asked, 1 + 2); /* the other client's, and ours */
}

static void another_client_changes_a_row(void **state)
{
    (void)state;
    static const struct write row = {
        .kind = WRITE_UPSERT_REPLACE, .position = B("p\0s"), .text = B("{\n  \"n\": 1\n}\n")};
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    struct page *page;
    begin(&setup, "changed=*:2:2");
    memory_store_write(setup.memory, &row);
    struct write writes[] = {deletes[0], deletes[1], deletes[2]};
    writes[1].if_match = B("version-1");
    assert_int_equal(write(&setup, &upserts[2], 2, &call), 0); /* the first batch */
    assert_int_equal(write(&setup, writes, 3, &call), -ESTALE);
    assert_int_equal(call.failure.operation, 1);
    call = (struct call){.deadline_ms = 60000};
    assert_int_equal(table_store_get(setup.store, "one", row.position, &call, &page), 0);
    assert_bytes(page_text(page, 0), B("{\n  \"Rival\": true,\n  \"n\": 1\n}\n"));
    page_unref(page);
}

static void another_client_drops_the_table(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    begin(&setup, "dropped=batch:2");
    assert_int_equal(write(&setup, deletes, 2, &call), 0);
    assert_int_equal(write(&setup, upserts, 2, &call), -ENOENT);
    assert_string_equal(call.failure.code, "TableNotFound");
    assert_int_equal(write(&setup, upserts, 2, &call), -ENOENT);
}

/* The row of the repetition is gone when the answer of the first attempt was lost. */
static void rules_meet_in_one_request(void **state)
{
    (void)state;
    struct setup setup;
    struct call call;
    begin(&setup, "lost=batch:1,gone=batch:1:2");
    assert_int_equal(write(&setup, deletes, 3, &call), -ENOENT);
    assert_int_equal(call.failure.operation, 1);
    assert_false(call.failure.is_ambiguous); /* p/r is as it was */
    table_store_destroy(setup.store);
    begin(&setup, "lost=batch:1,gone=batch:2:2"); /* it was made before */
    assert_int_equal(write(&setup, deletes, 3, &call), 0);
    table_store_destroy(setup.store);
}

static void faults_of_one_partition_leave_the_others(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    begin(&setup, "partition=q,fail=batch:2:403:AuthorizationFailure");
    assert_int_equal(write(&setup, upserts, 2, &call), 0);
    assert_int_equal(write(&setup, &upserts[2], 2, &call), 0);
    assert_int_equal(write(&setup, upserts, 2, &call), 0);
    assert_int_equal(write(&setup, &upserts[2], 2, &call), -EACCES);
    assert_int_equal(write(&setup, &upserts[2], 2, &call), 0);
}

static void a_partition_takes_so_many_rows(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    begin(&setup, "throttle=3:1000");
    assert_int_equal(write(&setup, upserts, 2, &call), 0);
    assert_int_equal(write(&setup, &upserts[2], 2, &call), 0); /* another partition */
    assert_int_equal(call.repeats, 0);
    assert_int_equal(write(&setup, upserts, 1, &call), 0);
    assert_int_equal(call.repeats, 0);
    assert_int_equal(setup.now_ms, 0);
    assert_int_equal(write(&setup, upserts, 2, &call), 0); /* after a while */
    assert_true(call.repeats > 0);
    assert_true(setup.now_ms >= 1000);
    assert_int_equal(setup.memory->asked, 4);
}

#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define TEN     "0123456789"

static void rules_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "gone=batch:1",  "gone=batch:1:0",  "gone=nothing:1:1", "changed=batch:x:1",
        "dropped=batch", "throttle=0:1000", "throttle=5",       "partition=" HUNDRED,
    };
    struct memory_store *memory = memory_store_create();
    struct table_store *faulty;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        assert_int_equal(faulty_store_create(&memory->store, &clock_system, rules[i], &faulty),
                         -EINVAL);
    table_store_destroy(&memory->store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_client_deletes_a_row),
        cmocka_unit_test(another_client_changes_a_row),
        cmocka_unit_test(another_client_drops_the_table),
        cmocka_unit_test(rules_meet_in_one_request),
        cmocka_unit_test(faults_of_one_partition_leave_the_others),
        cmocka_unit_test(a_partition_takes_so_many_rows),
        cmocka_unit_test(rules_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
