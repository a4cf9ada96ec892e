/* SPDX-License-Identifier: MIT */
/* Versions that wait in a file. */
#include "cache/bulk/version_file.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY 20000

static struct version_file *create(int fd)
{
    struct version_file *file;
    assert_true(fd >= 0);
    assert_int_equal(version_file_create(fd, &file), 0);
    return file;
}

static struct bytes position_of(int n, char ret[32])
{
    return (struct bytes){ret, (size_t)snprintf(ret, 32, "p%c%d", '\0', n)};
}

static struct bytes etag_of(int n, char ret[32])
{
    return (struct bytes){ret, (size_t)snprintf(ret, 32, "W/\"%d\"", n)};
}

static void all_are_read_in_their_order(void **state)
{
    (void)state;
    _cleanup_(version_file_destroyp) struct version_file *file =
        create(memfd_create("versions", MFD_CLOEXEC));
    _cleanup_(buffer_finish) struct buffer version = {.max = 1000};
    size_t size;
    char position[32], etag[32];
    for (int n = 0; n < MANY; n++)
        assert_int_equal(version_file_add(file, position_of(n, position), etag_of(n, etag)), 0);
    assert_int_equal(version_file_count(file), MANY);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(version_file_rewind(file), 0);
        for (int n = 0; n < MANY; n++) {
            buffer_clear(&version);
            assert_int_equal(version_file_next(file, &version, &size), 1);
            assert_bytes(bytes_first(buffer_bytes(&version), size), position_of(n, position));
            assert_bytes(bytes_skip(buffer_bytes(&version), size), etag_of(n, etag));
        }
        assert_int_equal(version_file_next(file, &version, &size), 0);
    }
}

static void an_empty_file(void **state)
{
    (void)state;
    _cleanup_(version_file_destroyp) struct version_file *file =
        create(memfd_create("versions", MFD_CLOEXEC));
    struct buffer version = {.max = 1000};
    size_t size;
    assert_int_equal(version_file_rewind(file), 0);
    assert_int_equal(version_file_next(file, &version, &size), 0);
    assert_int_equal(version_file_count(file), 0);
}

/* Some of it may be in memory when it is full; then the rewind tells it. */
static void a_full_disk_is_told(void **state)
{
    (void)state;
    _cleanup_(version_file_destroyp) struct version_file *file =
        create(open("/dev/full", O_RDWR | O_CLOEXEC));
    int r = version_file_add(file, B("p"), B("e"));
    assert_int_equal(r, 0);
    assert_int_equal(version_file_rewind(file), -ENOSPC);
    for (int n = 0; r == 0 && n < MANY; n++)
        r = version_file_add(file, B("p"), B("e"));
    assert_int_equal(r, -ENOSPC);
}

/* A file that another process has cut. */
static void a_cut_file_is_told(void **state)
{
    (void)state;
    int fd = memfd_create("versions", MFD_CLOEXEC);
    _cleanup_(version_file_destroyp) struct version_file *file = create(fd);
    _cleanup_(buffer_finish) struct buffer version = {.max = 1000};
    size_t size;
    assert_int_equal(version_file_add(file, B("p"), B("e")), 0);
    assert_int_equal(version_file_rewind(file), 0);
    assert_int_equal(ftruncate(fd, 5), 0);
    assert_int_equal(version_file_next(file, &version, &size), -EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_read_in_their_order),
        cmocka_unit_test(an_empty_file),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_cut_file_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
