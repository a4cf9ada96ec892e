/* SPDX-License-Identifier: MIT */
/* Appended texts: each is merged into what is stored. */
#include "tests/unit/cache/account_writing.h"

#define X P_ROW("x")

static int append(struct setup *setup, const char *text)
{
    return store_text(setup, EDIT_APPENDED, X, text);
}

static void to_nothing_it_is_stored_alone(void **state)
{
    struct setup *setup = *state;
    assert_found(setup, X, NULL);
    assert_request_count(setup, 1);
    assert_int_equal(append(setup, "{\"a\": 1}"), 0);
    assert_request_count(setup, 1);
    assert_found(setup, X, TEXT_OF("x", "1"));
    assert_request_count(setup, 0);
}

static void what_it_does_not_name_stays(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{\"a\": 1, \"b\": 2}"), 0);
    assert_request_count(setup, 1);
    assert_int_equal(append(setup, "{\"b\": true} {\"c\": \"x\"}{\"c\": \"y\"}\n"), 0);
    assert_request_count(setup, 1);
    assert_found(setup, X,
                 "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n  \"a\": 1,\n"
                 "  \"b\": true,\n  \"c\": \"y\"\n}\n");
    assert_request_count(setup, 0);
    assert_int_equal(append(setup, "{\"a\": null}"), -EINVAL);
    assert_string_equal(setup->caller.call.failure.message,
                        "line 1, column 7: a: null, but a merge cannot remove a property");
    assert_request_count(setup, 0);
}

static void another_clients_change_stays(void **state)
{
    struct setup *setup = *state;
    setup->process = 7;
    assert_int_equal(store_text(setup, EDIT_NEW, X, "{\"a\": 1}"), 0);
    open_row(setup, X);
    another_stores(setup, X, TEXT_OF("x", "9"));
    memory_store_forget_diary(setup->memory);
    assert_int_equal(append(setup, "{\"b\": 2}"), 0); /* refused, read, and merged again */
    assert_request_count(setup, 3);
    assert_found(setup, X,
                 "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n  \"a\": 9,\n"
                 "  \"b\": 2\n}\n");
    /* the process has not seen what it was merged into */
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{}"), -ESTALE);
}

static void who_has_read_it_knows_what_came_of_it(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, X, TEXT_OF("x", "9"));
    setup->process = 7;
    open_row(setup, X);
    assert_int_equal(append(setup, "{\"b\": 2}"), 0);
    assert_int_equal(store_text(setup, EDIT_OVER, X, "{}"), 0);
    assert_int_equal(append(setup, "{\"a\": 3}"), 0);
    assert_found(setup, X, TEXT_OF("x", "3"));
}

static void a_name_that_another_took_or_left(void **state)
{
    struct setup *setup = *state;
    assert_found(setup, X, NULL);
    another_stores(setup, X, TEXT_OF("x", "9"));
    memory_store_forget_diary(setup->memory);
    assert_int_equal(append(setup, "{\"b\": 2}"), 0); /* EEXIST, read, merged */
    assert_request_count(setup, 3);
    another_client_writes(setup, WRITE_DELETE, X, "");
    memory_store_forget_diary(setup->memory);
    assert_int_equal(append(setup, "{\"a\": 4}"), 0); /* gone, read, inserted */
    assert_request_count(setup, 3);
    assert_found(setup, X, TEXT_OF("x", "4"));
}

/* Removes the row after a write that another client's change refused. */
static int remove_after_refusal(void *context, bool is_change, int r, struct call *call)
{
    (void)call;
    if (is_change && r < 0)
        another_client_writes(context, WRITE_DELETE, X, "");
    return r;
}

static void what_is_deleted_before_it_is_read_again(void **state)
{
    (void)state;
    for (int is_there = 0; is_there < 2; is_there++) {
        struct setup setup;
        const struct store_hooks hooks = {.after = remove_after_refusal, .context = &setup};
        set_up(&setup, (struct setup_options){.hooks = &hooks});
        if (is_there)
            assert_int_equal(store_text(&setup, EDIT_NEW, X, "{\"a\": 1}"), 0);
        else
            assert_found(&setup, X, NULL);
        another_stores(&setup, X, TEXT_OF("x", "9"));
        memory_store_forget_diary(setup.memory);
        assert_int_equal(append(&setup, "{\"a\": 2}"), 0);
        assert_request_count(&setup, 3); /* refused, read, inserted */
        assert_found(&setup, X, TEXT_OF("x", "2"));
        tear_down(&setup);
    }
}

/* A value that its type does not allow stays refused, until what is appended names it. */
static void a_bad_value_is_mended_or_nothing_is_stored(void **state)
{
    struct setup *setup = *state;
    another_stores(setup, X,
                   "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\",\n"
                   "  \"a@odata.type\": \"Edm.Guid\",\n  \"a\": \"none\"\n}\n");
    assert_int_equal(append(setup, "{\"b\": 2}"), -EINVAL);
    assert_string_equal(setup->caller.call.failure.message, "a: no Edm.Guid");
    assert_request_count(setup, 1); /* it was read */
    assert_int_equal(append(setup, "{\"a\": 1}"), 0);
    assert_request_count(setup, 1);
    assert_found(setup, X, TEXT_OF("x", "1"));
}

static void a_bad_row_takes_no_merge(void **state)
{
    struct setup *setup = *state;
    static const char json[] = "{\"PartitionKey\":\"p\",\"RowKey\":\"x\",\"a\":1,\"a\":2}";
    memory_store_write_bad(setup->memory, X, json);
    assert_int_equal(append(setup, "{\"a\": 1}"), -EIO);
    assert_string_equal(setup->caller.call.failure.message,
                        "what the service has cannot be understood: a property that occurs twice: "
                        "a");
    assert_request_count(setup, 1);
    assert_found(setup, X, json);

    assert_int_equal(store_text(setup, EDIT_OVER, X, "{\"a\": 1}"), 0);
    memory_store_write_bad(setup->memory, X, json); /* it is met where the Replace was refused */
    memory_store_forget_diary(setup->memory);
    assert_int_equal(append(setup, "{\"a\": 1}"), -EIO);
    assert_request_count(setup, 2);
    assert_found(setup, X, json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, to_nothing_it_is_stored_alone),
        TEST_WITH(account, what_it_does_not_name_stays),
        TEST_WITH(account, another_clients_change_stays),
        TEST_WITH(account, who_has_read_it_knows_what_came_of_it),
        TEST_WITH(account, a_name_that_another_took_or_left),
        cmocka_unit_test(what_is_deleted_before_it_is_read_again),
        TEST_WITH(account, a_bad_value_is_mended_or_nothing_is_stored),
        TEST_WITH(account, a_bad_row_takes_no_merge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
