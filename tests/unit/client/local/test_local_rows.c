/* SPDX-License-Identifier: MIT */
/* What is read from an account's file is checked: each kind of damage that SQLite itself accepts is
 * -EIO with a reason that names where it is, and `local_check_run` tells it. */
#include "client/local/local_check.h"
#include "client/local/local_schema.h"
#include "client/local/local_text.h"
#include "tests/unit/local_account.h"

#define ROWS 5

#define POSITION_OF(digit) "x'70006130303030303" digit "'" /* row a00000<digit> of p */

/* As long as this lasts, SQL may write to the tables of SQLite itself. */
#define BEHIND_SQLITE "PRAGMA writable_schema = ON; "
static void checksums_are_those_of_the_format(void **state)
{
    (void)state;
    /* computed by Python's zlib.crc32 from the form in local_checksum.h */
    assert_int_equal(local_checksum_entity(1, B("p\0r"), 2, B("{\n}\n")), 0x15222FBB);
    assert_int_equal(local_checksum_table(7, B("items")), 0x12F0EE90);
    assert_int_equal(local_checksum_table(7, B("")), 0x1142B320);
    assert_int_equal(local_checksum_account(0), 0x6522DF69);
}

static void a_text_is_of_one_entity(void **state)
{
    static const struct {
        const char *text;
        bool is_of_it;
    } cases[] = {
        {"{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\"\n}\n", true},
        {"{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"A\": 1\n}\n", true},
        {"{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"x\"\n}\n", false},
        {"{\n  \"PartitionKey\": \"x\",\n  \"RowKey\": \"r\"\n}\n", false},
        {"{\n  \"RowKey\": \"r\"\n}\n", false},
        {"{\n  \"PartitionKey\": \"p\"\n}\n", false},
        {"{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"A\": 1\n}", false},
        {"{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"A\": \n}\n", false},
        {"", false},
        {"}\n", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(local_text_is_of(B("p\0r"), bytes_of(cases[i].text)), cases[i].is_of_it);
    assert_false(local_text_is_of(B("p"), bytes_of(cases[0].text)));
    assert_false(local_text_is_of(B("\xff\0r"), bytes_of(cases[0].text)));
}

struct told {
    int count, ended; /* lines; those that say that something was not checked */
    char first[256];
};

static void tell(void *context, const char *line)
{
    struct told *told = context;
    assert_null(strchr(line, '\n'));
    told->ended += strstr(line, "was not checked") != NULL;
    if (told->count++ == 0)
        (void)snprintf(told->first, sizeof(told->first), "%s", line);
}

static struct local_check_report check(const char *path, struct told *ret)
{
    struct local_check_report report;
    struct call call = some_call();
    *ret = (struct told){0};
    assert_int_equal(local_check_run(path, &clock_system, &call, tell, ret, &report), 0);
    assert_int_equal(report.faults, ret->count);
    return report;
}

/* Five rows a0 to a4 of partition p. */
static struct table_store *open_with_rows(const char *path)
{
    struct table_store *store = open_with_table(path);
    insert_rows(store, "a", ROWS, "\"A\": 1");
    return store;
}

static void a_sound_file_has_no_faults(void **state)
{
    struct told told;
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_rows(*state);
    struct local_check_report report = check(*state, &told); /* beside an open account */
    assert_int_equal(report.tables, 1);
    assert_int_equal(report.entities, ROWS);
    assert_int_equal(report.faults, 0);
    assert_true(report.has_checksums);
    insert_rows(store, "b", 2500, "\"A\": 1"); /* in more than two transactions */
    assert_int_equal(check(*state, &told).entities, ROWS + 2500);
    assert_int_equal(told.count, 0);
}

static int write_and_die(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    if (local_store_create(path, true, &clock_system, &call, &store) < 0 ||
        table_store_create_table(store, "more", &call) < 0)
        return 1;
    _exit(0); /* without closing it */
}

static size_t read_all(const char *path, char *ret, size_t max)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(ret, 1, max, file);
    assert_true(size > 0 && size < max && fclose(file) == 0);
    return size;
}

/* What a process left behind that was killed. */
static void a_check_changes_neither_file_nor_wal(void **state)
{
    static char file[1 << 20], wal[1 << 20], after[1 << 20];
    const char *path = *state;
    char wal_path[4200];
    struct told told;
    (void)snprintf(wal_path, sizeof(wal_path), "%s-wal", path);
    table_store_destroy(open_with_rows(path));
    assert_int_equal(wait_for_child(start_child(write_and_die, path)), 0);
    size_t file_size = read_all(path, file, sizeof(file));
    size_t wal_size = read_all(wal_path, wal, sizeof(wal));
    assert_int_equal(check(path, &told).tables, 2);
    assert_int_equal(told.count, 0);
    assert_int_equal(read_all(path, after, sizeof(after)), file_size);
    assert_memory_equal(after, file, file_size);
    assert_int_equal(read_all(wal_path, after, sizeof(after)), wal_size);
    assert_memory_equal(after, wal, wal_size);

    table_store_destroy(open_account(path)); /* folds the WAL into the file */
    assert_int_equal(access(wal_path, F_OK), -1);
    assert_int_equal(check(path, &told).tables, 2);
    assert_int_equal(access(wal_path, F_OK), -1); /* and the check leaves none */
}

/* How one entity and the whole table are answered, and what is told. */
static void assert_noticed(const char *path, const char *row_key, const char *reason)
{
    struct told told;
    struct call call = some_call();
    struct page *page = NULL;
    struct row_write row = make_write(WRITE_DELETE, "p", row_key, "", "*");
    struct table_store *store = open_account(path);
    assert_int_equal(table_store_get(store, "items", row.write.position, &call, &page), -EIO);
    assert_string_equal(call.failure.message, reason);
    assert_non_null(call.failure.advice);
    call = some_call();
    assert_int_equal(count_rows(store, whole_table(), NULL, &call), -EIO);
    assert_string_equal(call.failure.message, reason);
    table_store_destroy(store);
    row_write_finish(&row);
    assert_true(check(path, &told).faults >= 1);
    assert_string_equal(told.first, reason);
}

static void a_changed_text_is_noticed(void **state)
{
    struct call call;
    table_store_destroy(open_with_rows(*state));
    (void)run_sql(*state, "UPDATE entities SET text = CAST(replace(CAST(text AS TEXT), '1', '2')"
                          " AS BLOB)"
                          " WHERE position = " POSITION_OF("3"));
    assert_noticed(*state, "a000003",
                   "table items, PartitionKey \"p\", RowKey \"a000003\": it does not fit its "
                   "checksum");
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    assert_int_equal(write_row(store, WRITE_MERGE, "a000003", "\"B\": 2", "*", &call, NULL), -EIO);
    struct query keys = whole_table();
    keys.keys_only = true; /* it has the keys as they were written */
    call = some_call();
    assert_int_equal(count_rows(store, keys, NULL, &call), ROWS);
}

/* Changes the rows of the table alone: SQLite is told that the index is another one's. */
static void change_without_index(const char *path, const char *change)
{
    char sql[1000];
    (void)snprintf(
        sql, sizeof(sql),
        BEHIND_SQLITE
        "CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'versions';"
        "DELETE FROM sqlite_schema WHERE name = 'versions'; PRAGMA schema_version = 1000");
    (void)run_sql(path, sql);
    (void)run_sql(path, change);
    (void)run_sql(path, BEHIND_SQLITE "INSERT INTO sqlite_schema SELECT * FROM kept;"
                                      "PRAGMA schema_version = 2000");
    (void)run_sql(path, "DROP TABLE kept");
}

static void a_lost_row_is_noticed(void **state)
{
    struct call call;
    table_store_destroy(open_with_rows(*state));
    change_without_index(*state, "DELETE FROM entities WHERE position = " POSITION_OF("2"));
    struct table_store *store = open_account(*state);
    struct page *page = NULL;
    call = some_call();
    assert_int_equal(table_store_get(store, "items", B("p\0a000002"), &call, &page), -EIO);
    assert_string_equal(call.failure.message, "table items, PartitionKey \"p\", RowKey "
                                              "\"a000002\": the entity is lost");
    call = some_call();
    assert_int_equal(count_rows(store, whole_table(), NULL, &call), -EIO);
    assert_int_equal(write_row(store, WRITE_DELETE, "a000002", "", "*", &call, NULL), -EIO);
    struct query before = whole_table(); /* a range without the lost row is served */
    before.range = (struct range){B("p\0"), B("p\0a000002")};
    call = some_call();
    assert_int_equal(count_rows(store, before, NULL, &call), 2);
    table_store_destroy(store);
    struct told told;
    assert_int_equal(check(*state, &told).faults, 1);
}

static void a_row_that_was_lost_from_the_index_is_noticed(void **state)
{
    table_store_destroy(open_with_rows(*state));
    change_without_index(*state, "INSERT INTO entities SELECT table_id, x'70006130303030303235',"
                                 " timestamp, checksum, text FROM entities LIMIT 1");
    assert_noticed(*state, "a0000025",
                   "table items, PartitionKey \"p\", RowKey \"a0000025\": the index of versions "
                   "lacks it");
}

static void an_outdated_row_is_noticed(void **state)
{
    table_store_destroy(open_with_rows(*state));
    change_without_index(*state, "UPDATE entities SET timestamp = timestamp - 1, checksum ="
                                 " checksum(table_id, position, timestamp - 1, text)"
                                 " WHERE position = " POSITION_OF("4"));
    assert_noticed(*state, "a000004",
                   "table items, PartitionKey \"p\", RowKey \"a000004\": it is not the version "
                   "that was written last");
    /* another text of the same time, with its checksum */
    change_without_index(*state, "UPDATE entities SET checksum ="
                                 " checksum(table_id, position, timestamp, x'7B0A7D0A'),"
                                 " text = x'7B0A7D0A' WHERE position = " POSITION_OF("3"));
    assert_noticed(*state, "a000003",
                   "table items, PartitionKey \"p\", RowKey \"a000003\": it is not the version "
                   "that was written last");
}

static void a_damaged_name_of_a_table_is_noticed(void **state)
{
    struct call call = some_call();
    struct table_names names;
    struct continuation *next = NULL;
    struct told told;
    struct table_store *store = open_with_rows(*state);
    assert_int_equal(table_store_create_table(store, "before", &call), 0);
    table_store_destroy(store);
    (void)run_sql(*state, "UPDATE tables SET name = 'itens' WHERE name = 'items'");
    store = open_account(*state);
    buffer_init(&names.names, 1000);
    assert_int_equal(table_store_list_tables(store, NULL, NULL, &call, &names, &next), -EIO);
    assert_string_equal(call.failure.message, "the name of a table does not fit its checksum");
    assert_int_equal(names.names.size, 0); /* not even what stands before it */
    struct query query = whole_table();
    query.table = "itens";
    assert_int_equal(count_rows(store, query, NULL, &call), -EIO);
    buffer_finish(&names.names);
    table_store_destroy(store);
    assert_true(check(*state, &told).faults >= 1);
}

#define PAGE_BYTES LOCAL_SCHEMA_PAGE_BYTES

static void copy_page(const char *path, int64_t page, char *content, bool is_read)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(page - 1) * PAGE_BYTES, SEEK_SET), 0);
    size_t size = 0;
    if (is_read)
        size = fread(content, 1, PAGE_BYTES, file);
    else
        size = fwrite(content, 1, PAGE_BYTES, file);
    assert_int_equal(size, PAGE_BYTES);
    assert_int_equal(fclose(file), 0);
}

/* The first page of a table or index. */
static int64_t root_page(const char *path, const char *name)
{
    char sql[100];
    (void)snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_schema WHERE name = '%s'", name);
    return run_sql(path, sql);
}

#define FOLD "; PRAGMA wal_checkpoint(TRUNCATE)"

/* A write that never reached the disk: the index of names is as it was after `before`, and all the
 * rest is as after `now`. */
static void make_names_outdated(const char *path, const char *before, const char *now)
{
    static char content[PAGE_BYTES];
    (void)run_sql(path, before);
    int64_t page = root_page(path, "sqlite_autoindex_tables_1");
    copy_page(path, page, content, true);
    (void)run_sql(path, now);
    copy_page(path, page, content, false);
}

static void swap_names_in_the_index(const char *path)
{
    make_names_outdated(path,
                        "UPDATE tables SET name = NULL; UPDATE tables SET name ="
                        " CASE id WHEN 1 THEN 'other' ELSE 'items' END" FOLD,
                        "UPDATE tables SET name = NULL; UPDATE tables SET name ="
                        " CASE id WHEN 1 THEN 'items' ELSE 'other' END" FOLD);
}

#define MANY_ROWS 1000 /* more than one change sweeps away */

/* Rows in the table `items`, and a table `other`. */
static void make_two_tables(const char *path)
{
    struct call call = some_call();
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_rows(path);
    insert_rows(store, "b", MANY_ROWS, "");
    assert_int_equal(table_store_create_table(store, "other", &call), 0);
}

static void write_to_other(const char *path, int times)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(path);
    _cleanup_(row_write_finish) struct row_write row =
        make_write(WRITE_UPSERT_REPLACE, "p", "r", "", "");
    for (int i = 0; i < times; i++) {
        struct call call = some_call();
        struct write_result result;
        assert_int_equal(table_store_write(store, "other", &row.write, 1, &call, &result), 0);
    }
}

static void lose_page(const char *path, int64_t page)
{
    char nothing[PAGE_BYTES] = {0};
    copy_page(path, page, nothing, false);
}

/* The check has read both tables and all of their rows, whatever it has reported. */
static void assert_all_rows_checked(const char *path, struct told *ret)
{
    struct local_check_report report = check(path, ret);
    assert_int_equal(report.tables, 2);
    assert_int_equal(report.entities, ROWS + MANY_ROWS);
}

static void a_check_without_the_index_of_names_reads_all_rows(void **state)
{
    struct told told;
    make_two_tables(*state);
    lose_page(*state, root_page(*state, "sqlite_autoindex_tables_1"));
    assert_all_rows_checked(*state, &told);
    assert_true(told.count > 0);
    assert_int_equal(told.ended, 0);
}

static void a_check_says_where_it_ends(void **state)
{
    struct told told;
    make_two_tables(*state);
    lose_page(*state, root_page(*state, "versions"));
    assert_all_rows_checked(*state, &told);
    assert_int_equal(told.ended, 2); /* the index, for each of the tables */
}

static void a_table_with_a_damaged_name_is_checked(void **state)
{
    struct told told;
    make_two_tables(*state);
    (void)run_sql(*state, "UPDATE tables SET checksum = 1 WHERE id = 1");
    assert_all_rows_checked(*state, &told);
    assert_int_equal(told.count, 1);
}

static void a_check_tells_wrong_entries_of_the_index_of_names(void **state)
{
    struct told told;
    make_two_tables(*state);
    swap_names_in_the_index(*state);
    assert_int_equal(check(*state, &told).entities, ROWS + MANY_ROWS);
    assert_int_equal(told.count, 2);
}

/* No key is so long: the row is told, and the check goes on after its table. */
static void a_key_that_is_far_too_long_is_a_fault(void **state)
{
    struct told told;
    make_two_tables(*state);
    write_to_other(*state, 1);
    (void)run_sql(*state, "INSERT INTO entities SELECT table_id, CAST('z' || char(0) ||"
                          " printf('%0140000d', 0) AS BLOB), timestamp, checksum, text"
                          " FROM entities LIMIT 1");
    struct local_check_report report = check(*state, &told);
    assert_int_equal(report.tables, 2);
    assert_int_equal(report.entities, ROWS + MANY_ROWS + 1);
    assert_int_equal(told.count, 2); /* in the table, and in its index */
    assert_int_equal(told.ended, 2);
}

static void a_row_with_a_key_that_is_too_long_is_not_read(void **state)
{
    struct call call = some_call();
    table_store_destroy(open_with_rows(*state));
    (void)run_sql(*state, "INSERT INTO entities SELECT table_id, CAST('q' || char(0) ||"
                          " printf('%08190d', 0) AS BLOB), timestamp, checksum, text"
                          " FROM entities LIMIT 1");
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    assert_int_equal(count_rows(store, whole_table(), NULL, &call), -EIO);
    assert_string_equal(call.failure.message,
                        "table items, PartitionKey \"q\", RowKey "
                        "\"000000000000000000000000000000000000000000000...\": not an entity");
}

static void rows_of_a_table_that_only_the_index_calls_dropped_stay(void **state)
{
    make_two_tables(*state);
    make_names_outdated(
        *state, "UPDATE tables SET name = NULL, checksum = checksum(id, NULL) WHERE id = 1" FOLD,
        "UPDATE tables SET name = 'items', checksum = checksum(id, 'items') WHERE id = 1" FOLD);
    write_to_other(*state, 3);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities WHERE table_id = 1"),
                     ROWS + MANY_ROWS);
}

static void a_wrong_entry_of_the_index_drops_no_table(void **state)
{
    make_two_tables(*state);
    swap_names_in_the_index(*state);
    struct table_store *store = open_account(*state);
    struct call call = some_call();
    assert_int_equal(table_store_delete_table(store, "other", &call), -EIO);
    table_store_destroy(store);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM tables NOT INDEXED"
                                     " WHERE checksum = checksum(id, name)"),
                     2);
}

/* Its id would be given to another table, which would get the row. */
static void a_dropped_table_with_rows_that_the_index_lacks_is_kept(void **state)
{
    struct call call = some_call();
    make_two_tables(*state);
    change_without_index(*state, "INSERT INTO entities SELECT table_id, x'70006130303030303235',"
                                 " timestamp, checksum, text FROM entities LIMIT 1");
    struct table_store *store = open_account(*state);
    assert_int_equal(table_store_delete_table(store, "items", &call), 0);
    table_store_destroy(store);
    write_to_other(*state, 10);
    assert_int_equal(run_sql(*state, "SELECT id FROM tables WHERE name IS NULL"), 1);
    assert_int_equal(run_sql(*state, "SELECT count(*) FROM entities INDEXED BY"
                                     " sqlite_autoindex_entities_1 WHERE table_id = 1"),
                     1);
}

/* The last table is lost from both places, and its rows are not. */
static void a_new_table_gets_no_rows_of_a_lost_one(void **state)
{
    struct call call = some_call();
    make_two_tables(*state);
    write_to_other(*state, 1);
    (void)run_sql(*state, "DELETE FROM tables WHERE name = 'other'");
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    assert_int_equal(table_store_create_table(store, "fresh", &call), 0);
    struct query query = whole_table();
    query.table = "fresh";
    assert_int_equal(count_rows(store, query, NULL, &call), 0);
}

/* Lost from the table of tables alone: nothing is created then. */
static void no_table_is_created_where_tables_are_lost(void **state)
{
    struct call call = some_call();
    static char content[PAGE_BYTES];
    make_two_tables(*state);
    copy_page(*state, root_page(*state, "tables"), content, true);
    content[3] = content[4] = 0; /* the number of its cells */
    copy_page(*state, root_page(*state, "tables"), content, false);
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(*state);
    assert_int_equal(table_store_create_table(store, "fresh", &call), -EIO);
}

/* Keys are cut and shown on one line. */
static void a_reason_fits_into_a_line(void **state)
{
    char key[401];
    struct call call = some_call();
    struct write_result result;
    struct page *page;
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(*state);
    _cleanup_(row_write_finish) struct row_write row = make_write(WRITE_INSERT, key, "r", "", "");
    assert_int_equal(table_store_write(store, "items", &row.write, 1, &call, &result), 0);
    (void)run_sql(*state, "UPDATE entities SET timestamp = 5");
    assert_int_equal(table_store_get(store, "items", row.write.position, &call, &page), -EIO);
    assert_string_equal(call.failure.message,
                        "table items, PartitionKey \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
                        "...\", RowKey \"r\": it does not fit its checksum");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_format),
        cmocka_unit_test(a_text_is_of_one_entity),
        WITH_FOLDER(a_sound_file_has_no_faults),
        WITH_FOLDER(a_check_changes_neither_file_nor_wal),
        WITH_FOLDER(a_changed_text_is_noticed),
        WITH_FOLDER(a_lost_row_is_noticed),
        WITH_FOLDER(a_row_that_was_lost_from_the_index_is_noticed),
        WITH_FOLDER(an_outdated_row_is_noticed),
        WITH_FOLDER(a_damaged_name_of_a_table_is_noticed),
        WITH_FOLDER(a_check_without_the_index_of_names_reads_all_rows),
        WITH_FOLDER(a_check_says_where_it_ends),
        WITH_FOLDER(a_table_with_a_damaged_name_is_checked),
        WITH_FOLDER(a_check_tells_wrong_entries_of_the_index_of_names),
        WITH_FOLDER(a_key_that_is_far_too_long_is_a_fault),
        WITH_FOLDER(a_row_with_a_key_that_is_too_long_is_not_read),
        WITH_FOLDER(rows_of_a_table_that_only_the_index_calls_dropped_stay),
        WITH_FOLDER(a_wrong_entry_of_the_index_drops_no_table),
        WITH_FOLDER(a_dropped_table_with_rows_that_the_index_lacks_is_kept),
        WITH_FOLDER(a_new_table_gets_no_rows_of_a_lost_one),
        WITH_FOLDER(no_table_is_created_where_tables_are_lost),
        WITH_FOLDER(a_reason_fits_into_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
