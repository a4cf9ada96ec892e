/* SPDX-License-Identifier: MIT */
#include "fs/base/secret_file.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/test_secret_file.XXXXXX";
static char path[sizeof(directory) + 10];

static int set_up(void **state)
{
    (void)state;
    (void)umask(0);
    if (!mkdtemp(directory))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/file", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(directory);
}

static void make(mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("secret\r\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* NULL: it is read. */
static void expect(enum secret_file_rule rule, const char *message)
{
    char *text = NULL;
    struct call call = {0};
    int r = secret_file_read("the file", path, rule, &call, &text);
    assert_int_equal(r, message ? -EINVAL : 0);
    assert_int_equal(call.failure.advice != NULL, message != NULL);
    if (message)
        assert_string_equal(call.failure.message, message);
    else
        assert_string_equal(text, "secret");
    secret_file_wipe(text);
}

static const char others[] = "the file is not for its owner alone";

static void a_private_file_is_for_its_owner_alone(void **state)
{
    (void)state;
    for (mode_t bits = 0; bits < 0100; bits++) {
        make(0600 | bits);
        expect(SECRET_FILE_ANY, NULL);
        expect(SECRET_FILE_PRIVATE, bits ? others : NULL);
    }
}

/* Of root alone the group bits do not count. */
static void a_file_of_systemd_has_a_mask(void **state)
{
    (void)state;
    bool is_root = geteuid() == 0;
    make(0440);
    expect(SECRET_FILE_OF_SYSTEMD, is_root ? NULL : others);
    make(0444);
    expect(SECRET_FILE_OF_SYSTEMD, others);
    make(0400);
    expect(SECRET_FILE_OF_SYSTEMD, NULL);
}

/* Only root can make one. */
static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    make(0600);
    if (geteuid() != 0 || chown(path, 12345, 12345) != 0)
        return;
    expect(SECRET_FILE_ANY, NULL);
    expect(SECRET_FILE_PRIVATE, "the file belongs to another user");
    expect(SECRET_FILE_OF_SYSTEMD, "the file belongs to another user");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_file_is_for_its_owner_alone),
        cmocka_unit_test(a_file_of_systemd_has_a_mask),
        cmocka_unit_test(a_file_of_another_user_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
