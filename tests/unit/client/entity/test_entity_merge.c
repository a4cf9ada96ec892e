/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_merge.h"
#include "tests/unit/client/entity/canonical_texts.h"

static void assert_merged(struct bytes text, struct bytes over, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 1000);
    assert_int_equal(buffer_append_string(&out, "before"), 0);
    assert_int_equal(entity_merge_append(text, over, &out), 0);
    assert_bytes(bytes_skip(buffer_bytes(&out), 6), expected);
}

static void what_is_named_is_set_and_the_rest_stays(void **state)
{
    (void)state;
    assert_merged(TEXT(PLAIN("a", "1")), TEXT(""), TEXT(PLAIN("a", "1")));
    assert_merged(TEXT(""), TEXT(PLAIN("a", "1")), TEXT(PLAIN("a", "1")));
    assert_merged(TEXT(PLAIN("a", "1")), TEXT(PLAIN("a", "2")), TEXT(PLAIN("a", "2")));
    assert_merged(TEXT(PLAIN("a", "1") PLAIN("c", "3")), TEXT(PLAIN("b", "2")),
                  TEXT(PLAIN("a", "1") PLAIN("b", "2") PLAIN("c", "3")));
    assert_merged(TEXT(PLAIN("b", "2")), TEXT(PLAIN("a", "1") PLAIN("b", "\"x\"") PLAIN("c", "3")),
                  TEXT(PLAIN("a", "1") PLAIN("b", "\"x\"") PLAIN("c", "3")));
    assert_merged(TEXT(PLAIN("A", "1") PLAIN("a", "2")), TEXT(PLAIN("a", "3")),
                  TEXT(PLAIN("A", "1") PLAIN("a", "3")));
}

static void a_type_goes_with_its_property(void **state)
{
    (void)state;
    assert_merged(TEXT(TYPED("a", "Double", "1.0") PLAIN("b", "2")), TEXT(PLAIN("a", "1")),
                  TEXT(PLAIN("a", "1") PLAIN("b", "2")));
    assert_merged(TEXT(PLAIN("a", "1")), TEXT(TYPED("a", "Int64", "\"1\"")),
                  TEXT(TYPED("a", "Int64", "\"1\"")));
    assert_merged(TEXT(TYPED("a", "Int64", "\"1\"") PLAIN("c", "3")),
                  TEXT(TYPED("b", "Guid", "\"x\"")),
                  TEXT(TYPED("a", "Int64", "\"1\"") TYPED("b", "Guid", "\"x\"") PLAIN("c", "3")));
}

static void order_is_that_of_what_names_are(void **state)
{
    (void)state;
    /* `"` stands before A, A before `\`, though `\` begins the first and the last */
    assert_merged(TEXT(PLAIN("A", "2")), TEXT(PLAIN("\\\"", "1") PLAIN("\\\\", "3")),
                  TEXT(PLAIN("\\\"", "1") PLAIN("A", "2") PLAIN("\\\\", "3")));
}

static void keys_are_those_of_the_entity(void **state)
{
    (void)state;
    struct bytes other = B("{\n  \"PartitionKey\": \"x\",\n  \"RowKey\": \"y\",\n  \"a\": 1\n}\n");
    struct bytes none = B("{\n  \"a\": 1\n}\n");
    assert_merged(TEXT(""), other, TEXT(PLAIN("a", "1")));
    assert_merged(TEXT(""), none, TEXT(PLAIN("a", "1")));
    assert_merged(none, TEXT(""), TEXT(PLAIN("a", "1")));
    assert_merged(none, none, none);
    assert_merged(B("{\n}\n"), B("{\n}\n"), B("{\n}\n"));
    assert_merged(B("{\n  \"A\": 0\n}\n"), B("{\n  \"RowKey\": \"r\"\n}\n"),
                  B("{\n  \"RowKey\": \"r\",\n  \"A\": 0\n}\n"));
}

static void what_is_not_canonical_is_refused(void **state)
{
    (void)state;
    static const struct bytes bad[] = {
        {NULL, 0},
        B("{}"),
        TEXT(PLAIN("b", "1") PLAIN("a", "1")),
        TEXT(PLAIN("a", "1") PLAIN("b", "null")),
        B(KEYS ",\n  \"a\": 1"),
    };
    struct bytes good = TEXT(PLAIN("a", "1") PLAIN("z", "1"));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, 1000);
        assert_int_equal(entity_merge_append(bad[i], good, &out), -EPROTO);
        assert_int_equal(entity_merge_append(good, bad[i], &out), -EPROTO);
        assert_int_equal(entity_merge_append(bad[i], bad[i], &out), -EPROTO);
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    struct bytes expected = TEXT(PLAIN("a", "1") PLAIN("b", "2"));
    for (size_t max = 0; max < expected.size; max++) {
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, max);
        assert_int_equal(entity_merge_append(TEXT(PLAIN("a", "1")), TEXT(PLAIN("b", "2")), &out),
                         -EFBIG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_is_set_and_the_rest_stays),
        cmocka_unit_test(a_type_goes_with_its_property),
        cmocka_unit_test(order_is_that_of_what_names_are),
        cmocka_unit_test(keys_are_those_of_the_entity),
        cmocka_unit_test(what_is_not_canonical_is_refused),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
