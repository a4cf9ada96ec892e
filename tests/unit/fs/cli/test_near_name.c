/* SPDX-License-Identifier: MIT */
#include "fs/cli/near_name.h"
#include "tests/unit/unit.h"

static struct bytes near_of(struct bytes word)
{
    static const char *const names[] = {"mount", "unmount", "ttl", "ro"};
    struct near_name near = near_name_of(word);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        near_name_try(&near, bytes_of(names[i]));
    return near.nearest;
}

static void a_slip_of_two_letters_is_near(void **state)
{
    (void)state;
    assert_bytes(near_of(B("moutn")), B("mount"));
    assert_bytes(near_of(B("mnt")), B("mount"));
    assert_bytes(near_of(B("unmout")), B("unmount")); /* nearer than mount */
    assert_bytes(near_of(B("mount")), B("mount"));
    assert_bytes(near_of(B("ttll")), B("ttl"));
}

static void what_differs_more_is_not_near(void **state)
{
    (void)state;
    assert_bytes(near_of(B("mnut_")), B(""));
    assert_bytes(near_of(B("frobnicate")), B(""));
    assert_bytes(near_of(B("")), B(""));
    assert_bytes(near_of(B("xy")), B("")); /* two letters make ro of it, but they are all it has */
    assert_bytes(near_of(B("mountmountmountmountmountmountmo")), B("")); /* longer than any name */
}

static void a_hint_is_printed_behind_the_word(void **state)
{
    (void)state;
    char text[64];
    struct near_name near = near_name_of(B("moutn"));
    (void)snprintf(text, sizeof(text), "x" NEAR_NAME_FORMAT, NEAR_NAME_ARGUMENTS(near));
    assert_string_equal(text, "x");
    near_name_try(&near, B("mount"));
    (void)snprintf(text, sizeof(text), "x" NEAR_NAME_FORMAT, NEAR_NAME_ARGUMENTS(near));
    assert_string_equal(text, "x -- do you mean mount?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_of_two_letters_is_near),
        cmocka_unit_test(what_differs_more_is_not_near),
        cmocka_unit_test(a_hint_is_printed_behind_the_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
