/* SPDX-License-Identifier: MIT */
#include "cache/known/table_names.h"
#include "client/text/table_name.h"
#include "tests/unit/unit.h"

#define A20 "aaaaaaaaaaaaaaaaaaaa"
#define A63 A20 A20 A20 "aaa"

static void names_are_legal_readable_or_shown(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_legal, is_readable, is_shown;
    } names[] = {
        {"abc", true, true, true},
        {"Z9z", true, true, true},
        {A63, true, true, true},
        {"$MetricsHourPrimaryTransactionsTable", false, true, true},
        {"$MetricsX", false, true, true},
        {"ab", false, false, true},
        {"a", false, false, true},
        {"1abc", false, false, true},
        {"$Metrics", false, false, false},
        {"$Metrics.", false, false, false},
        {"$Metrics" A63, false, false, false},
        {"$batch", false, false, false},
        {"", false, false, false},
        {A63 "a", false, false, false},
        {".", false, false, false},
        {"..", false, false, false},
        {".flat", false, false, false},
        {"a/b", false, false, false},
        {"a.b", false, false, false},
        {"a b", false, false, false},
        {"a_b", false, false, false},
        {"\xc3\xa4\xc3\xa4\xc3\xa4", false, false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct bytes name = bytes_of(names[i].name);
        assert_int_equal(table_name_is_legal(name), names[i].is_legal);
        assert_int_equal(table_name_is_readable(name), names[i].is_readable);
        assert_int_equal(table_name_is_shown(name), names[i].is_shown);
    }
}

/* Leaves out of a list and checks what remains. */
static struct left_out leave_out(struct bytes list, struct bytes expected)
{
    struct left_out left_out;
    _cleanup_(buffer_finish) struct buffer names = {.max = 1000};
    assert_int_equal(buffer_append(&names, list), 0);
    table_names_leave_out(&names, &left_out);
    assert_bytes(buffer_bytes(&names), expected);
    return left_out;
}

static void a_name_spoils_nothing_but_itself(void **state)
{
    (void)state;
    struct left_out left_out = leave_out(B("b\0B\0abc\0ABC\0"), B("b\0B\0abc\0ABC\0"));
    assert_int_equal(left_out.count, 0);
    assert_int_equal(left_out.hash, 0);
    left_out = leave_out(B(""), B(""));
    assert_int_equal(left_out.count, 0);
    left_out = leave_out(B("abc\0a/b\0$MetricsX\0"), B("abc\0$MetricsX\0"));
    assert_int_equal(left_out.count, 1);
    struct failure failure = table_names_failure(&left_out);
    assert_int_equal(failure.error, -EPROTO);
    assert_string_equal(failure.message,
                        "1 table is left out of the list, because no path can have its name: a/b");
    left_out = leave_out(B("../x\0a b\0abd\0..\0"), B("abd\0"));
    assert_int_equal(left_out.count, 3);
    failure = table_names_failure(&left_out);
    assert_string_equal(failure.message,
                        "3 tables are left out of the list, because no path can have their names, "
                        "the first of which is ../x");
    left_out = leave_out(B("\0a\0\0"), B("a\0"));
    assert_int_equal(left_out.count, 2);
}

static void another_list_has_another_hash(void **state)
{
    (void)state;
    uint64_t first = leave_out(B("a/b\0abc\0"), B("abc\0")).hash;
    assert_int_equal(leave_out(B("abd\0a/b\0"), B("abd\0")).hash, first);
    assert_int_not_equal(leave_out(B("a/b\0a/c\0"), B("")).hash, first);
    assert_int_not_equal(leave_out(B("a/b\0x/y\0"), B("")).hash,
                         leave_out(B("a/c\0x/y\0"), B("")).hash);
    assert_int_not_equal(leave_out(B("a/c\0"), B("")).hash, first);
}

static void a_long_name_is_cut_between_characters(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer names = {.max = 1000};
    struct left_out left_out;
    for (int i = 0; i < 100; i++)
        (void)buffer_append_string(&names, "\xE2\x82\xAC");
    assert_int_equal(buffer_append_char(&names, '\0'), 0);
    table_names_leave_out(&names, &left_out);
    assert_int_equal(strlen(left_out.example), 102);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_legal_readable_or_shown),
        cmocka_unit_test(a_name_spoils_nothing_but_itself),
        cmocka_unit_test(another_list_has_another_hash),
        cmocka_unit_test(a_long_name_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
