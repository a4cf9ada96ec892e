/* SPDX-License-Identifier: MIT */
#include "cache/list/level_names.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

#define MANY 300

/* The key of this index: longer and longer. */
static struct bytes key_of(size_t i)
{
    static char key[MANY + 1];
    memset(key, 'a' + (int)(i % 26), sizeof(key));
    return (struct bytes){key, i + 1};
}

static struct level_name name_of(size_t i)
{
    return (struct level_name){.is_prefix = i % 3 == 0, .key = key_of(i)};
}

static void assert_names(const struct level_names *names, size_t count)
{
    assert_int_equal(level_names_count(names), count);
    for (size_t i = 0; i < count; i++) {
        struct level_name name = level_names_at(names, i);
        assert_int_equal(name.is_prefix, i % 3 == 0);
        assert_bytes(name.key, key_of(i));
    }
}

static void names_are_kept_in_order(void **state)
{
    (void)state;
    struct level_names names;
    level_names_init(&names);
    assert_names(&names, 0);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++)
            assert_int_equal(level_names_append(&names, name_of(i)), 0);
        assert_names(&names, MANY);
        level_names_clear(&names);
        assert_names(&names, 0);
    }
    level_names_finish(&names);
}

static void an_empty_key_is_a_name(void **state)
{
    (void)state;
    struct level_names names;
    level_names_init(&names);
    assert_int_equal(level_names_append(&names, (struct level_name){.key = B("")}), 0);
    assert_int_equal(level_names_append(&names, (struct level_name){.key = B("a")}), 0);
    assert_int_equal(level_names_count(&names), 2);
    assert_bytes(level_names_at(&names, 0).key, B(""));
    assert_bytes(level_names_at(&names, 1).key, B("a"));
    level_names_finish(&names);
}

static void a_key_is_found(void **state)
{
    (void)state;
    static const char *const keys[] = {"b", "b", "d", "da"};
    struct level_names names;
    level_names_init(&names);
    assert_int_equal(level_names_seek(&names, B("a")), 0);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        assert_int_equal(level_names_append(&names, (struct level_name){.key = bytes_of(keys[i])}),
                         0);
    assert_int_equal(level_names_seek(&names, B("")), 0);
    assert_int_equal(level_names_seek(&names, B("b")), 0);
    assert_int_equal(level_names_seek(&names, B("c")), 2);
    assert_int_equal(level_names_seek(&names, B("d")), 2);
    assert_int_equal(level_names_seek(&names, B("da")), 3);
    assert_int_equal(level_names_seek(&names, B("e")), 4);
    level_names_finish(&names);
}

/* Each allocation fails once. What could not be appended may be appended again. */
static void a_failed_append_changes_nothing(void **state)
{
    (void)state;
    struct level_names names;
    int failures = 0;
    level_names_init(&names);
    for (size_t i = 0; i < MANY; i++) {
        int r;
        for (int times = 0;; times++) {
            allocations_until_failure = times % 2 == 0 ? 1 + i % 2 : 0;
            r = level_names_append(&names, name_of(i));
            allocations_until_failure = 0;
            if (r == 0)
                break;
            assert_int_equal(r, -ENOMEM);
            assert_true(times == 0);
            assert_names(&names, i);
            failures++;
        }
    }
    assert_names(&names, MANY);
    assert_true(failures > 5);
    level_names_finish(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept_in_order),
        cmocka_unit_test(an_empty_key_is_a_name),
        cmocka_unit_test(a_key_is_found),
        cmocka_unit_test(a_failed_append_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
