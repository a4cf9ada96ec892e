/* SPDX-License-Identifier: MIT */
#include "tests/contract/contract.h"

static struct bytes list_names(const char *only, struct table_names *names)
{
    struct continuation *next = NULL;
    buffer_init(&names->names, (size_t)1 << 20);
    do {
        struct call call = contract_call();
        struct continuation *after = TAKE_PTR(next);
        assert_int_equal(table_store_list_tables(contract.store, only, after, &call, names, &next),
                         0);
        continuation_destroy(after);
    } while (next);
    return buffer_bytes(&names->names);
}

static bool is_listed(const char *table, const char *only)
{
    struct table_names names;
    struct bytes rest = list_names(only, &names);
    bool found = false;
    while (rest.size > 0) {
        struct bytes name = bytes_of(rest.data);
        found |= bytes_equal(name, bytes_of(table));
        rest = bytes_skip(rest, name.size + 1);
    }
    buffer_finish(&names.names);
    return found;
}

static void a_table_is_created_listed_and_deleted(void **state)
{
    (void)state;
    char table[64], other[64];
    contract_name(table, "Mixed");
    contract_name(other, "other");
    struct call call = contract_call();
    assert_false(is_listed(table, NULL));
    assert_int_equal(table_store_create_table(contract.store, table, &call), 0);
    assert_int_equal(table_store_create_table(contract.store, other, &call), 0);
    assert_true(is_listed(table, NULL) && is_listed(other, NULL));
    assert_true(is_listed(table, table));
    assert_false(is_listed(other, table));
    char lower[64];
    memcpy(lower, table, sizeof(lower));
    lower[0] = 'm';
    assert_false(is_listed(lower, lower)); /* names are found in the spelling they have */
    assert_int_equal(table_store_delete_table(contract.store, table, &call), 0);
    assert_false(is_listed(table, NULL));
    assert_int_equal(table_store_delete_table(contract.store, other, &call), 0);
}

static void a_name_is_taken_in_any_case(void **state)
{
    const char *table = *state; /* begins with a lower-case t */
    char upper[64];
    (void)snprintf(upper, sizeof(upper), "T%s", table + 1);
    struct call call = contract_call();
    int r = table_store_create_table(contract.store, table, &call);
    contract_assert_refused(r, &call, -EEXIST, 409, "TableAlreadyExists");
    r = table_store_create_table(contract.store, upper, &call);
    contract_assert_refused(r, &call, -EEXIST, 409, "TableAlreadyExists");
}

static void what_is_no_table_is_not_found(void **state)
{
    (void)state;
    char table[64];
    contract_name(table, "none");
    struct call call = contract_call();
    int r = table_store_delete_table(contract.store, table, &call);
    contract_assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    struct query query = {.table = table, .range = RANGE_ALL, .top = 1000};
    struct answer answer;
    r = table_store_query(contract.store, &query, &call, &answer);
    contract_assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
    struct page *page;
    r = table_store_get(contract.store, table, contract_position("p", "r"), &call, &page);
    contract_assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
    r = contract_write(table, WRITE_INSERT, "p", "r", "", NO_LINES, NULL, &call);
    contract_assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
}

static void names_are_letters_and_digits(void **state)
{
    (void)state;
    static const struct {
        const char *name, *code;
    } cases[] = {
        {"a-b-c", "InvalidResourceName"},
        {"1abc", "InvalidResourceName"},
        {"ab", "OutOfRangeInput"},
        {"a234567890123456789012345678901234567890123456789012345678901234", "OutOfRangeInput"},
        {"tables", "InvalidInput"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call = contract_call();
        int r = table_store_create_table(contract.store, cases[i].name, &call);
        assert_int_equal(r, -EINVAL);
        if (call.failure.http_status == 0)
            continue; /* a store may see for itself, and send nothing */
        assert_int_equal(call.failure.http_status, 400);
        assert_string_equal(call.failure.code, cases[i].code);
    }
}

static void a_dropped_table_comes_back_empty(void **state)
{
    const char *table = *state;
    struct call call;
    size_t pages;
    assert_int_equal(contract_write(table, WRITE_INSERT, "p", "r", "", NO_LINES, NULL, &call), 0);
    assert_int_equal(table_store_delete_table(contract.store, table, &call), 0);
    assert_int_equal(table_store_create_table(contract.store, table, &call), 0);
    assert_bytes(contract_rows(table, RANGE_ALL, NULL, 1000, &pages), B(""));
}

const struct CMUnitTest contract_tables[] = {
    cmocka_unit_test(a_table_is_created_listed_and_deleted),
    cmocka_unit_test_setup_teardown(a_name_is_taken_in_any_case, contract_set_up,
                                    contract_tear_down),
    cmocka_unit_test_setup_teardown(what_is_no_table_is_not_found, contract_set_up,
                                    contract_tear_down),
    cmocka_unit_test(names_are_letters_and_digits),
    cmocka_unit_test_setup_teardown(a_dropped_table_comes_back_empty, contract_set_up,
                                    contract_tear_down),
};
const size_t contract_tables_count = ARRAY_SIZE(contract_tables);
