/* SPDX-License-Identifier: MIT */
/* An account that cannot be made leaves no file behind, and no other file is removed. */
#include "client/local/local_file.h"
#include "tests/unit/local_account.h"
#include "tests/unit/own_mounts.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#define PAGE_BYTES 4096
#define MAX_PAGES  64 /* an account without tables has less */

static bool is_there(const char *path, const char *end)
{
    struct stat status;
    char file[4200];
    (void)snprintf(file, sizeof(file), "%s%s", path, end);
    return lstat(file, &status) == 0;
}

static bool is_nothing_there(const char *path)
{
    return !is_there(path, "") && !is_there(path, "-wal") && !is_there(path, "-shm");
}

/* 0 or -errno. */
static int create(const char *path)
{
    struct call call = some_call();
    struct table_store *store;
    int r = local_store_create(path, true, &clock_system, &call, &store);
    if (r == 0)
        table_store_destroy(store);
    else if (call.failure.error != r || !call.failure.message[0])
        return 1;
    return r;
}

/* With room for more and more pages, until it is enough. */
static int create_on_small_disks(const char *path)
{
    char folder[4200], size[64];
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    int entered = enter_own_mounts();
    if (entered != 0)
        return entered;
    for (int pages = 1; pages < MAX_PAGES; pages++) {
        (void)snprintf(size, sizeof(size), "size=%d", pages * PAGE_BYTES);
        if (mount("none", folder, "tmpfs", 0, size) < 0)
            return 77;
        int r = create(path);
        if (r == 0)
            return pages > 1 && is_there(path, "") ? 0 : 2;
        if (r != -ENOSPC || !is_nothing_there(path))
            return 3;
        if (umount(folder) < 0)
            return 4;
    }
    return 5;
}

static void a_full_disk_gets_no_file(void **state)
{
    int r = wait_for_child(start_child(create_on_small_disks, *state));
    if (r == 77)
        skip();
    assert_int_equal(r, 0);
}

static int create_up_to_a_limit(const char *path)
{
    struct rlimit limit = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    if (create(path) >= 0 || !is_nothing_there(path))
        return 2;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    (void)close(fd);
    return create(path) < 0 && is_there(path, "") ? 0 : 3;
}

static void only_a_file_that_was_missing_is_removed(void **state)
{
    assert_int_equal(wait_for_child(start_child(create_up_to_a_limit, *state)), 0);
}

/* Uses a database without content, which is stopped meanwhile. */
static int use_empty(const char *path)
{
    sqlite3 *database;
    if (sqlite3_open(path, &database) != SQLITE_OK ||
        sqlite3_exec(database, "PRAGMA journal_mode = WAL; SELECT * FROM sqlite_schema", NULL, NULL,
                     NULL) != SQLITE_OK)
        return 1;
    (void)raise(SIGSTOP);
    return sqlite3_close(database) == SQLITE_OK ? 0 : 2;
}

static void what_another_process_uses_is_not_removed(void **state)
{
    const char *path = *state;
    int status;
    pid_t child = start_child(use_empty, path);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    local_file_remove_created(path);
    assert_true(is_there(path, ""));
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(wait_for_child(child), 0);
    local_file_remove_created(path);
    assert_true(is_nothing_there(path));
}

static void what_another_process_made_is_not_removed(void **state)
{
    const char *path = *state;
    table_store_destroy(open_account(path));
    local_file_remove_created(path);
    assert_true(is_there(path, ""));
    local_file_remove_created("/nowhere/file");
}

/* Somebody may have put it there before. */
static void a_file_that_others_may_write_is_not_taken_for_a_new_one(void **state)
{
    static const mode_t harmless[] = {0600, 0644, 0664, 0660}, harmful[] = {0666, 0602, 0646};
    const char *path = *state;
    struct call call = some_call();
    struct table_store *store;
    assert_int_equal(create(path), 0);
    for (size_t i = 0; i < ARRAY_SIZE(harmful); i++) {
        assert_int_equal(chmod(path, harmful[i]), 0);
        assert_int_equal(create(path), -EPERM);
        assert_true(is_there(path, ""));
    }
    assert_int_equal(local_store_create(path, false, &clock_system, &call, &store), 0);
    table_store_destroy(store);
    for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
        assert_int_equal(chmod(path, harmless[i]), 0);
        assert_int_equal(create(path), 0);
    }
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    assert_int_equal(create(path), -EPERM);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(create(path), -EPERM);
}

static int create_without_descriptors(const char *path)
{
    struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};
    return setrlimit(RLIMIT_NOFILE, &none) == 0 && create(path) == -ENFILE ? 0 : 1;
}

static void without_a_descriptor_the_reason_is_that(void **state)
{
    assert_int_equal(wait_for_child(start_child(create_without_descriptors, *state)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_full_disk_gets_no_file),
        WITH_FOLDER(only_a_file_that_was_missing_is_removed),
        WITH_FOLDER(what_another_process_uses_is_not_removed),
        WITH_FOLDER(what_another_process_made_is_not_removed),
        WITH_FOLDER(a_file_that_others_may_write_is_not_taken_for_a_new_one),
        WITH_FOLDER(without_a_descriptor_the_reason_is_that),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
