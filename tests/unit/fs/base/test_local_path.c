/* SPDX-License-Identifier: MIT */
#include "fs/base/local_path.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[PATH_MAX];

/* directory/account, directory/folder/, directory/link -> account */
static int make_files(void **state)
{
    (void)state;
    char name[] = "/tmp/tablefuse-local-path-XXXXXX";
    if (!mkdtemp(name) || !realpath(name, directory) || chdir(directory) < 0)
        return -1;
    FILE *file = fopen("account", "w");
    return !file || fclose(file) != 0 || symlink("account", "link") < 0 ||
           mkdir("folder", 0700) < 0;
}

static int remove_files(void **state)
{
    (void)state;
    return unlink("account") < 0 || unlink("link") < 0 || rmdir("folder") < 0 || chdir("/") < 0 ||
           rmdir(directory) < 0;
}

static const struct {
    const char *given;
    int result;
    const char *file, *table; /* file: in the directory */
} cases[] = {
    {"account", 0, "account", ""},
    {"./account", 0, "account", ""},
    {"folder/../account", 0, "account", ""},
    {"link", 0, "account", ""},
    {"new", 0, "new", ""}, /* it may be created */
    {"folder/new", 0, "folder/new", ""},
    {"folder", 0, "folder", ""}, /* refused when it is opened */
    {"account/", 0, "account", ""},
    {"account//", 0, "account", ""},
    {"account/t", 0, "account", "t"},
    {"account/Table1/", 0, "account", "Table1"},
    {"account//t//", 0, "account", "t"},
    {"link/t", 0, "account", "t"},
    {"account/a/b", -ENOTDIR, NULL, NULL},
    {"account/a/b/", -ENOTDIR, NULL, NULL},
    {"new/t", -ENOENT, NULL, NULL}, /* no file: no table of it */
    {"folder/none/t", -ENOENT, NULL, NULL},
    {"new/", -ENOENT, NULL, NULL},
    {"", -ENOENT, NULL, NULL},
};

static void a_file_is_split_from_its_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *path = NULL, *table = NULL;
        char expected[PATH_MAX + 64];
        int r = local_path_resolve(cases[i].given, &path, &table);
        if (r != cases[i].result)
            fail_msg("%s: %d", cases[i].given, r);
        if (r < 0)
            continue;
        (void)snprintf(expected, sizeof(expected), "%s/%s", directory, cases[i].file);
        assert_string_equal(path, expected);
        assert_string_equal(table, cases[i].table);
        free(path);
        free(table);
    }
}

static void absolute_paths(void **state)
{
    (void)state;
    _cleanup_(freep) char *path = NULL;
    _cleanup_(freep) char *table = NULL;
    char given[PATH_MAX + 64];
    (void)snprintf(given, sizeof(given), "%s/account/t", directory);
    assert_int_equal(local_path_resolve(given, &path, &table), 0);
    given[strlen(given) - 2] = '\0';
    assert_string_equal(path, given);
    assert_string_equal(table, "t");
    char *none = NULL;
    assert_int_equal(local_path_resolve("/dev/null/a/b", &none, &none), -ENOTDIR);
}

static void a_file_system_answers_also_about_what_is_not_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_true(local_path_answers(cases[i].given, 60000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_split_from_its_table),
        cmocka_unit_test(absolute_paths),
        cmocka_unit_test(a_file_system_answers_also_about_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
