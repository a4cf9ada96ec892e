/* SPDX-License-Identifier: MIT */
#include "client/text/edm_value.h"
#include "tests/unit/unit.h"

#include <math.h>

/* The first token of a text. */
static struct json_token token_of(struct bytes json)
{
    struct json_reader reader;
    struct json_token token = {.kind = JSON_ERROR};
    json_reader_init(&reader);
    json_reader_feed(&reader, json, true);
    assert_true(json_reader_next(&reader, &token) >= JSON_STRING);
    return token;
}

#define NONE ((struct bytes){NULL, 0})

static void assert_value(struct bytes json, struct bytes annotation, enum edm_type type,
                         struct bytes expected_annotation, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer out;
    struct json_token token = token_of(json);
    struct edm_value value = edm_value_of(&token, annotation);
    buffer_init(&out, 1000);
    assert_int_equal(value.type, type);
    if (expected_annotation.data)
        assert_bytes(value.annotation, expected_annotation);
    else
        assert_null(value.annotation.data);
    assert_int_equal(edm_value_append(&out, &value), 0);
    assert_bytes(buffer_bytes(&out), expected);
}

static void assert_kept(struct bytes json, struct bytes annotation, enum edm_type type,
                        struct bytes expected)
{
    assert_value(json, annotation, type, annotation, expected);
}

static void without_annotation_the_token_decides(void **state)
{
    (void)state;
    assert_value(B("\"a\""), NONE, EDM_STRING, NONE, B("\"a\""));
    assert_value(B("\"\""), NONE, EDM_STRING, NONE, B("\"\""));
    assert_value(B("true"), NONE, EDM_BOOLEAN, NONE, B("true"));
    assert_value(B("false"), NONE, EDM_BOOLEAN, NONE, B("false"));
    assert_value(B("-5"), NONE, EDM_INT32, NONE, B("-5"));
    assert_value(B("-0"), NONE, EDM_INT32, NONE, B("0"));
    assert_value(B("9007199254740993"), NONE, EDM_INT32, NONE, B("9007199254740993"));
    assert_value(B("3.0"), NONE, EDM_DOUBLE, B("Edm.Double"), B("3.0"));
    assert_value(B("1e300"), NONE, EDM_DOUBLE, B("Edm.Double"), B("1e+300"));
    assert_value(B("1E+300"), NONE, EDM_DOUBLE, B("Edm.Double"), B("1e+300"));
    assert_value(B("0.1000000000000000055511151231257827"), NONE, EDM_DOUBLE, B("Edm.Double"),
                 B("0.1000000000000000055511151231257827"));
}

static void an_annotation_that_says_nothing_new_is_left_out(void **state)
{
    (void)state;
    assert_value(B("\"a\""), B("Edm.String"), EDM_STRING, NONE, B("\"a\""));
    assert_value(B("true"), B("Edm.Boolean"), EDM_BOOLEAN, NONE, B("true"));
    assert_value(B("7"), B("Edm.Int32"), EDM_INT32, NONE, B("7"));
    /* the annotation contradicts the value, so it is kept */
    assert_kept(B("7"), B("Edm.String"), EDM_STRING, B("7"));
    assert_kept(B("\"true\""), B("Edm.Boolean"), EDM_BOOLEAN, B("\"true\""));
    assert_kept(B("\"7\""), B("Edm.Int32"), EDM_INT32, B("\"7\""));
    assert_kept(B("7.0"), B("Edm.Int32"), EDM_INT32, B("7.0"));
}

static void an_annotation_is_kept(void **state)
{
    (void)state;
    assert_kept(B("\"9223372036854775807\""), B("Edm.Int64"), EDM_INT64,
                B("\"9223372036854775807\""));
    assert_kept(B("9007199254740993"), B("Edm.Int64"), EDM_INT64, B("\"9007199254740993\""));
    assert_kept(B("1.5"), B("Edm.Int64"), EDM_INT64, B("1.5"));
    assert_kept(B("\"NaN\""), B("Edm.Double"), EDM_DOUBLE, B("\"NaN\""));
    assert_kept(B("\"Infinity\""), B("Edm.Double"), EDM_DOUBLE, B("\"Infinity\""));
    assert_kept(B("\"-Infinity\""), B("Edm.Double"), EDM_DOUBLE, B("\"-Infinity\""));
    assert_kept(B("3.0"), B("Edm.Double"), EDM_DOUBLE, B("3.0"));
    assert_kept(B("3"), B("Edm.Double"), EDM_DOUBLE, B("3.0"));
    assert_kept(B("\"AAEC/x==\""), B("Edm.Binary"), EDM_BINARY, B("\"AAEC/w==\""));
    assert_kept(B("\"AAEC\\/\\u002B\""), B("Edm.Binary"), EDM_BINARY, B("\"AAEC/+\""));
    assert_kept(B("\"x\""), B("Edm.Other"), EDM_OTHER, B("\"x\""));
    assert_kept(B("1.0"), B("Edm.Other"), EDM_OTHER, B("1.0"));
    assert_kept(B("1"), B("edm.int32"), EDM_OTHER, B("1"));
    assert_kept(B("1"), B(""), EDM_OTHER, B("1"));
}

static void a_number_has_one_spelling(void **state)
{
    (void)state;
    static const struct {
        struct bytes type, json, expected;
    } cases[] = {
        {B("Edm.Double"), B("\"1.5\""), B("1.5")},
        {B("Edm.Double"), B("\"-3\""), B("-3.0")},
        {B("Edm.Double"), B("\"1\\u002e50\""), B("1.5")},
        {B("Edm.Double"), B("1E-07"), B("1e-7")},
        {B("Edm.Double"), B("\" 1\""), B("\" 1\"")},
        {B("Edm.Double"), B("\"\""), B("\"\"")},
        {B("Edm.Double"), B("\"1e9999999999\""), B("\"1e9999999999\"")},
        {B("Edm.Double"), B("1e9999999999"), B("1e9999999999")},
        {B("Edm.Double"), B("true"), B("true")},
        {B("Edm.Int64"), B("\"007\""), B("\"7\"")},
        {B("Edm.Int64"), B("\"-0\""), B("\"0\"")},
        {B("Edm.Int64"), B("\"-07\""), B("\"-7\"")},
        {B("Edm.Int64"), B("\"\\u0030\\u0037\""), B("\"7\"")},
        {B("Edm.Int64"), B("\"0x7\""), B("\"0x7\"")},
        {B("Edm.Int64"), B("\"0\""), B("\"0\"")},
        {B("Edm.Int64"), B("-0"), B("\"0\"")},
        {B("Edm.Int64"), B("1e+16"), B("\"10000000000000000\"")},
        {B("Edm.Int64"), B("-1.25E2"), B("\"-125\"")},
        {B("Edm.Int64"), B("5.0"), B("\"5\"")},
        {B("Edm.Int64"), B("1e19"), B("1e19")},
        {B("Edm.Int64"), B("true"), B("true")},
        {B("Edm.Int32"), B("-0"), B("0")},
        {B("Edm.Int32"), B("1e1"), B("1e1")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(buffer_finish) struct buffer out;
        struct json_token token = token_of(cases[i].json);
        struct edm_value value = edm_value_of(&token, cases[i].type);
        buffer_init(&out, 1000);
        assert_int_equal(buffer_append_string(&out, "before"), 0);
        assert_int_equal(edm_value_append(&out, &value), 0);
        assert_bytes(bytes_skip(buffer_bytes(&out), 6), cases[i].expected);
    }
}

static void a_guid_is_in_lower_case(void **state)
{
    (void)state;
    struct bytes guid = B("Edm.Guid");
    assert_kept(B("\"C9DA6455-213d-42C9-9A79-3E9149A57833\""), guid, EDM_GUID,
                B("\"c9da6455-213d-42c9-9a79-3e9149a57833\""));
    assert_kept(B("\"\\u00439DA6455-213d-42C9-9A79-3E9149A57833\""), guid, EDM_GUID,
                B("\"c9da6455-213d-42c9-9a79-3e9149a57833\""));
    /* none */
    assert_kept(B("\"G9DA6455-213d-42C9-9A79-3E9149A57833\""), guid, EDM_GUID,
                B("\"G9DA6455-213d-42C9-9A79-3E9149A57833\""));
    assert_kept(B("\"\""), guid, EDM_GUID, B("\"\""));
    assert_kept(B("12"), guid, EDM_GUID, B("12"));
}

static void a_datetime_is_utc_in_its_shortest_spelling(void **state)
{
    (void)state;
    static const struct bytes cases[][2] = {
        {B("\"2020-02-29T23:59:59.1230000Z\""), B("\"2020-02-29T23:59:59.123Z\"")},
        {B("\"2020-02-29T23:59:50.\\u0030Z\""), B("\"2020-02-29T23:59:50Z\"")},
        {B("\"2020-02-29T23:59:59.10\""), B("\"2020-02-29T23:59:59.1Z\"")},
        {B("\"2020-02-29T23:30:00.10-01:00\""), B("\"2020-03-01T00:30:00.1Z\"")},
        {B("\"2008-07-10Z\""), B("\"2008-07-10T00:00:00Z\"")},
        {B("\"2008-07-10\""), B("\"2008-07-10T00:00:00Z\"")},
        /* no times of the service: as they are */
        {B("\"2021-02-29T00:00:00.10Z\""), B("\"2021-02-29T00:00:00.10Z\"")},
        {B("\"1600-01-01T00:00:00.10Z\""), B("\"1600-01-01T00:00:00.10Z\"")},
        {B("\".0Z\""), B("\".0Z\"")},
        {B("\"\""), B("\"\"")},
        {B("10"), B("10")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_kept(cases[i][0], B("Edm.DateTime"), EDM_DATETIME, cases[i][1]);
    /* a string of that form is none */
    assert_value(B("\"2020-02-29T23:59:59.10Z\""), NONE, EDM_STRING, NONE,
                 B("\"2020-02-29T23:59:59.10Z\""));
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    static const struct {
        struct bytes json, type, expected;
    } cases[] = {
        {B("\"2020-02-29T23:59:59.0000000Z\""), B("Edm.DateTime"), B("\"2020-02-29T23:59:59Z\"")},
        {B("\"2020-02-29\""), B("Edm.DateTime"), B("\"2020-02-29T00:00:00Z\"")},
        {B("\"1.5\""), B("Edm.Double"), B("1.5")},
        {B("-1e20"), B("Edm.Double"), B("-100000000000000000000.0")},
        {B("1e-300"), B("Edm.Double"), B("1e-300")},
        {B("1e3"), B("Edm.Int64"), B("\"1000\"")},
        {B("\"007\""), B("Edm.Int64"), B("\"7\"")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json_token token = token_of(cases[i].json);
        struct edm_value value = edm_value_of(&token, cases[i].type);
        for (size_t max = 0; max < 100; max++) {
            _cleanup_(buffer_finish) struct buffer out;
            buffer_init(&out, max);
            int r = edm_value_append(&out, &value);
            if (max < cases[i].expected.size)
                assert_int_equal(r, -EFBIG);
            else if (max >= 64) /* the value may have been longer before it became canonical */
                assert_int_equal(r, 0);
            if (r == 0)
                assert_bytes(buffer_bytes(&out), cases[i].expected);
        }
    }
}

static void integers_are_digits_within_bounds(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        int64_t min, max, value;
    } good[] = {
        {B("0"), INT32_MIN, INT32_MAX, 0},
        {B("-0"), INT32_MIN, INT32_MAX, 0},
        {B("007"), INT32_MIN, INT32_MAX, 7},
        {B("2147483647"), INT32_MIN, INT32_MAX, INT32_MAX},
        {B("-2147483648"), INT32_MIN, INT32_MAX, INT32_MIN},
        {B("9223372036854775807"), INT64_MIN, INT64_MAX, INT64_MAX},
        {B("-9223372036854775808"), INT64_MIN, INT64_MAX, INT64_MIN},
    };
    static const struct bytes bad[] = {
        {NULL, 0}, B("-"),   B("+1"),  B("--1"),        B(" 1"),          B("1 "),
        B("1.0"),  B("1e3"), B("0x1"), B("2147483648"), B("-2147483649"), B("99999999999999999999"),
    };
    int64_t value = 42;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(edm_integer_parse(bad[i], INT32_MIN, INT32_MAX, &value));
    assert_false(edm_integer_parse(B("9223372036854775808"), INT64_MIN, INT64_MAX, &value));
    assert_false(edm_integer_parse(B("-9223372036854775809"), INT64_MIN, INT64_MAX, &value));
    assert_int_equal(value, 42);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(edm_integer_parse(good[i].text, good[i].min, good[i].max, &value));
        assert_true(value == good[i].value);
    }
}

static void doubles_are_numbers_of_json_or_special(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        double value;
    } good[] = {
        {B("0"), 0},
        {B("-0.0"), 0},
        {B("3"), 3},
        {B("1.5"), 1.5},
        {B("-1e300"), -1e300},
        {B("1E+2"), 100},
        {B("5e-324"), 5e-324},
        {B("1e-400"), 0},
        {B("0.1000000000000000055511151231257827"), 0.1},
        {B("Infinity"), INFINITY},
        {B("-Infinity"), -INFINITY},
    };
    static const struct bytes bad[] = {
        {NULL, 0}, B("nan"),   B("INF"),    B("infinity"), B("+1"),  B(" 1"),
        B("1 "),   B("1,5"),   B("0x10"),   B("1."),       B(".5"),  B("01"),
        B("1e"),   B("1e400"), B("-1e400"), B("true"),     B("1\0"),
    };
    double value = 42;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(edm_double_parse(bad[i], &value));
    assert_true(value == 42);
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(edm_double_parse(good[i].text, &value));
        assert_true(value == good[i].value);
    }
    assert_true(edm_double_parse(B("NaN"), &value));
    assert_true(isnan(value));
    assert_false(edm_double_parse(bytes_first(B("12345"), 4), &value)); /* a number goes on */
}

static void guids_are_sixteen_bytes(void **state)
{
    (void)state;
    static const unsigned char expected[EDM_GUID_BYTES] = {0xC9, 0xDA, 0x64, 0x55, 0x21, 0x3D,
                                                           0x42, 0xC9, 0x9A, 0x79, 0x3E, 0x91,
                                                           0x49, 0xA5, 0x78, 0x33};
    unsigned char guid[EDM_GUID_BYTES] = {0};
    assert_false(edm_guid_parse(B(""), guid));
    assert_false(edm_guid_parse(B("C9DA6455213d42C99A793E9149A57833"), guid));
    assert_false(edm_guid_parse(B("C9DA6455-213d-42C9-9A79-3E9149A5783g"), guid));
    assert_false(edm_guid_parse(B("{C9DA6455-213d-42C9-9A79-3E9149A57833}"), guid));
    assert_int_equal(guid[0], 0);
    assert_true(edm_guid_parse(B("C9DA6455-213d-42C9-9A79-3E9149A57833"), guid));
    assert_memory_equal(guid, expected, sizeof(expected));
}

static void names_are_letters_digits_and_underscores(void **state)
{
    (void)state;
    assert_int_equal(edm_name_size((struct bytes){NULL, 0}), 0);
    assert_int_equal(edm_name_size(B("aZ_09")), 5);
    assert_int_equal(edm_name_size(B("_")), 1);
    assert_int_equal(edm_name_size(B("0a")), 0);
    assert_int_equal(edm_name_size(B("a b")), 1);
    for (const char *other = "@[`{/:-. \x7F\xFF\\\""; *other; other++)
        assert_int_equal(edm_name_size((struct bytes){other, 1}), 0);
}

static void names_may_go_beyond_ascii(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        size_t size;
    } cases[] = {
        {B("\xC3\xA9"), 2},         {B("a\xC3\xA9 eq 1"), 3}, {B("\xE5\x90\x8D\xE5\x89\x8D"), 6},
        {B("\xF0\x9F\x98\x80"), 4}, {B("a\xC3"), 1},          {B("a\xED\xA0\x80"), 1},
        {B("\xE2\x80\xA8"), 3},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(edm_name_size(cases[i].text), cases[i].size);
}

static void names_are_measured_in_units(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "\xC3\xA9", "\xE5\x90\x8D"};
    _cleanup_(buffer_finish) struct buffer name;
    buffer_init(&name, 2000);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        buffer_clear(&name);
        for (int n = 0; n < EDM_NAME_MAX_UNITS - 2; n++)
            (void)buffer_append_string(&name, units[i]);
        assert_int_equal(buffer_append_string(&name, "\xF0\x9F\x98\x80"), 0);
        assert_false(edm_name_is_too_long(buffer_bytes(&name)));
        assert_int_equal(buffer_append_string(&name, "a"), 0);
        assert_true(edm_name_is_too_long(buffer_bytes(&name)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_annotation_the_token_decides),
        cmocka_unit_test(an_annotation_that_says_nothing_new_is_left_out),
        cmocka_unit_test(an_annotation_is_kept),
        cmocka_unit_test(a_number_has_one_spelling),
        cmocka_unit_test(a_guid_is_in_lower_case),
        cmocka_unit_test(a_datetime_is_utc_in_its_shortest_spelling),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(integers_are_digits_within_bounds),
        cmocka_unit_test(doubles_are_numbers_of_json_or_special),
        cmocka_unit_test(guids_are_sixteen_bytes),
        cmocka_unit_test(names_are_letters_digits_and_underscores),
        cmocka_unit_test(names_may_go_beyond_ascii),
        cmocka_unit_test(names_are_measured_in_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
