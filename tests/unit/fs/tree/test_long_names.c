/* SPDX-License-Identifier: MIT */
#include "fs/tree/long_names.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define MANY 100

/* A key with this many characters, the last of which tell the number. */
static struct bytes key_of(char ret[1000], size_t size, int number)
{
    memset(ret, 'k', size);
    ret[size - 3] = (char)('0' + number / 100 % 10);
    ret[size - 2] = (char)('0' + number / 10 % 10);
    ret[size - 1] = (char)('0' + number % 10);
    return (struct bytes){ret, size};
}

static struct buffer name_of(struct bytes key, enum name_kind kind)
{
    struct buffer name;
    buffer_init(&name, NAME_MAX_BYTES);
    assert_int_equal(names_encode(key, kind, &name), 0);
    return name;
}

static void put(struct long_names *names, struct bytes key, enum name_kind kind)
{
    struct buffer name = name_of(key, kind);
    long_names_put(names, buffer_bytes(&name), kind, key);
    buffer_finish(&name);
}

static bool knows(struct long_names *names, struct bytes key, enum name_kind kind)
{
    struct buffer name = name_of(key, kind), found;
    buffer_init(&found, POSITION_MAX_BYTES);
    (void)buffer_append_string(&found, "cleared first");
    int r = long_names_find(names, buffer_bytes(&name), kind, &found);
    assert_true(r == 0 || r == 1);
    if (r == 1)
        assert_bytes(buffer_bytes(&found), key);
    buffer_finish(&found);
    buffer_finish(&name);
    return r;
}

static struct long_names *new_names(size_t max_bytes)
{
    struct long_names *names;
    assert_int_equal(long_names_create(max_bytes, &names), 0);
    return names;
}

DEFINE_OBJECT_FIXTURE(names, new_names(LONG_NAMES_MAX_BYTES), long_names_destroy)

static void a_name_that_was_given_out_has_its_key(void **state)
{
    struct long_names *names = *state;
    char text[1000];
    struct bytes key = key_of(text, 300, 1);
    assert_false(knows(names, key, NAME_ENTITY));
    put(names, key, NAME_ENTITY);
    put(names, key, NAME_ENTITY);
    assert_true(knows(names, key, NAME_ENTITY));
    assert_false(knows(names, key, NAME_PARTITION)); /* that has another name */
    put(names, key, NAME_PARTITION);
    assert_true(knows(names, key, NAME_PARTITION));
    assert_false(knows(names, key_of(text, 300, 2), NAME_ENTITY));
}

static void only_cut_names_are_kept(void **state)
{
    struct long_names *names = *state;
    char text[1000];
    put(names, B("short"), NAME_ENTITY);
    put(names, key_of(text, 250, 1), NAME_ENTITY);
    put(names, key_of(text, 255, 1), NAME_PARTITION);
    put(names, key_of(text, 100, 1), NAME_PREFIX);
    assert_false(knows(names, B("short"), NAME_ENTITY));
    assert_false(knows(names, key_of(text, 250, 1), NAME_ENTITY));
    assert_false(knows(names, key_of(text, 255, 1), NAME_PARTITION));
}

/* The digits of a key after another beginning are no name of it. */
static void a_name_of_another_beginning_is_not_known(void **state)
{
    struct long_names *names = *state;
    char text[1000];
    struct bytes key = key_of(text, 300, 1);
    struct buffer name = name_of(key, NAME_ENTITY), found;
    buffer_init(&found, POSITION_MAX_BYTES);
    put(names, key, NAME_ENTITY);
    name.data[0] = 'K';
    assert_int_equal(long_names_find(names, buffer_bytes(&name), NAME_ENTITY, &found), 0);
    buffer_finish(&found);
    buffer_finish(&name);
}

/* It is replaced by its key, once that is known. */
static void an_unsettled_key_is_not_kept(void **state)
{
    struct long_names *names = *state;
    char text[1000];
    struct bytes key = key_of(text, 300, 1), digits;
    struct buffer name = name_of(key, NAME_ENTITY), unsettled;
    buffer_init(&unsettled, POSITION_MAX_BYTES);
    assert_true(names_digits(buffer_bytes(&name), NAME_ENTITY, &digits));
    assert_int_equal(names_append_unsettled(bytes_first(key, 232), digits, &unsettled), 0);
    long_names_put(names, buffer_bytes(&name), NAME_ENTITY, buffer_bytes(&unsettled));
    assert_false(knows(names, key, NAME_ENTITY));
    put(names, key, NAME_ENTITY);
    assert_true(knows(names, key, NAME_ENTITY));
    buffer_finish(&unsettled);
    buffer_finish(&name);
}

static void those_that_are_not_used_are_forgotten_first(void **state)
{
    (void)state;
    char text[1000];
    _cleanup_(long_names_destroyp) struct long_names *names = new_names((size_t)10 * 1000);
    put(names, key_of(text, 500, 0), NAME_ENTITY);
    for (int i = 1; i < MANY; i++) {
        put(names, key_of(text, 500, i), NAME_ENTITY);
        assert_true(knows(names, key_of(text, 500, 0), NAME_ENTITY));
    }
    int known = 0;
    for (int i = 1; i < MANY; i++)
        known += knows(names, key_of(text, 500, i), NAME_ENTITY);
    assert_in_range(known, 10, 18); /* of 500 bytes each, and what a name takes beside its key */
    assert_true(knows(names, key_of(text, 500, MANY - 1), NAME_ENTITY));
}

static void without_memory_nothing_is_kept_and_nothing_is_wrong(void **state)
{
    (void)state;
    char text[1000];
    struct bytes key = key_of(text, 300, 1);
    _cleanup_(long_names_destroyp) struct long_names *names = NULL;
    allocations_until_failure = 1;
    assert_int_equal(long_names_create(1000, &names), -ENOMEM);
    names = new_names(LONG_NAMES_MAX_BYTES);
    struct buffer name = name_of(key, NAME_ENTITY), found;
    buffer_init(&found, POSITION_MAX_BYTES);
    allocations_until_failure = 1;
    long_names_put(names, buffer_bytes(&name), NAME_ENTITY, key);
    assert_int_equal(allocations_until_failure, 0);
    assert_false(knows(names, key, NAME_ENTITY));
    long_names_put(names, buffer_bytes(&name), NAME_ENTITY, key);
    allocations_until_failure = 1;
    assert_int_equal(long_names_find(names, buffer_bytes(&name), NAME_ENTITY, &found), -ENOMEM);
    assert_int_equal(long_names_find(names, buffer_bytes(&name), NAME_ENTITY, &found), 1);
    buffer_finish(&found);
    buffer_finish(&name);
}

static void *put_and_find(void *context)
{
    struct long_names *names = context;
    char text[1000];
    for (int i = 0; i < 300; i++) {
        put(names, key_of(text, 300, i % MANY), NAME_ENTITY);
        (void)knows(names, key_of(text, 300, (i + 50) % MANY), NAME_ENTITY);
    }
    return NULL;
}

static void threads_share_the_names(void **state)
{
    (void)state;
    _cleanup_(long_names_destroyp) struct long_names *names = new_names((size_t)10 * 1000);
    run_in_threads(4, put_and_find, names, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(names, a_name_that_was_given_out_has_its_key),
        TEST_WITH(names, only_cut_names_are_kept),
        TEST_WITH(names, a_name_of_another_beginning_is_not_known),
        TEST_WITH(names, an_unsettled_key_is_not_kept),
        cmocka_unit_test(those_that_are_not_used_are_forgotten_first),
        cmocka_unit_test(without_memory_nothing_is_kept_and_nothing_is_wrong),
        cmocka_unit_test(threads_share_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
