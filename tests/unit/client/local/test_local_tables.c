/* SPDX-License-Identifier: MIT */
#include "tests/unit/local_account.h"

static int create(struct table_store *store, const char *table, struct call *call)
{
    *call = some_call();
    return table_store_create_table(store, table, call);
}

static int drop(struct table_store *store, const char *table, struct call *call)
{
    *call = some_call();
    return table_store_delete_table(store, table, call);
}

/* Each name with a blank after it. */
static void assert_listed(struct table_store *store, const char *only, const char *expected)
{
    struct table_names names;
    struct continuation *next = NULL;
    struct call call = some_call();
    buffer_init(&names.names, 1000);
    assert_int_equal(table_store_list_tables(store, only, NULL, &call, &names, &next), 0);
    assert_null(next);
    for (size_t i = 0; i < names.names.size; i++) {
        if (names.names.data[i] == '\0')
            names.names.data[i] = ' ';
    }
    assert_bytes(buffer_bytes(&names.names), bytes_of(expected));
    buffer_finish(&names.names);
}

static void names_are_found_in_any_case_and_keep_their_own(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    struct call call;
    assert_listed(store, NULL, "");
    assert_int_equal(create(store, "Packages", &call), 0);
    assert_int_equal(create(store, "orders", &call), 0);
    assert_int_equal(create(store, "Zoo", &call), 0);
    assert_listed(store, NULL, "orders Packages Zoo ");
    assert_listed(store, "Packages", "Packages ");
    assert_listed(store, "packages", ""); /* a name is listed as it is spelled */
    assert_listed(store, "none", "");
    int r = create(store, "pACKAGES", &call);
    assert_refused(r, &call, -EEXIST, 409, "TableAlreadyExists");
    assert_int_equal(drop(store, "ORDERS", &call), 0);
    assert_listed(store, NULL, "Packages Zoo ");
    assert_int_equal(create(store, "Orders", &call), 0);
    assert_listed(store, NULL, "Orders Packages Zoo ");
}

static void names_are_letters_and_digits(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    struct call call;
    static const struct {
        const char *name, *code;
    } cases[] = {
        {"", "OutOfRangeInput"},
        {"ab", "OutOfRangeInput"},
        {"a234567890123456789012345678901234567890123456789012345678901234", "OutOfRangeInput"},
        {"1abc", "InvalidResourceName"},
        {"a-bc", "InvalidResourceName"},
        {"a bc", "InvalidResourceName"},
        {"a\xC3\xA9z", "InvalidResourceName"},
        {"tables", "InvalidInput"},
        {"TABLES", "InvalidInput"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int r = create(store, cases[i].name, &call);
        assert_refused(r, &call, -EINVAL, 400, cases[i].code);
        r = drop(store, cases[i].name, &call);
        assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    }
    assert_int_equal(create(store, "a1B", &call), 0);
    assert_int_equal(
        create(store, "a23456789012345678901234567890123456789012345678901234567890123", &call), 0);
}

static void what_is_not_there_is_not_found(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    struct call call;
    struct page *page;
    int r = drop(store, "items", &call);
    assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    r = count_rows(store, whole_table(), NULL, &call);
    assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
    r = table_store_get(store, "items", B("p\0r"), &call, &page);
    assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
    r = write_row(store, WRITE_UPSERT_REPLACE, "r", "", "", &call, NULL);
    assert_refused(r, &call, -ENOENT, 404, "TableNotFound");
    assert_int_equal(create(store, "items", &call), 0);
    r = table_store_get(store, "items", B("p\0r"), &call, &page);
    assert_refused(r, &call, -ENOENT, 404, "ResourceNotFound");
    assert_int_equal(count_all(store), 0);
}

static void tables_are_listed_in_pages(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    struct table_names names;
    struct continuation *next = NULL;
    int pages = 0;
    (void)run_sql(*state, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT"
                          " 2500) INSERT INTO tables SELECT i, printf('t%06d', i),"
                          " checksum(i, printf('t%06d', i)) FROM n;"
                          "INSERT INTO tables VALUES (3000, NULL, checksum(3000))");
    buffer_init(&names.names, TEXT_MAX_BYTES);
    do {
        struct call call = some_call();
        struct continuation *after = TAKE_PTR(next);
        assert_int_equal(table_store_list_tables(store, NULL, after, &call, &names, &next), 0);
        continuation_destroy(after);
        pages++;
        assert_int_equal(names.names.size, MIN(pages * 1000, 2500) * 8);
    } while (next);
    assert_int_equal(pages, 3);
    for (int i = 0; i < 2500; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "t%06d", i + 1);
        assert_string_equal(names.names.data + (size_t)i * 8, name);
    }
    buffer_finish(&names.names);
    buffer_init(&names.names, 5000); /* too few */
    struct call call = some_call();
    assert_int_equal(table_store_list_tables(store, NULL, NULL, &call, &names, &next), -EFBIG);
    assert_int_equal(names.names.size, 0);
    buffer_finish(&names.names);
    struct continuation *after; /* of a query */
    assert_int_equal(continuation_create(B("rows1!p\0r\x01"), BYTES_LITERAL(""), &after), 0);
    int r = table_store_list_tables(store, NULL, after, &call, &names, &next);
    assert_refused(r, &call, -EINVAL, 400, "InvalidInput");
    continuation_destroy(after);
}

static void a_dropped_table_s_rows_are_swept_away(void **state)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    struct call call;
    insert_rows(store, "", 1000, "\"A\": 1");
    assert_int_equal(drop(store, "items", &call), 0);
    assert_true(run_sql(*state, "SELECT count(*) FROM entities") > 0);
    assert_listed(store, NULL, "");
    assert_int_equal(create(store, "items", &call), 0);
    assert_int_equal(count_all(store), 0); /* another table of that name */
    insert_rows(store, "", 500, "\"A\": 2");
    assert_int_equal(count_all(store), 500);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities"), 500);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM tables"), 1);
    assert_row(store, "000499", "\"A\": 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(names_are_found_in_any_case_and_keep_their_own),
        WITH_FOLDER(names_are_letters_and_digits),
        WITH_FOLDER(what_is_not_there_is_not_found),
        WITH_FOLDER(tables_are_listed_in_pages),
        WITH_FOLDER(a_dropped_table_s_rows_are_swept_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
