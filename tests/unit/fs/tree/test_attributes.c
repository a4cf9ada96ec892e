/* SPDX-License-Identifier: MIT */
#include "fs/tree/attributes.h"
#include "tests/unit/unit.h"

static const struct attributes mount = {.uid = 7, .gid = 8, .umask = 027, .mounted_at_100ns = 15};

static void a_file_shows_its_entity(void **state)
{
    (void)state;
    struct stat stat;
    attributes_of_file(&mount, 42, 513, 17000000001234567, &stat);
    assert_int_equal(stat.st_ino, 42);
    assert_int_equal(stat.st_mode, S_IFREG | 0640);
    assert_int_equal(stat.st_nlink, 1);
    assert_int_equal(stat.st_uid, 7);
    assert_int_equal(stat.st_gid, 8);
    assert_int_equal(stat.st_size, 513);
    assert_int_equal(stat.st_blocks, 2);
    assert_int_equal(stat.st_mtim.tv_sec, 1700000000);
    assert_int_equal(stat.st_mtim.tv_nsec, 123456700);
    assert_int_equal(stat.st_ctim.tv_nsec, 123456700);
}

static void times_before_1970_round_down(void **state)
{
    (void)state;
    struct stat stat;
    attributes_of_file(&mount, 1, 1, -1, &stat);
    assert_int_equal(stat.st_mtim.tv_sec, -1);
    assert_int_equal(stat.st_mtim.tv_nsec, 999999900);
    attributes_of_file(&mount, 1, 1, -116444736000000000, &stat); /* 1601 */
    assert_int_equal(stat.st_mtim.tv_sec, -11644473600);
    assert_int_equal(stat.st_mtim.tv_nsec, 0);
}

static void a_directory_shows_the_mount(void **state)
{
    (void)state;
    struct stat stat;
    attributes_of_directory(&mount, 9, &stat);
    assert_int_equal(stat.st_mode, S_IFDIR | 0750);
    assert_int_equal(stat.st_nlink, 1);
    assert_int_equal(stat.st_mtim.tv_nsec, 1500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_shows_its_entity),
        cmocka_unit_test(times_before_1970_round_down),
        cmocka_unit_test(a_directory_shows_the_mount),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
