/* SPDX-License-Identifier: MIT */
/* An account on a full disk, of which the WAL takes a part. In a child, whose mounts end with it.
 */
#include "tests/unit/local_account.h"
#include "tests/unit/own_mounts.h"

#include <fcntl.h>
#include <sys/mount.h>

#define ROWS       1000
#define BATCH_ROWS 100

static const char long_value[] = "\"A\": \"a value that makes the row long enough to fill pages: "
                                 "a value that makes the row long enough to fill pages\"";

static int mount_disk(const char *path, unsigned long flags, const char *size)
{
    char folder[4200];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    return mount("none", folder, "tmpfs", flags, size);
}

/* 0; 77: this user may not mount. */
static int enter_disk(const char *path, const char *size)
{
    int r = enter_own_mounts();
    return r == 0 && mount_disk(path, 0, size) < 0 ? 77 : r;
}

static int enter_small_disk(const char *path)
{
    return enter_disk(path, "size=4m");
}

static int write_batch(struct table_store *store, enum write_kind kind, int first,
                       struct call *call)
{
    struct row_write rows[BATCH_ROWS];
    struct write writes[BATCH_ROWS];
    struct write_result results[BATCH_ROWS];
    for (int i = 0; i < BATCH_ROWS; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "%06d", first + i);
        rows[i] = make_write(kind, "p", key, long_value, kind == WRITE_INSERT ? "" : "*");
        writes[i] = rows[i].write;
    }
    *call = some_call();
    int r = table_store_write(store, "items", writes, BATCH_ROWS, call, results);
    for (int i = 0; i < BATCH_ROWS; i++)
        row_write_finish(&rows[i]);
    return r;
}

static int write_all(struct table_store *store, enum write_kind kind)
{
    struct call call;
    int r = 0;
    for (int i = 0; i < ROWS && r == 0; i += BATCH_ROWS)
        r = write_batch(store, kind, i, &call);
    return r;
}

/* Until nothing is left for another file, not even a part of a page. */
static void fill_up(const char *path)
{
    static const char page[4096];
    char file[4200];
    (void)snprintf(file, sizeof(file), "%s.other", path);
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    while (write(fd, page, sizeof(page)) > 0)
        ;
    (void)close(fd);
}

static struct table_store *open_table(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    if (local_store_create(path, true, &clock_system, &call, &store) < 0)
        return NULL;
    int r = table_store_create_table(store, "items", &call);
    return r == 0 || r == -EEXIST ? store : NULL;
}

static int count_again(const char *path)
{
    struct table_store *store = open_table(path);
    int rows = store ? count_all(store) : -1;
    table_store_destroy(store);
    return rows;
}

/* The rows are in the file, and the WAL has changed pages of it. */
static int use_full_disk(const char *path, enum write_kind kind)
{
    struct table_store *store;
    int r = enter_small_disk(path);
    if (r != 0)
        return r;
    if (!(store = open_table(path)) || write_all(store, WRITE_INSERT) < 0)
        return 1;
    table_store_destroy(store);
    if (!(store = open_table(path)) || write_all(store, WRITE_REPLACE) < 0)
        return 2;
    fill_up(path);
    if (write_all(store, kind) < 0)
        return 3;
    int rows = kind == WRITE_DELETE ? 0 : ROWS;
    if (count_all(store) != rows)
        return 4;
    table_store_destroy(store);
    return count_again(path) == rows ? 0 : 5;
}

static int delete_all(const char *path)
{
    return use_full_disk(path, WRITE_DELETE);
}

static int replace_all(const char *path)
{
    return use_full_disk(path, WRITE_REPLACE);
}

/* The rows are in the WAL alone. */
static int delete_what_the_file_has_no_room_for(const char *path)
{
    struct call call;
    struct table_store *store;
    int r = enter_small_disk(path);
    if (r != 0)
        return r;
    if (!(store = open_table(path)) || write_all(store, WRITE_INSERT) < 0)
        return 1;
    fill_up(path);
    r = write_batch(store, WRITE_DELETE, 0, &call);
    if (r != -ENOSPC || call.failure.error != r || !call.failure.message[0] ||
        !call.failure.advice || call.failure.is_ambiguous)
        return 2;
    if (count_all(store) != ROWS)
        return 3;
    char other[4200];
    (void)snprintf(other, sizeof(other), "%s.other", path);
    if (unlink(other) < 0 || write_all(store, WRITE_DELETE) < 0)
        return 4;
    table_store_destroy(store);
    return count_again(path) == 0 ? 0 : 5;
}

/* One entity after the other, until there is no room. */
static int write_until_full(struct table_store *store, struct call *call)
{
    static char value[20000];
    (void)snprintf(value, sizeof(value), "\"A\": \"%0*d\"", (int)sizeof(value) - 10, 0);
    for (int i = 0, r = 0;; i++) {
        char key[16];
        struct write_result result;
        (void)snprintf(key, sizeof(key), "%06d", i);
        struct row_write row = make_write(WRITE_INSERT, "p", key, value, "");
        *call = some_call();
        r = table_store_write(store, "items", &row.write, 1, call, &result);
        row_write_finish(&row);
        if (r < 0)
            return r;
    }
}

/* Sweeping the rows of the dropped table changes more pages than SQLite keeps in memory. */
static int drop_a_table(const char *path)
{
    struct call call;
    struct table_store *store;
    int r = enter_disk(path, "size=12m");
    if (r != 0)
        return r;
    if (!(store = open_table(path)) || write_until_full(store, &call) != -ENOSPC)
        return 1;
    int rows = count_all(store);
    fill_up(path);
    call = some_call();
    r = table_store_delete_table(store, "items", &call);
    if (r != -ENOSPC || call.failure.error != r || !call.failure.message[0] ||
        !call.failure.advice || call.failure.is_ambiguous)
        return 2;
    if (count_all(store) != rows)
        return 3;
    call = some_call();
    if (mount_disk(path, MS_REMOUNT, "size=48m") < 0 ||
        table_store_delete_table(store, "items", &call) < 0)
        return 4;
    table_store_destroy(store);
    return count_again(path) == 0 ? 0 : 5; /* of a new table of that name */
}

static void run(int (*child)(const char *path), void **state)
{
    int r = wait_for_child(start_child(child, *state));
    if (r == 77)
        skip();
    assert_int_equal(r, 0);
}

static void changed_pages_in_the_wal_make_room_for_deletes(void **state)
{
    run(delete_all, state);
}

static void they_make_room_for_texts_of_the_same_length(void **state)
{
    run(replace_all, state);
}

static void new_pages_in_the_wal_make_none(void **state)
{
    run(delete_what_the_file_has_no_room_for, state);
}

static void a_drop_that_finds_no_room_says_so(void **state)
{
    run(drop_a_table, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(changed_pages_in_the_wal_make_room_for_deletes),
        WITH_FOLDER(they_make_room_for_texts_of_the_same_length),
        WITH_FOLDER(new_pages_in_the_wal_make_none),
        WITH_FOLDER(a_drop_that_finds_no_room_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
