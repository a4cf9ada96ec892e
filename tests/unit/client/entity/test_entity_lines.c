/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_lines.h"
#include "tests/unit/unit.h"

/* How many properties; or -EPROTO. The text stands at the end of memory of its own, so that a read
 * after it is seen. */
static int count(struct bytes text)
{
    struct entity_lines lines;
    struct entity_property property;
    char *copy = malloc(1 + text.size);
    int n = 0, r;
    memcpy(copy + 1, text.data, text.size);
    entity_lines_init(&lines, (struct bytes){copy + 1, text.size});
    while ((r = entity_lines_next(&lines, &property)) > 0)
        n++;
    if (r == 0)
        assert_int_equal(entity_lines_next(&lines, &property), 0);
    free(copy);
    return r < 0 ? r : n;
}

static void properties_come_in_order(void **state)
{
    (void)state;
    static const struct {
        enum entity_role role;
        struct bytes name, annotation, value, lines;
    } expected[] = {
        {ENTITY_PARTITION_KEY, B("PartitionKey"), {0}, B("p"), B("\"PartitionKey\": \"p\"")},
        {ENTITY_ROW_KEY, B("RowKey"), {0}, B("r"), B("\"RowKey\": \"r\"")},
        {ENTITY_PROPERTY, B("\\\""), {0}, B("x"), B("\"\\\"\": \"x\"")},
        {ENTITY_PROPERTY, B("A"), B("Edm.Int64"), B("1"),
         B("\"A@odata.type\": \"Edm.Int64\",\n  \"A\": \"1\"")},
        {ENTITY_PROPERTY, B("A!"), {0}, B("true"), B("\"A!\": true")},
        {ENTITY_PROPERTY, B("b"), B("Edm.Double"), B("1"),
         B("\"b@odata.type\": \"Edm.Double\",\n  \"b\": 1")},
    };
    struct entity_lines lines;
    struct entity_property property;
    _cleanup_(buffer_finish) struct buffer again;
    struct bytes text =
        B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"\\\"\": \"x\",\n  "
          "\"A@odata.type\": \"Edm.Int64\",\n  \"A\": \"1\",\n  \"A!\": true,\n  "
          "\"b@odata.type\": \"Edm.Double\",\n  \"b\": 1\n}\n");
    buffer_init(&again, 1000);
    assert_int_equal(buffer_append_string(&again, "before"), 0);
    entity_lines_init(&lines, text);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_int_equal(entity_lines_next(&lines, &property), 1);
        assert_int_equal(property.role, expected[i].role);
        assert_bytes(property.name, expected[i].name);
        assert_bytes(property.value.annotation, expected[i].annotation);
        assert_bytes(property.value.token.text, expected[i].value);
        assert_bytes(property.lines, expected[i].lines);
        assert_int_equal(entity_lines_append(&again, 6, property.lines), 0);
    }
    assert_int_equal(entity_lines_next(&lines, &property), 0);
    assert_int_equal(entity_lines_append_end(&again, 6), 0);
    assert_bytes(bytes_skip(buffer_bytes(&again), 6), text);
}

static void a_text_without_properties_is_one(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    assert_int_equal(count(B("{\n}\n")), 0);
    assert_int_equal(count(B("{\n  \"RowKey\": \"\"\n}\n")), 1);
    buffer_init(&text, 100);
    assert_int_equal(entity_lines_append_end(&text, 0), 0);
    assert_bytes(buffer_bytes(&text), B("{\n}\n"));
}

#define TEXT(lines) "{\n  " lines "\n}\n"
static const struct bytes refused[] = {
    /* the frame */
    B(""),
    B("{"),
    B("{}"),
    B("{}\n"),
    B("{\n}"),
    B("{\n}\n "),
    B(" {\n}\n"),
    B("{\n}\n{\n}\n"),
    B("[\n]\n"),
    B("\n}\n"),
    B("{\n\"a\": 1\n}\n"),
    B("{\n   \"a\": 1\n}\n"),
    B(TEXT("\"a\":1")),
    B(TEXT("\"a\" : 1")),
    B(TEXT("\"a\":  1")),
    B(TEXT("\"a\": 1,")),
    B(TEXT("\"a\": 1, \"b\": 1")),
    B(TEXT("\"a\": 1 ,\n  \"b\": 1")),
    B("{\n  \"a\": 1\n}"),
    B("{\n  \"a\": 1}\n"),
    B("{\n  \"a\": 1 \n}\n"),
    B("{\n  \"a\": 1\n}\n\0"),
    B("{\n  \"a\": \"1\n}\n"),
    /* values */
    B(TEXT("\"a\": null")),
    B(TEXT("\"a\": {\n}\n")),
    B(TEXT("\"a\": []")),
    B(TEXT("\"a\": 01")),
    B(TEXT("\"a\": 1.0")),
    /* annotations */
    B(TEXT("\"a@odata.type\": \"Edm.Int64\"")),
    B(TEXT("\"a@odata.type\": \"Edm.Int64\",\n  \"b\": \"1\"")),
    B(TEXT("\"a\": \"1\",\n  \"a@odata.type\": \"Edm.Int64\"")),
    B(TEXT("\"a@odata.type\": 1,\n  \"a\": \"1\"")),
    B(TEXT("\"a@odata.type\":\"Edm.Int64\",\n  \"a\": \"1\"")),
    B(TEXT("\"a@odata.type\": \"Edm.Int64\", \"a\": \"1\"")),
    B(TEXT("\"a@odata.type\": \"Edm.String\",\n  \"a\": \"1\"")),
    B(TEXT("\"a@odata.type\": \"Edm.Int32\",\n  \"a\": 1")),
    B(TEXT("\"a@odata.type@odata.type\": \"Edm.Int64\",\n  \"a@odata.type\": \"1\"")),
    /* names */
    B(TEXT("\"b\": 1,\n  \"a\": 1")),
    B(TEXT("\"a\": 1,\n  \"a\": 1")),
    B(TEXT("\"\\\\\": 1,\n  \"A\": 1")),
    B(TEXT("\"RowKey\": \"r\",\n  \"PartitionKey\": \"p\"")),
    B(TEXT("\"A\": 1,\n  \"RowKey\": \"r\"")),
    B(TEXT("\"RowKey\": 1")),
    B(TEXT("\"RowKey@odata.type\": \"Edm.Int64\",\n  \"RowKey\": \"1\"")),
    B(TEXT("\"Timestamp\": \"2020-01-01T00:00:00Z\"")),
    B(TEXT("\"odata.etag\": \"x\"")),
};

static void what_is_not_canonical_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (count(refused[i]) != -EPROTO)
            fail_msg("%.*s", (int)refused[i].size, refused[i].data);
}

/* Cut anywhere, or with any byte changed to a blank, it is another text or none. */
static void no_other_text_is_taken_for_a_canonical_one(void **state)
{
    (void)state;
    char text[] =
        TEXT("\"PartitionKey\": \"p\",\n  \"a@odata.type\": \"Edm.Int64\",\n  \"a\": \"1\"");
    size_t size = sizeof(text) - 1;
    assert_int_equal(count((struct bytes){text, size}), 2);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(count((struct bytes){text, i}), -EPROTO);
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        text[i] = '\t';
        assert_int_equal(count((struct bytes){text, size}), -EPROTO);
        text[i] = byte;
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    for (size_t max = 0; max < sizeof("{\n  \"a\": 1\n}\n") - 1; max++) {
        _cleanup_(buffer_finish) struct buffer small;
        buffer_init(&small, max);
        (void)entity_lines_append(&small, 0, B("\"a\": 1"));
        assert_int_equal(entity_lines_append_end(&small, 0), -EFBIG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_come_in_order),
        cmocka_unit_test(a_text_without_properties_is_one),
        cmocka_unit_test(what_is_not_canonical_is_refused),
        cmocka_unit_test(no_other_text_is_taken_for_a_canonical_one),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
