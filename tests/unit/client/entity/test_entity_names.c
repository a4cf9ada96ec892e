/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_names.h"
#include "tests/unit/unit.h"

struct names_case {
    const char *text;
    const char *partition_key, *row_key, *etag; /* NULL: there is none */
    bool is_select;
};

static void names_are_read(void **state)
{
    (void)state;
    static const struct names_case cases[] = {
        {"{}", NULL, NULL, NULL, false},
        {"{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}", "p", "r", NULL, false},
        {" {\"A\": {\"RowKey\": 1}, \"RowKey\" : \"\" , \"PartitionKey\":\"\\u00e9\"} ", "\xc3\xa9",
         "", NULL, false},
        {"{\"Row\\u004bey\":\"r\",\"odata.etag\":\"W/\\\"1\\\"\"}", NULL, "r", "W/\"1\"", false},
        {"{\"\\u0041Key\":1,\"Row\\u004bey\":\"r\"}", NULL, "r", NULL, false},
        {"{\"odata.select\":true,\"RowKey\":\"r\"}", NULL, "r", NULL, true},
        {"{\"odata.select\":false}", NULL, NULL, NULL, false},
        {"{\"odata.select\":\"true\"}", NULL, NULL, NULL, false},
        {"{\"odata.etag\":null}", NULL, NULL, NULL, false},
        {"{\"odata.etag\":5}", NULL, NULL, "", false},
        {"{\"odata.etag\":[\"a\",{\"RowKey\":\"x\"}],\"RowKey\":\"r\"}", NULL, "r", "", false},
        {"{\"RowKey\":{\"a\":[1,2]},\"PartitionKey\":\"p\"}", "p", NULL, NULL, false},
        {"{\"MyKey\":\"x\",\"odata.other\":1,\"rowKey\":\"r\"}", NULL, NULL, NULL, false},
    };
    struct entity_names names;
    entity_names_init(&names);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct names_case *each = &cases[i];
        assert_int_equal(entity_names_read(bytes_of(each->text), &names), 0);
        assert_int_equal(names.has_partition_key, each->partition_key != NULL);
        assert_int_equal(names.has_row_key, each->row_key != NULL);
        assert_int_equal(names.has_etag, each->etag != NULL);
        assert_int_equal(names.is_select, each->is_select);
        if (each->partition_key)
            assert_bytes(buffer_bytes(&names.partition_key), bytes_of(each->partition_key));
        if (each->row_key)
            assert_bytes(buffer_bytes(&names.row_key), bytes_of(each->row_key));
        if (each->etag)
            assert_bytes(buffer_bytes(&names.etag), bytes_of(each->etag));
    }
    entity_names_finish(&names);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[]",
        "{",
        "{\"RowKey\":\"a\", oops",
        "{\"RowKey\":\"a\"",
        "{\"RowKey\":\"a\"} x",
        "{\"A\":\"\xff\",\"RowKey\":\"a\"}",
        "{\"odata.etag\":[1,",
        "{\"odata.etag\":[1}",
        "{\"RowKey\":\"a\",\"RowKey\":\"a\"}",
        "{\"RowKey\":\"a\",\"Row\\u004bey\":7}",
        "{\"PartitionKey\":1,\"PartitionKey\":{}}",
        "{\"odata.etag\":\"W/\\\"1\\\"\",\"odata.etag\":null}",
        "{\"odata.select\":true,\"odata.select\":false}",
    };
    struct entity_names names;
    entity_names_init(&names);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        names.refusal = NULL;
        assert_int_equal(entity_names_read(bytes_of(texts[i]), &names), -EINVAL);
        assert_non_null(names.refusal);
    }
    entity_names_finish(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
