/* SPDX-License-Identifier: MIT */
#include "cache/list/bookmarks.h"
#include "tests/unit/unit.h"

static void add(struct bookmarks *bookmarks, uint64_t cookie)
{
    char position[24];
    (void)snprintf(position, sizeof(position), "%llu", (unsigned long long)cookie);
    bookmarks_add(bookmarks, cookie, bytes_of(position));
}

static void the_nearest_before_is_found(void **state)
{
    (void)state;
    struct bookmarks *bookmarks = malloc(sizeof(*bookmarks));
    bookmarks_init(bookmarks, 1000);
    assert_null(bookmarks_find(bookmarks, 5));
    for (uint64_t cookie = 0; cookie < 10000; cookie += 500)
        add(bookmarks, cookie);
    assert_int_equal(bookmarks->n, 10); /* every other one was too near */
    assert_int_equal(bookmarks_find(bookmarks, 0)->cookie, 0);
    assert_int_equal(bookmarks_find(bookmarks, 2999)->cookie, 2000);
    assert_bytes(buffer_bytes(&bookmarks_find(bookmarks, 3000)->position), B("3000"));
    assert_int_equal(bookmarks_find(bookmarks, 1000000)->cookie, 9000);
    bookmarks_clear(bookmarks);
    assert_null(bookmarks_find(bookmarks, 3000));
    bookmarks_clear(bookmarks);
    free(bookmarks);
}

static void the_nearest_position_before_is_found(void **state)
{
    (void)state;
    struct bookmarks *bookmarks = malloc(sizeof(*bookmarks));
    bookmarks_init(bookmarks, 1000);
    assert_null(bookmarks_find_position(bookmarks, B("5")));
    for (uint64_t cookie = 1000; cookie < 10000; cookie += 1000)
        add(bookmarks, cookie);
    assert_null(bookmarks_find_position(bookmarks, B("0999")));
    assert_int_equal(bookmarks_find_position(bookmarks, B("1000"))->cookie, 1000);
    assert_int_equal(bookmarks_find_position(bookmarks, B("2999"))->cookie, 2000);
    assert_int_equal(bookmarks_find_position(bookmarks, B("9999"))->cookie, 9000);
    bookmarks_clear(bookmarks);
    free(bookmarks);
}

static void memory_does_not_grow_with_the_directory(void **state)
{
    (void)state;
    struct bookmarks *bookmarks = malloc(sizeof(*bookmarks));
    bookmarks_init(bookmarks, 1000);
    for (uint64_t cookie = 0; cookie < 10000000; cookie += 1000)
        add(bookmarks, cookie);
    assert_true(bookmarks->n <= BOOKMARKS_MAX && bookmarks->n > BOOKMARKS_MAX / 4);
    for (uint64_t cookie = 0; cookie < 10000000; cookie += 77777) {
        const struct bookmark *found = bookmarks_find(bookmarks, cookie);
        assert_true(found->cookie <= cookie && cookie - found->cookie <= bookmarks->spacing);
    }
    bookmarks_clear(bookmarks);
    free(bookmarks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_before_is_found),
        cmocka_unit_test(the_nearest_position_before_is_found),
        cmocka_unit_test(memory_does_not_grow_with_the_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
