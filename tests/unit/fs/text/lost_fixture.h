/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FS_TEXT_LOST_FIXTURE_H
#define TESTS_UNIT_FS_TEXT_LOST_FIXTURE_H
/* What the tests of lost+found share: a directory of each test, and files that are kept in it. */
#include "fs/text/lost_and_found.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY  65534
#define AT      (INT64_C(1795341600) * TICKS_PER_SEC + 123 * TICKS_PER_MS) /* 2026-11-22T10:00 */
#define AT_NAME "20261122T100000." /* with which the names of files begin; the ms follow */
#define WHY_MAX ((size_t)2 * PATH_MAX)
#define LOST    "/tablefuse/lost+found"

static char top[PATH_MAX]; /* a new directory for each test */

static inline int make_top(void **state)
{
    char name[] = "/tmp/tablefuse-lost-XXXXXX";
    (void)state;
    return mkdtemp(name) && realpath(name, top) ? chdir(top) : -1;
}

static inline int remove_one(const char *path, const struct stat *status, int kind,
                             struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline int remove_top(void **state)
{
    (void)state;
    return chdir("/") < 0 ? -1 : nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Valid until the fourth call after it. */
static inline const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX + 256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
    return path;
}

static inline struct lost_and_found *new_lost(void)
{
    struct lost_and_found *lost = NULL;
    _cleanup_(buffer_finish) struct buffer why = {.max = WHY_MAX};
    struct state_places places = {path_of("state"), NULL, NULL, "/proc/nowhere"};
    assert_int_equal(lost_and_found_create(&places, path_of("mnt"), "acc", &why, &lost), 0);
    assert_int_equal(why.size, 0);
    return lost;
}

static inline struct failure_record record_of(const char *table, struct bytes position)
{
    struct failure_record record = {.at_100ns = AT,
                                    .operation = "close",
                                    .command = "cp",
                                    .table = table,
                                    .position = position,
                                    .failure = {.error = -EINVAL}};
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "line 1: no object");
    return record;
}

static inline void assert_file(const char *path, struct bytes expected)
{
    char text[4096];
    struct stat status;
    int file = open(path, O_RDONLY | O_NOFOLLOW);
    if (file < 0)
        fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fstat(file, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    ssize_t n = read(file, text, sizeof(text));
    (void)close(file);
    struct bytes found = {text, (size_t)n};
    assert_bytes(found, expected);
}

static inline size_t count_files(const char *directory)
{
    size_t n = 0;
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        n += entry->d_name[0] != '.';
    (void)closedir(stream);
    return n;
}

/* Puts the text and asserts the end of the file's name. */
static inline void assert_put(struct lost_and_found *lost, const char *table, struct bytes position,
                              struct bytes text, const char *name)
{
    struct failure_record record = record_of(table, position);
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX};
    char expected[PATH_MAX + 512];
    assert_int_equal(lost_and_found_put(lost, &record, text, true, &path), 0);
    (void)snprintf(expected, sizeof(expected), "%s/state" LOST "/" AT_NAME "%s", top, name);
    assert_bytes(buffer_bytes(&path), bytes_of(expected));
    assert_file(expected, text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)

#endif
