/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_select.h"
#include "tests/unit/client/entity/canonical_texts.h"

static const struct bytes text =
    B(KEYS ",\n  \"A\": 1,\n  \"B@odata.type\": \"Edm.Double\",\n  \"B\": 2.0,\n  \"a\\\"b\": 3,\n"
           "  \"b\": \"4\",\n  \"c\": true,\n  \"\xC3\xA9\": 5,\n  \"\xF0\x9F\x98\x80\": 6\n}\n");

static void assert_selected(struct bytes list, struct bytes expected)
{
    struct entity_select select;
    _cleanup_(buffer_finish) struct buffer out;
    const char *problem;
    size_t at;
    buffer_init(&out, 1000);
    assert_int_equal(entity_select_init(&select, list, &problem, &at), 0);
    assert_int_equal(buffer_append_string(&out, "before"), 0);
    assert_int_equal(entity_select_append(&select, text, &out), 0);
    assert_bytes(bytes_skip(buffer_bytes(&out), 6), expected);
}

static void what_is_named_stays(void **state)
{
    (void)state;
    assert_selected(B("A"), TEXT(PLAIN("A", "1")));
    assert_selected(B("c,A"), TEXT(PLAIN("A", "1") PLAIN("c", "true")));
    assert_selected(B("B"), TEXT(TYPED("B", "Double", "2.0")));
    assert_selected(B("\xF0\x9F\x98\x80,\xC3\xA9"),
                    TEXT(PLAIN("\xC3\xA9", "5") PLAIN("\xF0\x9F\x98\x80", "6")));
    assert_selected(B("b,b,b"), TEXT(PLAIN("b", "\"4\"")));
    assert_selected(B("a,ab,A,zz,b,Timestamp"), TEXT(PLAIN("A", "1") PLAIN("b", "\"4\"")));
}

static void keys_stay_whether_named_or_not(void **state)
{
    (void)state;
    assert_selected(B("PartitionKey"), TEXT(""));
    assert_selected(B("RowKey,PartitionKey,Timestamp"), TEXT(""));
    assert_selected(B("C"), TEXT(""));
}

static void a_text_without_keys_has_none_afterwards(void **state)
{
    (void)state;
    struct entity_select select;
    _cleanup_(buffer_finish) struct buffer out;
    const char *problem;
    size_t at;
    buffer_init(&out, 1000);
    assert_int_equal(entity_select_init(&select, B("b"), &problem, &at), 0);
    assert_int_equal(entity_select_append(&select, B("{\n  \"a\": 1\n}\n"), &out), 0);
    assert_int_equal(entity_select_append(&select, B("{\n  \"b\": 1\n}\n"), &out), 0);
    assert_bytes(buffer_bytes(&out), B("{\n}\n{\n  \"b\": 1\n}\n"));
}

static void a_list_has_its_names(void **state)
{
    (void)state;
    struct entity_select select;
    const char *problem;
    size_t at;
    assert_int_equal(entity_select_init(&select, B("b,Timestamp,a"), &problem, &at), 0);
    assert_true(entity_select_has(&select, B("a")));
    assert_true(entity_select_has(&select, B("Timestamp")));
    assert_false(entity_select_has(&select, B("timestamp")));
    assert_false(entity_select_has(&select, B("Time")));
    assert_false(entity_select_has(&select, B("")));
}

static void assert_refused(struct bytes list, const char *expected, size_t expected_at)
{
    struct entity_select select;
    const char *problem = NULL;
    size_t at = 0;
    assert_int_equal(entity_select_init(&select, list, &problem, &at), -EINVAL);
    assert_string_equal(problem, expected);
    assert_int_equal(at, expected_at);
}

static void what_is_no_list_of_names_is_refused(void **state)
{
    (void)state;
    static const char none[] = "the name of a property is expected here";
    static const char other[] = "not a part of a property's name";
    assert_refused((struct bytes){NULL, 0}, none, 0);
    assert_refused(B(","), none, 0);
    assert_refused(B("a,"), none, 2);
    assert_refused(B("a,,b"), none, 2);
    assert_refused(B("*"), none, 0);
    assert_refused(B("a, b"), none, 2);
    assert_refused(B("a,1b"), none, 2);
    assert_refused(B("a\0"), other, 1);
    assert_refused(B("a b"), other, 1);
    assert_refused(B("Size X"), other, 4);
    assert_refused(B("a,odata.etag"), other, 7);
    assert_refused(B("\xC3"), none, 0);
    assert_refused(B("b,a\xC3"), other, 3);
}

static void lists_and_names_have_a_maximum(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer list;
    struct entity_select select;
    const char *problem;
    size_t at;
    buffer_init(&list, 10000);
    for (int i = 0; i < ENTITY_SELECT_MAX_NAMES; i++)
        assert_int_equal(buffer_append_format(&list, i > 0 ? ",a%03d" : "a%03d", i), 0);
    assert_int_equal(entity_select_init(&select, buffer_bytes(&list), &problem, &at), 0);
    assert_int_equal(select.count, ENTITY_SELECT_MAX_NAMES);
    assert_int_equal(buffer_append_string(&list, ",b"), 0);
    assert_refused(buffer_bytes(&list), "more than 255 names", list.size - 1);
    buffer_clear(&list);
    for (int i = 0; i < 255; i++)
        assert_int_equal(buffer_append_char(&list, 'a'), 0);
    assert_int_equal(entity_select_init(&select, buffer_bytes(&list), &problem, &at), 0);
    assert_int_equal(buffer_append_char(&list, 'a'), 0);
    assert_refused(buffer_bytes(&list), "a name that is longer than any property's", 0);
}

static void errors_are_reported(void **state)
{
    (void)state;
    struct entity_select select;
    struct buffer out;
    const char *problem;
    size_t at;
    assert_int_equal(entity_select_init(&select, B("A"), &problem, &at), 0);
    buffer_init(&out, 1000);
    assert_int_equal(entity_select_append(&select, B("{}"), &out), -EPROTO);
    assert_int_equal(entity_select_append(&select, bytes_first(text, text.size - 1), &out),
                     -EPROTO);
    buffer_finish(&out);
    for (size_t max = 0; max < sizeof(KEYS ",\n  \"A\": 1\n}\n") - 1; max++) {
        buffer_init(&out, max);
        assert_int_equal(entity_select_append(&select, text, &out), -EFBIG);
        buffer_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_named_stays),
        cmocka_unit_test(keys_stay_whether_named_or_not),
        cmocka_unit_test(a_text_without_keys_has_none_afterwards),
        cmocka_unit_test(a_list_has_its_names),
        cmocka_unit_test(what_is_no_list_of_names_is_refused),
        cmocka_unit_test(lists_and_names_have_a_maximum),
        cmocka_unit_test(errors_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
