/* SPDX-License-Identifier: MIT */
/* Accounts in format 1, which has no checksums, are upgraded when they are opened. */
#include "client/local/local_check.h"
#include "client/local/local_file.h"
#include "tests/unit/local_account.h"

#include <sys/time.h>

#define ROWS 2000

/* As tablefuse 0.1.0 made it. */
static void make_format_1(const char *path, int rows)
{
    char sql[2000];
    (void)snprintf(
        sql, sizeof(sql),
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) STRICT;"
        "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"
        " text BLOB NOT NULL, PRIMARY KEY (table_id, position)) STRICT, WITHOUT ROWID;"
        "CREATE TABLE account (last_timestamp INTEGER NOT NULL) STRICT;"
        "INSERT INTO account VALUES (17000000000000000);"
        "INSERT INTO tables VALUES (1, 'items'), (2, NULL), (3, 'empty');"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT %d)"
        " INSERT INTO entities SELECT 1, CAST('p' || char(0) || printf('%%06d', i) AS BLOB),"
        " 1000 + i,"
        " CAST(printf('{%%s  \"PartitionKey\": \"p\",%%s  \"RowKey\": \"%%06d\",%%s  \"A\": "
        "1%%s}%%s',"
        " char(10), char(10), i, char(10), char(10), char(10)) AS BLOB) FROM n;"
        "PRAGMA application_id = 0x74667573; PRAGMA user_version = 1",
        rows);
    (void)run_sql(path, sql);
}

static void assert_upgraded(const char *path, int rows)
{
    assert_int_equal(run_sql(path, "PRAGMA user_version"), 2);
    assert_int_equal(run_sql(path, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%\\_1%'"
                                   " ESCAPE '\\' AND name NOT LIKE 'sqlite_autoindex%'"),
                     0);
    assert_int_equal(run_sql(path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(path);
    assert_int_equal(count_all(store), rows);
    assert_row(store, "000007", "\"A\": 1");
    insert_row(store, "new", ""); /* greater than the last Timestamp of format 1 */
    assert_true(run_sql(path, "SELECT last_timestamp FROM account") > 17000000000000000);
}

static void format_1_is_upgraded(void **state)
{
    make_format_1(*state, ROWS);
    assert_int_equal(local_file_peek_format(*state), 1);
    assert_true(local_store_is_older(*state));
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities WHERE length(position) = 8"),
                     ROWS);
    table_store_destroy(open_account(*state));
    assert_upgraded(*state, ROWS);
    assert_false(local_store_is_older(*state));
    assert_int_equal(
        run_sql(*state, "SELECT count(*) FROM tables WHERE checksum = checksum(id, name)"),
        2); /* the dropped one was swept with the first change */
}

/* What was no entity stays as it is, and no answer. */
static void a_row_that_is_no_entity_is_kept_and_not_served(void **state)
{
    struct call call = some_call();
    struct page *page = NULL;
    make_format_1(*state, 10);
    (void)run_sql(*state, "UPDATE entities SET text = x'7B7D0A' WHERE timestamp = 1003;"
                          "UPDATE entities SET text = (SELECT text FROM entities WHERE"
                          " timestamp = 1006) WHERE timestamp = 1004;"
                          "UPDATE entities SET timestamp = -1 WHERE timestamp = 1005");
    struct table_store *store = open_account(*state);
    for (int i = 0; i < 10; i++) {
        _cleanup_(buffer_finish) struct buffer position;
        buffer_init(&position, 100);
        (void)buffer_append(&position, B("p\0"));
        (void)buffer_append_format(&position, "%06d", i);
        int r = table_store_get(store, "items", buffer_bytes(&position), &call, &page);
        assert_int_equal(r, i >= 3 && i <= 5 ? -EIO : 0);
        if (r == 0)
            page_unref(page);
    }
    table_store_destroy(store);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities"), 10);
}

static int open_it(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    if (local_store_create(path, false, &clock_system, &call, &store) < 0)
        return 1;
    int rows = count_all(store);
    table_store_destroy(store);
    return rows == ROWS ? 0 : 2;
}

static void several_processes_upgrade_one_file(void **state)
{
    pid_t children[4];
    make_format_1(*state, ROWS);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_child(open_it, *state);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        assert_int_equal(wait_for_child(children[i]), 0);
    assert_upgraded(*state, ROWS);
}

static struct itimerval
    life; /* of a child, in the processor's time: a busy machine leaves it no more */

static int open_it_for_life(const char *path)
{
    return setitimer(ITIMER_PROF, &life, NULL) == 0 ? open_it(path) : 1; /* its signal kills */
}

/* At any moment: each child lives a little longer, until one has come to its end. */
static void an_upgrade_survives_kills(void **state)
{
    make_format_1(*state, 20000);
    int format = 1, kills = 0;
    for (suseconds_t us = 500; format == 1; us = us * 5 / 4, kills++) {
        life.it_value.tv_usec = us;
        (void)wait_for_child(start_child(open_it_for_life, *state));
        format = (int)run_sql(*state, "PRAGMA user_version");
        assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities"), 20000);
    }
    assert_true(kills > 3);
    assert_upgraded(*state, 20000);
}

static void tell(void *context, const char *line)
{
    (void)line;
    ++*(int *)context;
}

static void a_check_upgrades_nothing(void **state)
{
    struct call call = some_call();
    struct local_check_report report;
    int told = 0;
    make_format_1(*state, ROWS);
    assert_int_equal(local_check_run(*state, &clock_system, &call, tell, &told, &report), 0);
    assert_false(report.has_checksums);
    assert_int_equal(report.entities, ROWS);
    assert_int_equal(told, 0);
    assert_int_equal(run_sql(*state, "PRAGMA user_version"), 1);
    (void)run_sql(*state, "UPDATE entities SET text = x'7B7D0A' WHERE timestamp = 1003");
    assert_int_equal(local_check_run(*state, &clock_system, &call, tell, &told, &report), 0);
    assert_int_equal(told, 1);
}

/* Root may write to everything: so as another user, in a process that tells what went wrong. */
static int read_as_nobody(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    struct page *page = NULL;
    struct table_names names;
    struct continuation *next = NULL;
    if (geteuid() == 0 && setuid(NOBODY) < 0)
        return 1;
    if (local_store_create(path, false, &clock_system, &call, &store) < 0)
        return 2;
    if (local_store_has_checksums(store) || count_all(store) != ROWS)
        return 3;
    if (table_store_get(store, "items",
                        B("p\0"
                          "000007"),
                        &call, &page) < 0 ||
        table_store_get(store, "items", B("p\0none"), &call, &page) != -ENOENT ||
        table_store_get(store, "none", B("p\0none"), &call, &page) != -ENOENT)
        return 4;
    buffer_init(&names.names, 1000);
    if (table_store_list_tables(store, NULL, NULL, &call, &names, &next) < 0 ||
        !bytes_equal(buffer_bytes(&names.names), B("empty\0items\0")))
        return 5;
    buffer_finish(&names.names);
    page_unref(page);
    table_store_destroy(store);
    return 0;
}

static void what_cannot_be_written_to_is_read_as_it_is(void **state)
{
    const char *path = *state;
    make_format_1(path, ROWS);
    give_to_nobody(path, 0400);
    assert_int_equal(wait_for_child(start_child(read_as_nobody, path)), 0);
    assert_int_equal(run_sql(path, "PRAGMA user_version"), 1);
}

#define PAGE_BYTES 4096

/* Zeroes a page with entities, or puts it in the place of another one. */
static void damage_page(const char *path, bool is_twice)
{
    static char first[PAGE_BYTES], page[PAGE_BYTES];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    bool has_first = false;
    while (fread(page, 1, PAGE_BYTES, file) == PAGE_BYTES) {
        bool is_leaf = page[0] == 0x0A && page[3] == 0 && page[4] > 10; /* of an index: cells */
        if (is_leaf && (has_first || !is_twice))
            break;
        if (is_leaf)
            memcpy(first, page, PAGE_BYTES);
        has_first |= is_leaf;
    }
    assert_int_equal(feof(file), 0);
    if (!is_twice)
        memset(first, 0, PAGE_BYTES);
    assert_int_equal(fseek(file, -PAGE_BYTES, SEEK_CUR), 0);
    assert_int_equal(fwrite(first, 1, PAGE_BYTES, file), PAGE_BYTES);
    assert_int_equal(fclose(file), 0);
}

static void assert_not_upgraded(const char *path, const char *reason)
{
    struct call call = some_call();
    struct table_store *store;
    struct page *page;
    struct local_check_report report;
    int told = 0;
    assert_int_equal(local_check_run(path, &clock_system, &call, tell, &told, &report), 0);
    assert_true(told > 0);
    assert_int_equal(local_store_create(path, false, &clock_system, &call, &store), -EIO);
    assert_string_equal(call.failure.message, reason);
    assert_non_null(call.failure.advice);
    assert_true(local_store_is_older(path));
    assert_int_equal(local_store_open_as_is(path, &clock_system, &call, &store), 0);
    assert_false(local_store_has_checksums(store));
    assert_int_equal(table_store_get(store, "items",
                                     B("p\0"
                                       "001999"),
                                     &call, &page),
                     0);
    page_unref(page);
    assert_int_equal(write_row(store, WRITE_INSERT, "new", "", "", &call, NULL), -EROFS);
    assert_int_equal(table_store_create_table(store, "new", &call), -EROFS);
    table_store_destroy(store);
    assert_true(local_store_is_older(path));
}

static void a_file_with_a_lost_page_is_read_as_it_is(void **state)
{
    make_format_1(*state, ROWS);
    damage_page(*state, false);
    assert_not_upgraded(*state, "database disk image is malformed");
}

static void a_file_with_a_page_that_is_there_twice_is_read_as_it_is(void **state)
{
    make_format_1(*state, ROWS);
    damage_page(*state, true);
    assert_not_upgraded(*state, "a table or an entity is there twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(format_1_is_upgraded),
        WITH_FOLDER(a_row_that_is_no_entity_is_kept_and_not_served),
        WITH_FOLDER(several_processes_upgrade_one_file),
        WITH_FOLDER(an_upgrade_survives_kills),
        WITH_FOLDER(a_check_upgrades_nothing),
        WITH_FOLDER(what_cannot_be_written_to_is_read_as_it_is),
        WITH_FOLDER(a_file_with_a_lost_page_is_read_as_it_is),
        WITH_FOLDER(a_file_with_a_page_that_is_there_twice_is_read_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
