/* SPDX-License-Identifier: MIT */
/* A file whose schema is not an account's is refused before SQLite prepares a statement that names
 * anything in it: by a mount, with and without `create`, as it is, and by a check. */
#include "client/local/local_check.h"
#include "tests/unit/local_account.h"

#define SQL_BYTES         ((size_t)64 << 10)
#define MEMORY_MAX        ((sqlite3_int64)32 << 20) /* the chains below would take gigabytes */
#define BEHIND_SQLITE     "PRAGMA writable_schema = ON;"
#define AS_AN_ACCOUNT     "PRAGMA application_id = 0x74667573; PRAGMA user_version = "
#define NOT_AN_ACCOUNT    "not an account of tablefuse: "
#define NOT_AS_IT_MAKES   " in its schema is not as tablefuse makes it"
#define FORMATS           2
#define NO_MEMORY_MESSAGE "out of memory, or not an account of tablefuse"

static const char format_1[] =
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) STRICT;"
    "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"
    " text BLOB NOT NULL, PRIMARY KEY (table_id, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE account (last_timestamp INTEGER NOT NULL) STRICT;"
    "INSERT INTO account VALUES (17000000000000000);" AS_AN_ACCOUNT "1;";

static void make_format(const char *path, int format)
{
    if (format == 1)
        (void)run_sql(path, format_1);
    else
        table_store_destroy(open_with_table(path));
}

static void remove_account(const char *path)
{
    char beside[4200];
    (void)unlink(path);
    (void)snprintf(beside, sizeof(beside), "%s-wal", path);
    (void)unlink(beside);
    (void)snprintf(beside, sizeof(beside), "%s-shm", path);
    (void)unlink(beside);
}

static void tell(void *context, const char *line)
{
    (void)snprintf(context, 600, "%s", line);
}

static void assert_failure(int r, const struct call *call, int error, const char *message)
{
    assert_int_equal(r, error);
    assert_string_equal(call->failure.message, message);
}

static void assert_memory(void)
{
    sqlite3_int64 most = sqlite3_memory_highwater(1);
    assert_true(most > 0); /* it is counted */
    assert_true(most < MEMORY_MAX);
}

/* By each way to open it, with the same words. */
static void assert_not_opened(const char *path, int error, const char *message)
{
    struct table_store *store = NULL;
    struct local_check_report report = {0};
    char told[600] = "";
    (void)sqlite3_memory_highwater(1);
    struct call call = some_call();
    assert_failure(local_store_create(path, false, &clock_system, &call, &store), &call, error,
                   message);
    call = some_call();
    assert_failure(local_store_create(path, true, &clock_system, &call, &store), &call, error,
                   message);
    call = some_call();
    assert_failure(local_store_open_as_is(path, &clock_system, &call, &store), &call, error,
                   message);
    assert_null(store);
    call = some_call();
    int r = local_check_run(path, &clock_system, &call, tell, told, &report);
    if (error == -EIO) {
        assert_int_equal(r, 0);
        assert_int_equal(report.faults, 1);
        assert_string_equal(told, message);
    } else {
        assert_failure(r, &call, error, message);
    }
    assert_memory();
}

/* In both formats: the change, then what is said. */
static void refuse_change(const char *path, const char *change, const char *name, const char *what)
{
    char message[600];
    (void)snprintf(message, sizeof(message), NOT_AN_ACCOUNT "\"%s\"%s", name, what);
    for (int format = 1; format <= FORMATS; format++) {
        make_format(path, format);
        (void)run_sql(path, change);
        assert_not_opened(path, -EIO, message);
        assert_int_equal(run_sql(path, "PRAGMA user_version"), format);
        remove_account(path);
    }
}

/* Each column is two of the one before it. */
static void append_chain(struct buffer *sql, const char *name, int columns)
{
    (void)buffer_append_format(sql, "CREATE TABLE %s (id, table_id, position BLOB, timestamp,",
                               name);
    (void)buffer_append_string(sql, " last_timestamp, name, checksum, tbl, idx, c0");
    for (int i = 1; i <= columns; i++)
        (void)buffer_append_format(sql, ", c%d AS (c%d || c%d)", i, i - 1, i - 1);
    for (size_t i = 0; i < 2; i++)
        (void)buffer_append_format(sql, ", %s AS (c%d || c%d)", i == 0 ? "text" : "stat", columns,
                                   columns);
    (void)buffer_append_string(sql, ")");
}

static void a_chain_of_computed_columns_is_not_prepared(void **state)
{
    static const int columns[] = {18, 22, 200};
    for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
        _cleanup_(buffer_finish) struct buffer sql;
        buffer_init(&sql, SQL_BYTES);
        (void)buffer_append_string(&sql, "DROP TABLE entities;");
        append_chain(&sql, "entities", columns[i]);
        refuse_change(*state, buffer_string(&sql), "entities", NOT_AS_IT_MAKES);
        buffer_clear(&sql);
        append_chain(&sql, "besides", columns[i]);
        refuse_change(*state, buffer_string(&sql), "besides", NOT_AS_IT_MAKES);
    }
}

/* SQLite itself reads the table of statistics together with the schema. */
static void a_chain_in_the_statistics_is_cut(void **state)
{
    for (int format = 1; format <= FORMATS; format++) {
        struct buffer sql;
        buffer_init(&sql, SQL_BYTES);
        append_chain(&sql, "statistics", 22);
        (void)buffer_append_string(
            &sql, ";" BEHIND_SQLITE "UPDATE sqlite_schema SET name = 'sqlite_stat1',"
                  " tbl_name = 'sqlite_stat1', sql = replace(sql, 'statistics', 'sqlite_stat1')"
                  " WHERE name = 'statistics'");
        make_format(*state, format);
        (void)run_sql(*state, buffer_string(&sql));
        buffer_finish(&sql);
        assert_not_opened(*state, -ENOMEM, NO_MEMORY_MESSAGE);
        remove_account(*state);
    }
}

static void what_tablefuse_did_not_make_is_refused(void **state)
{
    static const char *const changes[][2] = {
        {"CREATE TABLE spare (x)", "spare"},
        {"CREATE INDEX by_time ON entities (timestamp)", "by_time"},
        {"CREATE VIEW seen AS SELECT * FROM entities", "seen"},
        {"CREATE TRIGGER spy AFTER INSERT ON entities BEGIN DELETE FROM tables; END", "spy"},
        {"CREATE VIRTUAL TABLE words USING fts5(word)", "words"},
        {"CREATE TABLE rows (id INTEGER PRIMARY KEY AUTOINCREMENT)", "rows"},
        {"ALTER TABLE account ADD COLUMN more INTEGER", "account"},
        {"DROP TABLE entities; CREATE VIEW entities AS SELECT 1 AS table_id", "entities"},
        /* SQLite would find it in place of its own */
        {"CREATE VIEW pragma_user_version AS SELECT 2 AS user_version", "pragma_user_version"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
        refuse_change(*state, changes[i][0], changes[i][1], NOT_AS_IT_MAKES);
}

static void what_is_missing_is_told(void **state)
{
    refuse_change(*state, "DROP TABLE account", "account", " is not in its schema");
    refuse_change(*state, "DROP TABLE entities", "entities", " is not in its schema");
    table_store_destroy(open_with_table(*state));
    (void)run_sql(*state, "DROP INDEX versions");
    assert_not_opened(*state, -EIO, NOT_AN_ACCOUNT "\"versions\" is not in its schema");
    remove_account(*state);
    (void)run_sql(*state, AS_AN_ACCOUNT "2");
    assert_not_opened(*state, -EIO, "its tables are lost");
}

static void one_format_s_schema_is_not_the_other_s(void **state)
{
    make_format(*state, 1);
    (void)run_sql(*state, AS_AN_ACCOUNT "2");
    assert_not_opened(*state, -EIO, NOT_AN_ACCOUNT "\"tables\"" NOT_AS_IT_MAKES);
    remove_account(*state);
    make_format(*state, 2);
    (void)run_sql(*state, AS_AN_ACCOUNT "1");
    assert_not_opened(*state, -EIO, NOT_AN_ACCOUNT "\"tables\"" NOT_AS_IT_MAKES);
}

static void a_long_name_is_cut(void **state)
{
    char sql[1000];
    (void)snprintf(sql, sizeof(sql), "CREATE TABLE a%0600d (x)", 0);
    make_format(*state, 2);
    (void)run_sql(*state, sql);
    char message[600];
    (void)snprintf(message, sizeof(message), NOT_AN_ACCOUNT "\"a%063d\"" NOT_AS_IT_MAKES, 0);
    assert_not_opened(*state, -EIO, message);
}

/* What sqlite3 and its users do to an account's file that they keep. */
static void a_file_stays_an_account_after_maintenance(void **state)
{
    static const char *const works[] = {"ANALYZE", "VACUUM", "REINDEX", "PRAGMA optimize"};
    for (int format = 1; format <= FORMATS; format++) {
        make_format(*state, format);
        for (size_t i = 0; i < ARRAY_SIZE(works); i++) {
            (void)run_sql(*state, works[i]);
            table_store_destroy(open_account(*state));
        }
        struct table_store *store = open_account(*state); /* now in format 2 */
        assert_true(local_store_has_checksums(store));
        table_store_destroy(store);
        remove_account(*state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_chain_of_computed_columns_is_not_prepared),
        WITH_FOLDER(a_chain_in_the_statistics_is_cut),
        WITH_FOLDER(what_tablefuse_did_not_make_is_refused),
        WITH_FOLDER(what_is_missing_is_told),
        WITH_FOLDER(one_format_s_schema_is_not_the_other_s),
        WITH_FOLDER(a_long_name_is_cut),
        WITH_FOLDER(a_file_stays_an_account_after_maintenance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
