/* SPDX-License-Identifier: MIT */
#include "client/azure/entity_wire.h"
#include "client/azure/entity_answer.h"
#include "tests/unit/unit.h"

#define MAX_BYTES ((size_t)1 << 20)

static void expect_wire(struct bytes position, struct bytes text, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer wire;
    buffer_init(&wire, MAX_BYTES);
    assert_int_equal(entity_wire_append(&wire, position, text), 0);
    assert_bytes(buffer_bytes(&wire), expected);
}

static void every_type_is_sent_with_its_annotation(void **state)
{
    (void)state;
    expect_wire(B("p\0r"),
                B("{\n"
                  "  \"PartitionKey\": \"p\",\n"
                  "  \"RowKey\": \"r\",\n"
                  "  \"bin@odata.type\": \"Edm.Binary\",\n"
                  "  \"bin\": \"AQI=\",\n"
                  "  \"bool\": false,\n"
                  "  \"double@odata.type\": \"Edm.Double\",\n"
                  "  \"double\": 3.0,\n"
                  "  \"int\": -5,\n"
                  "  \"long@odata.type\": \"Edm.Int64\",\n"
                  "  \"long\": \"-9223372036854775808\",\n"
                  "  \"nan@odata.type\": \"Edm.Double\",\n"
                  "  \"nan\": \"NaN\",\n"
                  "  \"text\": \"a \\\"b\\\"\\n\\ud800\xF0\x9F\x98\x80\",\n"
                  "  \"time@odata.type\": \"Edm.DateTime\",\n"
                  "  \"time\": \"2025-01-02T03:04:05.1Z\"\n"
                  "}\n"),
                B("{\"PartitionKey\":\"p\",\"RowKey\":\"r\","
                  "\"bin@odata.type\":\"Edm.Binary\",\"bin\":\"AQI=\",\"bool\":false,"
                  "\"double@odata.type\":\"Edm.Double\",\"double\":3.0,\"int\":-5,"
                  "\"long@odata.type\":\"Edm.Int64\",\"long\":\"-9223372036854775808\","
                  "\"nan@odata.type\":\"Edm.Double\",\"nan\":\"NaN\","
                  "\"text\":\"a \\\"b\\\"\\n\\ud800\xF0\x9F\x98\x80\","
                  "\"time@odata.type\":\"Edm.DateTime\",\"time\":\"2025-01-02T03:04:05.1Z\"}"));
}

static void the_path_is_the_key(void **state)
{
    (void)state;
    const struct bytes text = B("{\n  \"PartitionKey\": \"other\",\n  \"RowKey\": \"x\"\n}\n");
    expect_wire(B("p\0r"), text, B("{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}"));
    expect_wire(B("p\0r"), B("{\n}\n"), B("{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}"));
    expect_wire(B("\0"), B("{\n  \"a\": true\n}\n"),
                B("{\"PartitionKey\":\"\",\"RowKey\":\"\",\"a\":true}"));
}

static void keys_leave_cesu8(void **state)
{
    (void)state;
    expect_wire(B("\xED\xA0\xBD\xED\xB8\x80'\"\\\x01\0\xC3\xBC/\xE2\x82\xAC"), B("{\n}\n"),
                B("{\"PartitionKey\":\"\xF0\x9F\x98\x80'\\u0022\\u005c\\u0001\","
                  "\"RowKey\":\"\xC3\xBC/\xE2\x82\xAC\"}"));
    expect_wire(B("\xED\xA0\xBD\0\xED\xB8\x80\xED\xA0\xBD"), B("{\n}\n"),
                B("{\"PartitionKey\":\"\\ud83d\",\"RowKey\":\"\\ude00\\ud83d\"}"));
}

static void it_stands_on_one_line(void **state)
{
    (void)state;
    expect_wire(
        B("a\xE2\x80\xA8\0\xE2\x80\xA9"),
        B("{\n  \"n\xE2\x80\xA8\": \"\xE2\x80\xA8\xE2\x80\xA7\xE2\x80\xA9\xE2\x82\xAC\"\n}\n"),
        B("{\"PartitionKey\":\"a\\u2028\",\"RowKey\":\"\\u2029\","
          "\"n\\u2028\":\"\\u2028\xE2\x80\xA7\\u2029\xE2\x82\xAC\"}"));
}

static void what_is_not_canonical_is_refused(void **state)
{
    (void)state;
    static const struct bytes texts[] = {B(""),
                                         B("[]"),
                                         B("{}"),
                                         B("{\n  \"a\": {}\n}\n"),
                                         B("{\n  \"a\": null\n}\n"),
                                         B("{\n  \"a\": 1\n}"),
                                         B("{\n  \"a\": 1,\n  \"a\": 2\n}\n"),
                                         B("{\n  \"d\": 1.5\n}\n"),
                                         B("{\n}\n{\n}\n"),
                                         B("p|r")};
    struct buffer wire;
    buffer_init(&wire, MAX_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_int_equal(entity_wire_append(&wire, B("p\0r"), texts[i]), -EINVAL);
    assert_int_equal(entity_wire_append(&wire, B("\xFF\0r"), B("{\n}\n")), -EINVAL);
    assert_int_equal(entity_wire_append(&wire, B("p\0\xF0\x9F\x98\x80"), B("{\n}\n")), -EINVAL);
    buffer_finish(&wire);
    buffer_init(&wire, 20);
    assert_int_equal(entity_wire_append(&wire, B("p\0r"), B("{\n}\n")), -EFBIG);
    buffer_finish(&wire);
}

/* What is sent and kept by the service is read as it was. */
static void what_is_sent_is_what_is_read(void **state)
{
    (void)state;
    static const struct {
        struct bytes position, text;
    } cases[] = {
        {B("p\0r"), B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\"\n}\n")},
        {B("\xED\xA0\xBD\xED\xB8\x80\0\xED\xA0\xBD"),
         B("{\n  \"PartitionKey\": \"\xF0\x9F\x98\x80\",\n  \"RowKey\": \"\\ud83d\",\n"
           "  \"\xC3\x9C@odata.type\": \"Edm.Odd\",\n  \"\xC3\x9C\": 1,\n"
           "  \"\xE2\x80\xA8\": \"\\\\u2028\xE2\x80\xA9\\t\x7F\"\n}\n")},
        {B("\"\\\x01\0\xE2\x80\xA8"),
         B("{\n  \"PartitionKey\": \"\\\"\\\\\\u0001\",\n  \"RowKey\": \"\xE2\x80\xA8\",\n"
           "  \"a@odata.type\": \"Edm.Double\",\n  \"a\": 1e+300,\n"
           "  \"b@odata.type\": \"Edm.Double\",\n  \"b\": 5.0,\n"
           "  \"c@odata.type\": \"Edm.Guid\",\n"
           "  \"c\": \"debc44d5-0000-4000-8000-0123456789ab\"\n}\n")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call = {0};
        struct page_builder *builder = NULL;
        struct page *page = NULL;
        _cleanup_(buffer_finish) struct buffer wire;
        buffer_init(&wire, MAX_BYTES);
        assert_int_equal(entity_wire_append(&wire, cases[i].position, cases[i].text), 0);
        assert_int_equal(page_builder_create(MAX_BYTES, &builder), 0);
        assert_int_equal(entity_answer_single(buffer_bytes(&wire), B("e"), &call, builder), 0);
        assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
        assert_bytes(page_position(page, 0), cases[i].position);
        assert_bytes(page_text(page, 0), cases[i].text);
        page_unref(page);
        page_builder_destroy(builder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_sent_with_its_annotation),
        cmocka_unit_test(the_path_is_the_key),
        cmocka_unit_test(keys_leave_cesu8),
        cmocka_unit_test(it_stands_on_one_line),
        cmocka_unit_test(what_is_not_canonical_is_refused),
        cmocka_unit_test(what_is_sent_is_what_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
