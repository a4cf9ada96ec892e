/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_compare.h"
#include "tests/unit/client/entity/canonical_texts.h"

#define DOUBLE(x, v) TYPED(x, "Double", v)
#define INT64(x, v)  TYPED(x, "Int64", "\"" v "\"")

static void assert_equal(struct bytes a, struct bytes b, bool expected)
{
    assert_int_equal(entity_text_equal(a, b), expected);
    assert_int_equal(entity_text_equal(b, a), expected);
    assert_true(entity_text_equal(a, a));
    assert_true(entity_text_equal(b, b));
}

static void texts_equal_themselves(void **state)
{
    (void)state;
    assert_equal(TEXT(""), TEXT(""), true);
    assert_equal(B("{\n}\n"), B("{\n}\n"), true);
    assert_equal(TEXT(PLAIN("a", "1") PLAIN("b", "\"\\ud800\\\"\"")),
                 TEXT(PLAIN("a", "1") PLAIN("b", "\"\\ud800\\\"\"")), true);
}

static void doubles_are_compared_by_value(void **state)
{
    (void)state;
    static const struct {
        struct bytes a, b;
        bool is_equal;
    } cases[] = {
        {TEXT(DOUBLE("x", "1e300")), TEXT(DOUBLE("x", "1E+300")), true},
        {TEXT(DOUBLE("x", "3.0")), TEXT(DOUBLE("x", "3")), true},
        {TEXT(DOUBLE("x", "3.0")), TEXT(DOUBLE("x", "\"3\"")), true},
        {TEXT(DOUBLE("x", "-0.0")), TEXT(DOUBLE("x", "0.0")), true},
        {TEXT(DOUBLE("x", "0.1")), TEXT(DOUBLE("x", "0.1000000000000000055511151231257827")), true},
        {TEXT(DOUBLE("x", "0.1")), TEXT(DOUBLE("x", "0.10000000000000002")), false},
        {TEXT(DOUBLE("x", "\"NaN\"")), TEXT(DOUBLE("x", "\"NaN\"")), true},
        {TEXT(DOUBLE("x", "\"Infinity\"")), TEXT(DOUBLE("x", "\"Infinity\"")), true},
        {TEXT(DOUBLE("x", "\"Infinity\"")), TEXT(DOUBLE("x", "\"-Infinity\"")), false},
        {TEXT(DOUBLE("x", "\"NaN\"")), TEXT(DOUBLE("x", "0.0")), false},
        {TEXT(DOUBLE("x", "\"nan\"")), TEXT(DOUBLE("x", "\"NaN\"")), false},
        {TEXT(DOUBLE("x", "1e400")), TEXT(DOUBLE("x", "\"Infinity\"")), false},
        {TEXT(DOUBLE("x", "1e400")), TEXT(DOUBLE("x", "1e400")), true},
        {TEXT(DOUBLE("x", "3.0")), TEXT(PLAIN("x", "3")), false},
        {TEXT(DOUBLE("x", "3")), TEXT(INT64("x", "3")), false},
        {TEXT(DOUBLE("x", "3.0")), TEXT(DOUBLE("y", "3.0")), false},
        {TEXT(DOUBLE("x", "3.0") PLAIN("y", "1")), TEXT(DOUBLE("x", "3") PLAIN("y", "1")), true},
        {TEXT(DOUBLE("x", "3.0") PLAIN("y", "1")), TEXT(DOUBLE("x", "3") PLAIN("y", "2")), false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_equal(cases[i].a, cases[i].b, cases[i].is_equal);
}

static void all_else_is_compared_by_its_bytes(void **state)
{
    (void)state;
    assert_equal(TEXT(PLAIN("x", "3")), TEXT(PLAIN("x", "4")), false);
    assert_equal(TEXT(PLAIN("x", "\"3\"")), TEXT(INT64("x", "3")), false);
    assert_equal(TEXT(INT64("x", "3")), TEXT(INT64("x", "03")), false);
    assert_equal(TEXT(PLAIN("x", "true")), TEXT(PLAIN("x", "false")), false);
    assert_equal(TEXT(PLAIN("x", "\"a\"")), TEXT(PLAIN("x", "\"A\"")), false);
    assert_equal(TEXT(PLAIN("x", "3")), TEXT(PLAIN("X", "3")), false);
    assert_equal(TEXT(PLAIN("a", "1")), TEXT(PLAIN("a", "1") PLAIN("b", "2")), false);
    assert_equal(TEXT(""), TEXT(PLAIN("a", "1")), false);
    /* the keys are not looked at: a text to be written need not have them */
    assert_equal(TEXT(""), B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"s\"\n}\n"), true);
    assert_equal(TEXT(""), B("{\n}\n"), true);
    assert_equal(TEXT(PLAIN("a", "1") PLAIN("c", "3")), TEXT(PLAIN("a", "1") PLAIN("b", "2")),
                 false);
}

static void assert_includes(struct bytes whole, struct bytes part, bool expected)
{
    assert_int_equal(entity_text_includes(whole, part), expected);
}

static void a_whole_includes_every_property_of_its_part(void **state)
{
    (void)state;
    struct bytes whole =
        TEXT(",\n  \"\\\"\": 0,\n  \"A\": 1" DOUBLE("b", "2.0") ",\n  \"c\": \"3\"");
    assert_includes(whole, whole, true);
    assert_includes(whole, TEXT(""), true);
    assert_includes(whole, B("{\n}\n"), true);
    assert_includes(whole, B("{\n  \"c\": \"3\"\n}\n"), true);
    assert_includes(whole, B("{\n  \"\\\"\": 0,\n  \"c\": \"3\"\n}\n"), true);
    assert_includes(whole, TEXT(PLAIN("A", "1") DOUBLE("b", "2")), true);
    assert_includes(whole, TEXT(PLAIN("A", "2")), false);
    assert_includes(whole, TEXT(PLAIN("B", "1")), false);
    assert_includes(whole, TEXT(PLAIN("d", "1")), false);
    assert_includes(whole, TEXT(",\n  \"\": 1"), false);
    assert_includes(whole, B("{\n  \"PartitionKey\": \"q\"\n}\n"),
                    true); /* keys are not looked at */
    assert_includes(TEXT(""), whole, false);
    assert_includes(B("{\n}\n"), TEXT(""), true);
}

static void what_is_not_canonical_equals_nothing(void **state)
{
    (void)state;
    static const struct bytes bad[] = {
        {NULL, 0},
        B("{}"),
        B(KEYS ",\n  \"a\": 1\n}"),
        B(KEYS ",\n  \"a\": 1\n}\n\n"),
        TEXT(PLAIN("b", "1") PLAIN("a", "2")),
        TEXT(PLAIN("a", "1.0")),
        TEXT(PLAIN("a", "[1]")),
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_false(entity_text_equal(bad[i], bad[i]));
        assert_false(entity_text_includes(bad[i], B("{\n}\n")));
        assert_false(entity_text_includes(bad[i], TEXT("")));
        assert_false(entity_text_includes(TEXT(PLAIN("a", "1")), bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_equal_themselves),
        cmocka_unit_test(doubles_are_compared_by_value),
        cmocka_unit_test(all_else_is_compared_by_its_bytes),
        cmocka_unit_test(a_whole_includes_every_property_of_its_part),
        cmocka_unit_test(what_is_not_canonical_equals_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
