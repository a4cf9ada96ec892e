/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_check.h"
#include "client/base/position.h"
#include "tests/unit/client/entity/canonical_texts.h"

static void assert_stored(struct bytes text)
{
    struct entity_refusal refusal = {.code = "none"};
    if (entity_check(POSITION, text, &refusal) != 0)
        fail_msg("%.*s: %s", (int)text.size, text.data, refusal.reason);
    assert_string_equal(refusal.code, "none");
}

static void assert_refused(struct bytes position, struct bytes text, int error, const char *code,
                           const char *name)
{
    struct entity_refusal refusal = {0};
    int r = entity_check(position, text, &refusal);
    if (r != error || refusal.error != error || strcmp(refusal.code, code) != 0)
        fail_msg("%.*s: %d, %s: %s", (int)text.size, text.data, r, refusal.code, refusal.reason);
    assert_bytes(refusal.name, bytes_of(name));
    assert_non_null(refusal.reason);
}

static void assert_value_refused(struct bytes text, const char *code)
{
    assert_refused(POSITION, text, -EINVAL, code, "x");
}

static void values_of_every_type_are_stored(void **state)
{
    (void)state;
    static const struct bytes texts[] = {
        TEXT(""),
        B("{\n}\n"),
        TEXT(PLAIN("x", "\"\"")),
        TEXT(PLAIN("x", "\"\\u0000\\ud800\xF0\x9F\x98\x80\"")),
        TEXT(PLAIN("x", "true")),
        TEXT(PLAIN("x", "false")),
        TEXT(PLAIN("x", "2147483647")),
        TEXT(PLAIN("x", "-2147483648")),
        TEXT(TYPED("x", "Int64", "\"9223372036854775807\"")),
        TEXT(TYPED("x", "Int64", "\"-9223372036854775808\"")),
        TEXT(TYPED("x", "Double", "1.5")),
        TEXT(TYPED("x", "Double", "1")),
        TEXT(TYPED("x", "Double", "\"1.5\"")),
        TEXT(TYPED("x", "Double", "\"NaN\"")),
        TEXT(TYPED("x", "Double", "\"-Infinity\"")),
        TEXT(TYPED("x", "DateTime", "\"1601-01-01T00:00:00Z\"")),
        TEXT(TYPED("x", "DateTime", "\"9999-12-31T23:59:59.9999999Z\"")),
        TEXT(TYPED("x", "Guid", "\"c9da6455-213d-42c9-9a79-3e9149a57833\"")),
        TEXT(TYPED("x", "Binary", "\"\"")),
        TEXT(TYPED("x", "Binary", "\"AAE=\"")),
        TEXT(PLAIN("_a1", "1") PLAIN("x", "1")),
        TEXT(PLAIN("\xC3\xA9", "1") PLAIN("\xE5\x90\x8D", "1") PLAIN("\xF0\x9F\x98\x80", "1")),
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_stored(texts[i]);
}

static void values_that_their_type_does_not_allow_are_refused(void **state)
{
    (void)state;
    static const struct bytes texts[] = {
        TEXT(PLAIN("x", "2147483648")),
        TEXT(PLAIN("x", "-2147483649")),
        TEXT(TYPED("x", "Int32", "\"7\"")),
        TEXT(TYPED("x", "Int32", "7.0")),
        TEXT(TYPED("x", "Int64", "\"9223372036854775808\"")),
        TEXT(TYPED("x", "Int64", "\"1.5\"")),
        TEXT(TYPED("x", "Int64", "\"\"")),
        TEXT(TYPED("x", "Int64", "1.5")),
        TEXT(TYPED("x", "Int64", "true")),
        TEXT(TYPED("x", "Double", "\"nan\"")),
        TEXT(TYPED("x", "Double", "\"\"")),
        TEXT(TYPED("x", "Double", "1e400")),
        TEXT(TYPED("x", "Double", "true")),
        TEXT(TYPED("x", "Boolean", "\"true\"")),
        TEXT(TYPED("x", "Boolean", "1")),
        TEXT(TYPED("x", "String", "1")),
        TEXT(TYPED("x", "String", "true")),
        TEXT(TYPED("x", "DateTime", "\"\"")),
        TEXT(TYPED("x", "DateTime", "\"2020-02-30T00:00:00Z\"")),
        TEXT(TYPED("x", "DateTime", "\"2020-02-20T00:00:00+14:01\"")),
        TEXT(TYPED("x", "DateTime", "\"10000-01-01T00:00:00Z\"")),
        TEXT(TYPED("x", "DateTime", "20200101")),
        TEXT(TYPED("x", "Guid", "\"c9da6455213d42c99a793e9149a57833\"")),
        TEXT(TYPED("x", "Guid", "1")),
        TEXT(TYPED("x", "Binary", "\"AA=\"")),
        TEXT(TYPED("x", "Binary", "\"AA AA\"")),
        TEXT(TYPED("x", "Binary", "1")),
        TEXT(TYPED("x", "Other", "\"1\"")),
        TEXT(TYPED("x", "Other", "1")),
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_value_refused(texts[i], "InvalidInput");
    assert_value_refused(TEXT(TYPED("x", "DateTime", "\"1600-12-31T23:59:59Z\"")),
                         "OutOfRangeInput");
    assert_value_refused(TEXT(TYPED("x", "DateTime", "\"0001-01-01T00:00:00Z\"")),
                         "OutOfRangeInput");
    assert_value_refused(TEXT(TYPED("x", "DateTime", "\"9999-12-31T23:00:00-01:00\"")),
                         "OutOfRangeInput");
}

static void names_are_those_of_the_service(void **state)
{
    (void)state;
    static const char *const names[] = {"",          "1",         "a-b",     "a b", "a.b",
                                        "\xC3\xA9-", "-\xC3\xA9", "\\ud83d", "@",   "\\\""};
    char text[200];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(text, sizeof(text), KEYS ",\n  \"%s\": 1\n}\n", names[i]);
        assert_refused(POSITION, bytes_of(text), -EINVAL, "PropertyNameInvalid", names[i]);
    }
}

/* One property with this name, and with the value "a". */
static int check_named(const struct buffer *name)
{
    struct entity_total total;
    struct entity_refusal refusal;
    struct json_token token = {.kind = JSON_STRING, .text = B("a")};
    struct edm_value string = edm_value_of(&token, (struct bytes){NULL, 0});
    assert_int_equal(entity_check_keys(POSITION, &total, &refusal), 0);
    int r = entity_check_property(buffer_bytes(name), &string, &total, &refusal);
    if (r < 0)
        assert_string_equal(refusal.code, "PropertyNameTooLong");
    return r < 0 ? r : (int)total.bytes;
}

/* Keys of two units, and 164; 8 for the property, 4 for the string. */
static void a_name_is_measured_in_units(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "\xC3\xA9", "\xE5\x90\x8D"};
    _cleanup_(buffer_finish) struct buffer name;
    buffer_init(&name, 2000);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        buffer_clear(&name);
        for (int n = 0; n < EDM_NAME_MAX_UNITS; n++)
            assert_int_equal(buffer_append_string(&name, units[i]), 0);
        assert_int_equal(check_named(&name), 164 + 2 * 2 + 8 + 255 * 2 + 4 + 2);
        assert_int_equal(buffer_append_string(&name, "a"), 0);
        assert_int_equal(check_named(&name), -EINVAL);
    }
    buffer_clear(&name);
    assert_int_equal(buffer_append_string(&name, "\xF0\x9F\x98\x80"), 0); /* two units */
    assert_int_equal(check_named(&name), 164 + 2 * 2 + 8 + 2 * 2 + 4 + 2);
}

static void keys_hold_512_units_of_some_characters(void **state)
{
    (void)state;
    static const struct {
        struct bytes key;
        int error;
        const char *code;
    } cases[] = {
        {B(""), 0, NULL},
        {B(" '%+.\xC2\xA0\xEF\xBF\xBF"), 0, NULL},
        {B("\xED\xA0\xBD\xED\xB8\x80"), 0, NULL},
        {B("\xED\xA0\xBD"), 0, NULL},
        {B("a/b"), -EINVAL, "OutOfRangeInput"},
        {B("a\\b"), -EINVAL, "OutOfRangeInput"},
        {B("a#b"), -EINVAL, "OutOfRangeInput"},
        {B("a?b"), -EINVAL, "OutOfRangeInput"},
        {B("\x1F"), -EINVAL, "OutOfRangeInput"},
        {B("\0"), -EINVAL, "OutOfRangeInput"},
        {B("\x7F"), -EINVAL, "OutOfRangeInput"},
        {B("\xC2\x80"), -EINVAL, "OutOfRangeInput"},
        {B("\xC2\x9F"), -EINVAL, "OutOfRangeInput"},
        {B("\xFF"), -EINVAL, "InvalidInput"},
        {B("\xF0\x9F\x98\x80"), -EINVAL, "InvalidInput"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct entity_refusal refusal = {0};
        assert_int_equal(entity_check_key(cases[i].key, &refusal), cases[i].error);
        assert_int_equal(refusal.error, cases[i].error);
        if (cases[i].error < 0)
            assert_string_equal(refusal.code, cases[i].code);
    }
}

static void a_key_is_measured_in_units(void **state)
{
    (void)state;
    static const char *const units[] = {"a", "\xE6\x97\xA5", "\xED\xA0\xBD\xED\xB8\x80"};
    static const int counts[] = {512, 512, 256};
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        struct entity_refusal refusal;
        _cleanup_(buffer_finish) struct buffer key;
        buffer_init(&key, 10000);
        for (int k = 0; k < counts[i]; k++)
            assert_int_equal(buffer_append_string(&key, units[i]), 0);
        assert_int_equal(entity_check_key(buffer_bytes(&key), &refusal), 0);
        assert_int_equal(buffer_append_string(&key, "a"), 0);
        assert_int_equal(entity_check_key(buffer_bytes(&key), &refusal), -ENAMETOOLONG);
        assert_string_equal(refusal.code, "KeyValueTooLarge");
    }
}

static void the_position_is_the_keys(void **state)
{
    (void)state;
    struct bytes none = B("{\n}\n");
    assert_refused(B("q\0r"), TEXT(""), -EINVAL, "InvalidInput", "");
    assert_refused(B("p\0s"), TEXT(""), -EINVAL, "InvalidInput", "");
    assert_refused(B("p\0"), TEXT(""), -EINVAL, "InvalidInput", "");
    assert_refused(B("p"), none, -EINVAL, "PropertiesNeedValue", "");
    assert_refused(B("p?\0r"), none, -EINVAL, "OutOfRangeInput", "");
    assert_refused(B("p\0r#"), none, -EINVAL, "OutOfRangeInput", "");
    assert_refused(B("p\0r\0"), none, -EINVAL, "OutOfRangeInput", "");
    struct entity_refusal refusal;
    assert_int_equal(entity_check(B("\0"), none, &refusal), 0);
    assert_int_equal(entity_check(B("\xED\xA0\xBD\xED\xB8\x80\0\xC3\xA9"),
                                  B("{\n  \"PartitionKey\": \"\xF0\x9F\x98\x80\",\n"
                                    "  \"RowKey\": \"\xC3\xA9\"\n}\n"),
                                  &refusal),
                     0);
}

static void what_is_not_canonical_is_refused(void **state)
{
    (void)state;
    assert_refused(POSITION, B(""), -EINVAL, "InvalidInput", "");
    assert_refused(POSITION, B("{}"), -EINVAL, "InvalidInput", "");
    assert_refused(POSITION, TEXT(PLAIN("b", "1") PLAIN("a", "1")), -EINVAL, "InvalidInput", "");
    assert_refused(POSITION, TEXT(PLAIN("a", "1.0")), -EINVAL, "InvalidInput", "");
}

/* A text with `count` properties a000... that have one value: `piece`, repeated. */
static void make(struct buffer *ret, int count, const char *type, const char *piece, size_t pieces)
{
    buffer_clear(ret);
    (void)buffer_append_string(ret, KEYS);
    for (int i = 0; i < count; i++) {
        if (type)
            (void)buffer_append_format(ret, ",\n  \"a%03d@odata.type\": \"%s\"", i, type);
        (void)buffer_append_format(ret, ",\n  \"a%03d\": \"", i);
        for (size_t k = 0; k < pieces; k++)
            (void)buffer_append_string(ret, piece);
        (void)buffer_append_string(ret, "\"");
    }
    assert_int_equal(buffer_append_string(ret, "\n}\n"), 0);
}

static void properties_are_counted_and_measured(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)4 << 20);
    make(&text, ENTITY_MAX_PROPERTIES, NULL, "", 0);
    assert_stored(buffer_bytes(&text));
    make(&text, ENTITY_MAX_PROPERTIES + 1, NULL, "", 0);
    assert_refused(POSITION, buffer_bytes(&text), -EINVAL, "TooManyProperties", "");

    static const struct {
        const char *piece;
        size_t pieces;
    } largest[] = {
        {"a", 32768},       {"\xE6\x97\xA5", 32768}, {"\xF0\x9F\x98\x80", 16384},
        {"\\u0001", 32768}, {"\\n", 32768},
    };
    for (size_t i = 0; i < ARRAY_SIZE(largest); i++) {
        make(&text, 1, NULL, largest[i].piece, largest[i].pieces);
        assert_stored(buffer_bytes(&text));
        make(&text, 1, NULL, largest[i].piece, largest[i].pieces + 1);
        assert_refused(POSITION, buffer_bytes(&text), -EINVAL, "PropertyValueTooLarge", "a000");
    }
    for (int i = 0; i < 2; i++) { /* a binary of 65,536 bytes, and of one more */
        make(&text, 1, "Edm.Binary", "AAAA", 21845);
        text.size -= sizeof("\"\n}\n") - 1;
        assert_int_equal(buffer_append_string(&text, i == 0 ? "AA==\"\n}\n" : "AAA=\"\n}\n"), 0);
        if (i == 0)
            assert_stored(buffer_bytes(&text));
        else
            assert_refused(POSITION, buffer_bytes(&text), -EINVAL, "PropertyValueTooLarge", "a000");
    }
}

/* With 15 strings of the greatest length, and one that fills the rest: 8 for a property, 2 a
 * character of its name, 4 and 2 a unit for a string; 164 and the keys' units for the entity. */
static void an_entity_has_a_megabyte(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    size_t rest = ENTITY_MAX_BYTES - 164 - 4 - 15 * (size_t)(8 + 8 + 4 + 65536);
    size_t units = (rest - 8 - 2 - 4) / 2;
    buffer_init(&text, (size_t)4 << 20);
    for (size_t more = 0; more <= 1; more++) {
        make(&text, 15, NULL, "a", 32768);
        text.size -= sizeof("\n}\n") - 1;
        (void)buffer_append_string(&text, ",\n  \"b\": \"");
        for (size_t i = 0; i < units + more; i++)
            (void)buffer_append_char(&text, 'b');
        assert_int_equal(buffer_append_string(&text, "\"\n}\n"), 0);
        if (more == 0)
            assert_stored(buffer_bytes(&text));
        else
            assert_refused(POSITION, buffer_bytes(&text), -EFBIG, "EntityTooLarge", "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_type_are_stored),
        cmocka_unit_test(values_that_their_type_does_not_allow_are_refused),
        cmocka_unit_test(names_are_those_of_the_service),
        cmocka_unit_test(a_name_is_measured_in_units),
        cmocka_unit_test(keys_hold_512_units_of_some_characters),
        cmocka_unit_test(a_key_is_measured_in_units),
        cmocka_unit_test(the_position_is_the_keys),
        cmocka_unit_test(what_is_not_canonical_is_refused),
        cmocka_unit_test(properties_are_counted_and_measured),
        cmocka_unit_test(an_entity_has_a_megabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
