/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_line.h"
#include "tests/unit/client/entity/canonical_texts.h"

static const struct {
    const char *what;
    struct entity_line line;
    const char *expected; /* NULL: -EPROTO */
} cases[] = {
    {"keys and nothing else", {.text = TEXT("")}, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n"},
    {"every type",
     {.text = B(KEYS ",\n  \"A@odata.type\": \"Edm.Int64\",\n  \"A\": \"5\",\n  \"b\": 1.5,\n  "
                     "\"c\": true\n}\n")},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"A@odata.type\":\"Edm.Int64\",\"A\":\"5\",\"b\":1."
     "5,\"c\":true}\n"},
    {"quotes, colons and blanks in strings stay",
     {.text = B(KEYS ",\n  \"\\\"\\\\\\\": x\": \"a\\\": b,\\n  c\"\n}\n")},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"\\\"\\\\\\\": x\":\"a\\\": b,\\n  c\"}\n"},
    {"ETag and Timestamp behind the keys",
     {.text = TEXT(PLAIN("A", "1")), .etag = B("W/\"1\""), .timestamp = 17040672000000001},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"odata.etag\":\"W/\\\"1\\\"\","
     "\"Timestamp\":\"2024-01-01T00:00:00.0000001Z\",\"A\":1}\n"},
    {"ETag behind keys alone",
     {.text = TEXT(""), .etag = B("e")},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"odata.etag\":\"e\"}\n"},
    {"a part of the properties",
     {.text = TEXT(PLAIN("A", "1")), .etag = B("e"), .is_part = true},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"odata.etag\":\"e\",\"A\":1,\"odata.select\":true}"
     "\n"},
    {"none of the properties",
     {.text = TEXT(""), .is_part = true},
     "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"odata.select\":true}\n"},
    {"a line of keys",
     {.position = B("p\"\0\xed\xa0\xbd\xed\xb8\x80"), .etag = B("W/\"1\"")},
     "{\"PartitionKey\":\"p\\\"\",\"RowKey\":\"\xf0\x9f\x98\x80\",\"odata.etag\":\"W/\\\"1\\\"\","
     "\"odata.select\":true}\n"},
    {"empty keys",
     {.position = B("\0")},
     "{\"PartitionKey\":\"\",\"RowKey\":\"\",\"odata.select\":true}\n"},
    {"a half surrogate",
     {.position = B("\xed\xa0\xbd\0")},
     "{\"PartitionKey\":\"\\ud83d\",\"RowKey\":\"\",\"odata.select\":true}\n"},
    {"a key that is no text", {.position = B("\xff\0")}, NULL},
    {"one line", {.text = B("{}\n")}, NULL},
    {"no keys", {.text = B("{\n}\n")}, NULL},
    {"no indentation", {.text = B("{\n\"PartitionKey\": \"p\",\n\"RowKey\": \"r\"\n}\n")}, NULL},
    {"a name without an end", {.text = B(KEYS ",\n  \"A\n}\n")}, NULL},
    {"a name that ends in a backslash", {.text = B(KEYS ",\n  \"A\\")}, NULL},
    {"no blank behind the colon", {.text = B(KEYS ",\n  \"A\":1\n}\n")}, NULL},
    {"text behind the end", {.text = B(KEYS "\n}\n}\n")}, NULL},
    {"no end", {.text = B(KEYS "\n")}, NULL},
};

static void each_entity_is_a_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(buffer_finish) struct buffer ret;
        buffer_init(&ret, 1000);
        int r = entity_line_append(&ret, &cases[i].line);
        assert_int_equal(r, cases[i].expected ? 0 : -EPROTO);
        if (cases[i].expected)
            assert_bytes(buffer_bytes(&ret), bytes_of(cases[i].expected));
    }
}

static void a_line_that_is_too_long_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t max = 0; cases[i].expected && max < strlen(cases[i].expected); max++) {
            _cleanup_(buffer_finish) struct buffer ret;
            buffer_init(&ret, max);
            assert_int_equal(entity_line_append(&ret, &cases[i].line), -EFBIG);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_entity_is_a_line),
        cmocka_unit_test(a_line_that_is_too_long_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
