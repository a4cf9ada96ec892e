/* SPDX-License-Identifier: MIT */
#include "client/local/local_file.h"
#include "client/local/local_schema.h"
#include "tests/unit/local_account.h"
#include "tests/unit/own_mounts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static void assert_mode_0600(const char *path, const char *end)
{
    struct stat status;
    char file[4200];
    (void)snprintf(file, sizeof(file), "%s%s", path, end);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
}

static void a_missing_file_becomes_an_account_of_its_owner(void **state)
{
    const char *path = *state;
    mode_t mask = umask(0);
    struct table_store *store = open_with_table(path);
    (void)umask(mask);
    assert_mode_0600(path, "");
    assert_mode_0600(path, "-wal");
    assert_mode_0600(path, "-shm");
    insert_row(store, "r", "");
    table_store_destroy(store);
    struct stat status;
    char wal[4200];
    (void)snprintf(wal, sizeof(wal), "%s-wal", path);
    assert_int_equal(stat(wal, &status), -1); /* all is in one file again */
    assert_int_equal(run_sql(path, "PRAGMA application_id"), 0x74667573);
    assert_int_equal(run_sql(path, "PRAGMA user_version"), 2);
    store = open_account(path);
    assert_row(store, "r", "");
    table_store_destroy(store);
}

static void assert_found(const char *path, const char *real_path)
{
    struct call call = some_call();
    char *found;
    bool is_created;
    assert_int_equal(local_file_find(path, false, &call, &found, &is_created), 0);
    assert_string_equal(found, real_path);
    assert_false(is_created);
    free(found);
}

static void its_real_path_has_no_links(void **state)
{
    const char *path = *state;
    char link[4200], folder[4200];
    (void)snprintf(link, sizeof(link), "%s.other", path);
    struct table_store *store = open_account(path);
    table_store_destroy(store);
    assert_int_equal(symlink("account", link), 0);
    char *real_path = realpath(path, NULL);
    assert_found(link, real_path);
    assert_int_equal(unlink(link), 0);
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(chdir(folder), 0);
    assert_found("account", real_path);
    assert_int_equal(chdir("/"), 0);
    free(real_path);
}

static void refuse(const char *path, int error, const char *message)
{
    struct call call = some_call();
    struct table_store *store = NULL;
    int r = local_store_create(path, true, &clock_system, &call, &store);
    assert_null(store);
    assert_int_equal(r, error);
    assert_int_equal(call.failure.error, error);
    assert_string_equal(call.failure.message, message);
}

static void write_file(const char *path, const char *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    assert_int_equal(close(fd), 0);
}

static void what_is_no_account_is_refused(void **state)
{
    const char *path = *state;
    char missing[4200];
    static const char text[] = "no database, but a text of more than one hundred bytes, which is "
                               "how long the header of a database is.\n";
    assert_int_equal(mkdir(path, 0700), 0);
    refuse(path, -EISDIR, "a directory, where the account's file should be");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(path, -EINVAL, "not a regular file");
    assert_int_equal(unlink(path), 0);
    write_file(path, text, sizeof(text));
    refuse(path, -EINVAL, "not a SQLite database");
    write_file(path, "short", 5);
    refuse(path, -EINVAL, "not a SQLite database");
    assert_int_equal(unlink(path), 0);
    (void)run_sql(path, "CREATE TABLE diary (day, text)");
    refuse(path, -EINVAL, "a SQLite database of another program");
    (void)run_sql(path, "DROP TABLE diary; PRAGMA user_version = 7");
    refuse(path, -EINVAL, "a SQLite database of another program");
    assert_int_equal(run_sql(path, "SELECT count(*) FROM sqlite_schema"), 0);
    (void)snprintf(missing, sizeof(missing), "%s/file", path);
    refuse(missing, -ENOTDIR, "Not a directory");
    (void)snprintf(missing, sizeof(missing), "%s.folder/file", path);
    refuse(missing, -ENOENT, "No such file or directory");
    refuse("", -ENOENT, "No such file or directory");
}

static void a_newer_format_is_refused(void **state)
{
    const char *path = *state;
    table_store_destroy(open_with_table(path));
    (void)run_sql(path, "PRAGMA user_version = 3");
    refuse(path, -EPROTONOSUPPORT,
           "an account in format 3, made by a newer tablefuse; this one knows format 2");
    (void)run_sql(path, "PRAGMA user_version = 0");
    refuse(path, -EIO, "the number of its format is lost");
    (void)run_sql(path, "PRAGMA user_version = 2");
    table_store_destroy(open_account(path));
    (void)run_sql(path, "DROP TABLE account");
    refuse(path, -EIO, "not an account of tablefuse: \"account\" is not in its schema");
}

static void an_empty_database_becomes_an_account(void **state)
{
    const char *path = *state;
    (void)run_sql(path, "PRAGMA page_size = 1024; CREATE TABLE t (x); DROP TABLE t; VACUUM");
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(path);
    insert_row(store, "r", "");
}

/* Root may write to everything: so as another user, in a process that tells what went wrong. */
static int read_as_nobody(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    struct write_result result;
    struct row_write row = make_write(WRITE_INSERT, "p", "new", "", "");
    if (geteuid() == 0 && setuid(NOBODY) < 0)
        return 1;
    int r = local_store_create(path, true, &clock_system, &call, &store);
    if (r < 0)
        return 2;
    if (count_all(store) != 2500)
        return 3;
    if (table_store_write(store, "items", &row.write, 1, &call, &result) != -EROFS ||
        call.failure.error != -EROFS || !call.failure.message[0])
        return 4;
    if (table_store_create_table(store, "other", &call) != -EROFS ||
        table_store_delete_table(store, "items", &call) != -EROFS || count_all(store) != 2500)
        return 5;
    row_write_finish(&row);
    table_store_destroy(store);
    return 0;
}

static void a_read_only_file_is_read(void **state)
{
    const char *path = *state;
    struct table_store *store = open_with_table(path);
    insert_rows(store, "", 2500, "");
    table_store_destroy(store);
    give_to_nobody(path, 0400);
    assert_int_equal(wait_for_child(start_child(read_as_nobody, path)), 0);
    assert_int_equal(wait_for_child(start_child(read_as_nobody, path)), 0); /* with what is left */
    assert_int_equal(unlink(path), 0);
    write_file(path, "", 0);
    give_to_nobody(path, 0400);
    assert_int_equal(wait_for_child(start_child(read_as_nobody, path)), 2); /* nothing in it */
}

static int read_on_read_only_mount(const char *path)
{
    char folder[4200];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    int r = enter_own_mounts();
    if (r != 0)
        return r;
    if (mount(folder, folder, NULL, MS_BIND, NULL) < 0 ||
        mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
        return 77;
    return read_as_nobody(path);
}

static void a_file_on_a_read_only_file_system_is_read(void **state)
{
    const char *path = *state;
    struct table_store *store = open_with_table(path);
    insert_rows(store, "", 2500, "");
    table_store_destroy(store);
    give_to_nobody(path, 0600);
    int r = wait_for_child(start_child(read_on_read_only_mount, path));
    if (r == 77)
        skip();
    assert_int_equal(r, 0);
}

static void make_large(const char *path)
{
    _cleanup_(table_store_destroyp) struct table_store *store = open_with_table(path);
    insert_rows(store, "", 5000, "\"A\": \"some text, so that there are many pages\"");
}

/* How many rows are read, or the errno of the failure, which has a reason then. */
static int read_all(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    int r = local_store_create(path, true, &clock_system, &call, &store);
    if (r == 0) {
        r = count_rows(store, whole_table(), NULL, &call);
        table_store_destroy(store);
    }
    if (r < 0) {
        assert_int_equal(call.failure.error, r);
        assert_true(call.failure.message[0] != '\0');
    }
    return r;
}

static void a_file_cut_short_is_an_error(void **state)
{
    const char *path = *state;
    struct stat status;
    make_large(path);
    assert_int_equal(stat(path, &status), 0);
    for (off_t size = status.st_size - 1; size > LOCAL_SCHEMA_PAGE_BYTES; size = size * 3 / 4) {
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(read_all(path), -EIO);
    }
    assert_int_equal(truncate(path, 50), 0);
    refuse(path, -EIO, "database disk image is malformed");
    assert_int_equal(truncate(path, 5), 0);
    refuse(path, -EINVAL, "not a SQLite database");
}

static void swap_page(const char *path, off_t at, char page[LOCAL_SCHEMA_PAGE_BYTES])
{
    char there[LOCAL_SCHEMA_PAGE_BYTES];
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, there, sizeof(there), at), sizeof(there));
    assert_int_equal(pwrite(fd, page, sizeof(there), at), sizeof(there));
    assert_int_equal(close(fd), 0);
    memcpy(page, there, sizeof(there));
}

static void overwritten_pages_are_errors(void **state)
{
    const char *path = *state;
    char page[LOCAL_SCHEMA_PAGE_BYTES];
    struct stat status;
    make_large(path);
    assert_int_equal(stat(path, &status), 0);
    int errors = 0, pages = 0;
    for (off_t at = LOCAL_SCHEMA_PAGE_BYTES; at < status.st_size;
         at += (off_t)LOCAL_SCHEMA_PAGE_BYTES * 3) {
        for (size_t i = 0; i < sizeof(page); i++)
            page[i] = (char)(pages % 2 ? (i + 1) * 2654435761U >> 13 : 0);
        swap_page(path, at, page);
        int rows = read_all(path);
        assert_true(rows == -EIO || rows == 5000); /* 5000: it was not read */
        errors += rows == -EIO;
        pages++;
        swap_page(path, at, page);
    }
    assert_true(pages > 20 && errors > pages * 3 / 4);
    assert_int_equal(read_all(path), 5000);
}

static void damage_under_an_open_account_is_an_error(void **state)
{
    const char *path = *state;
    struct call call = some_call();
    make_large(path);
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(path);
    assert_int_equal(truncate(path, 16384), 0);
    assert_int_equal(count_rows(store, whole_table(), NULL, &call), -EIO);
    assert_int_equal(call.failure.error, -EIO);
    assert_non_null(call.failure.advice);
}

static void set_last_timestamp(const char *path, const char *value)
{
    char sql[200];
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE account SET last_timestamp = %s, checksum = checksum(%s)", value, value);
    (void)run_sql(path, sql);
}

/* What no change of ours has written. */
static void a_row_that_is_none_is_an_error(void **state)
{
    const char *path = *state;
    static const char *const changes[] = {
        "UPDATE entities SET text = x''",
        "UPDATE entities SET timestamp = -1",
        "UPDATE entities SET timestamp = 9223372036854775807",
        "UPDATE entities SET position = x'70'",
    };
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        struct call call = some_call();
        _cleanup_(table_store_destroyp) struct table_store *store =
            i == 0 ? open_with_table(path) : open_account(path);
        insert_row(store, "r", "");
        (void)run_sql(path, changes[i]);
        assert_int_equal(count_rows(store, whole_table(), NULL, &call), -EIO);
        (void)run_sql(path, "DELETE FROM entities");
    }
    struct call call;
    _cleanup_(table_store_destroyp) struct table_store *store = open_account(path);
    (void)run_sql(path, "UPDATE account SET last_timestamp = 5");
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "", "", &call, NULL), -EIO);
    set_last_timestamp(path, "-5");
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "", "", &call, NULL), -EIO);
    set_last_timestamp(path, "2534023007999999999");
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "", "", &call, NULL), -EOVERFLOW);
    set_last_timestamp(path, "2534023007999999999 / 10");
    assert_int_equal(write_row(store, WRITE_INSERT, "r", "", "", &call, NULL), 0);
}

static int insert_batch(struct table_store *store, int number, struct call *call)
{
    struct row_write rows[100];
    struct write writes[100];
    struct write_result results[100];
    for (int i = 0; i < 100; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%06d", number * 100 + i);
        rows[i] = make_write(WRITE_INSERT, "p", key, "\"A\": \"some text of some length\"", "");
        writes[i] = rows[i].write;
    }
    *call = some_call();
    int r = table_store_write(store, "items", writes, 100, call, results);
    for (int i = 0; i < 100; i++)
        row_write_finish(&rows[i]);
    return r;
}

/* Fills the disk and looks what is there; ret_batches were acknowledged. */
static int fill_disk(struct table_store *store, int *ret_batches)
{
    struct call call = some_call();
    int r = table_store_create_table(store, "items", &call);
    for (*ret_batches = 0; r == 0 && *ret_batches < 1000; ++*ret_batches)
        r = insert_batch(store, *ret_batches, &call);
    --*ret_batches;
    if (r != -ENOSPC || call.failure.error != -ENOSPC || !call.failure.message[0] ||
        !call.failure.advice || call.failure.is_ambiguous || *ret_batches < 1)
        return 10;
    if (count_all(store) != *ret_batches * 100)
        return 11;
    return insert_batch(store, *ret_batches, &call) == -ENOSPC ? 0 : 12;
}

static int fill_up_to_a_limit(const char *path)
{
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY};
    struct call call;
    int batches;
    (void)signal(SIGXFSZ, SIG_IGN);
    struct table_store *store = open_account(path);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    int r = fill_disk(store, &batches);
    limit.rlim_cur = RLIM_INFINITY;
    if (r != 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return r;
    if (insert_batch(store, batches, &call) != 0 || count_all(store) != (batches + 1) * 100)
        return 2;
    table_store_destroy(store);
    return read_all(path) == (batches + 1) * 100 ? 0 : 3;
}

static int fill_a_small_disk(const char *path)
{
    char folder[4200];
    int batches, r = enter_own_mounts();
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (r != 0)
        return r;
    if (mount("none", folder, "tmpfs", 0, "size=2m") < 0)
        return 77;
    struct table_store *store = open_account(path);
    r = fill_disk(store, &batches);
    table_store_destroy(store);
    if (r != 0)
        return r;
    return read_all(path) == batches * 100 ? 0 : 4;
}

static void a_full_disk_leaves_what_was_acknowledged(void **state)
{
    assert_int_equal(wait_for_child(start_child(fill_up_to_a_limit, *state)), 0);
}

static void a_full_file_system_leaves_what_was_acknowledged(void **state)
{
    int r = wait_for_child(start_child(fill_a_small_disk, *state));
    if (r == 77)
        skip();
    assert_int_equal(r, 0);
}

static int write_a_few(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    if (local_store_create(path, true, &clock_system, &call, &store) < 0)
        return 1;
    int r = table_store_create_table(store, "items", &call);
    if (r < 0 && r != -EEXIST)
        return 2;
    for (int i = 0; i < 20; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%d-%d", (int)getpid(), i);
        if (write_row(store, WRITE_INSERT, key, "", "", &call, NULL) < 0)
            return 3;
    }
    table_store_destroy(store);
    return 0;
}

static void several_processes_make_one_account(void **state)
{
    pid_t children[8];
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_child(write_a_few, *state);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        assert_int_equal(wait_for_child(children[i]), 0);
    assert_int_equal(read_all(*state), 160);
    assert_int_equal(run_sql(*state, "SELECT count(DISTINCT timestamp) FROM entities"), 160);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_missing_file_becomes_an_account_of_its_owner),
        WITH_FOLDER(its_real_path_has_no_links),
        WITH_FOLDER(what_is_no_account_is_refused),
        WITH_FOLDER(a_newer_format_is_refused),
        WITH_FOLDER(an_empty_database_becomes_an_account),
        WITH_FOLDER(a_read_only_file_is_read),
        WITH_FOLDER(a_file_on_a_read_only_file_system_is_read),
        WITH_FOLDER(a_file_cut_short_is_an_error),
        WITH_FOLDER(overwritten_pages_are_errors),
        WITH_FOLDER(damage_under_an_open_account_is_an_error),
        WITH_FOLDER(a_row_that_is_none_is_an_error),
        WITH_FOLDER(a_full_disk_leaves_what_was_acknowledged),
        WITH_FOLDER(a_full_file_system_leaves_what_was_acknowledged),
        WITH_FOLDER(several_processes_make_one_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
