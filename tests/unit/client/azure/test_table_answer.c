/* SPDX-License-Identifier: MIT */
#include "client/azure/table_answer.h"
#include "tests/unit/failing_cjson.h"
#include "tests/unit/unit.h"

#define LIST(tables) "{\"odata.metadata\":{\"value\":1},\"value\":[" tables "]}"

static const struct {
    const char *body, *only;
    int result;
    struct bytes names;
} cases[] = {
    {LIST(""), NULL, 0, {NULL, 0}},
    {LIST("{\"TableName\":\"abc\"},{\"x\":[{}],\"TableName\":\"Z9z\",\"y\":1}"), NULL, 0,
     BYTES_LITERAL("abc\0Z9z\0")},
    {LIST("{\"TableName\":\"MyTable\"},{\"TableName\":\"mytable\"}"), "mytable", 0,
     BYTES_LITERAL("mytable\0")},
    {LIST("{\"TableName\":\"MyTable\"}"), "mytable", 0, {NULL, 0}},
    {LIST("{\"T\\u0061bleName\":\"\\u0061bc\"}"), NULL, 0, BYTES_LITERAL("abc\0")},
    /* no names of tables: they do not spoil the others */
    {LIST("{\"TableName\":\"a/b\"},{\"TableName\":\"\\u00e4\\n\"}"), NULL, 0,
     BYTES_LITERAL("a/b\0\xc3\xa4\n\0")},
    {LIST("{\"TableName\":\"abc\xff\"}"), NULL, 0, BYTES_LITERAL("abc\xff\0")},
    /* of equal names the first counts */
    {"{\"value\":[],\"value\":[{\"TableName\":\"abc\"}]}", NULL, 0, {NULL, 0}},
    {LIST("{\"TableName\":\"abc\",\"TableName\":\"abd\"}"), NULL, 0, BYTES_LITERAL("abc\0")},
    /* no list, or one that no table service gives */
    {"", NULL, -EPROTO, {NULL, 0}},
    {"<html></html>", NULL, -EPROTO, {NULL, 0}},
    {"[]", NULL, -EPROTO, {NULL, 0}},
    {"{}", NULL, -EPROTO, {NULL, 0}},
    {"{\"value\":{}}", NULL, -EPROTO, {NULL, 0}},
    {"{\"Value\":[]}", NULL, -EPROTO, {NULL, 0}},
    {"[{\"value\":[]}]", NULL, -EPROTO, {NULL, 0}},
    {"{\"value\":{\"a\":{\"TableName\":\"abc\"}}}", NULL, -EPROTO, {NULL, 0}},
    {LIST("[{\"TableName\":\"abc\"}]"), NULL, -EPROTO, {NULL, 0}},
    /* a name that is no C string in UTF-8 */
    {LIST("{\"TableName\":\"abc\"},{\"TableName\":\"a\\u0000b\"}"), "abc", -EPROTO, {NULL, 0}},
    {LIST("{\"TableName\":\"abc\"},{\"TableName\":\"abc\\ud800\"}"), "abc", -EPROTO, {NULL, 0}},
    {"{\"value\":[]", NULL, -EPROTO, {NULL, 0}},
    {"{\"value\":[]} x", NULL, -EPROTO, {NULL, 0}},
    {LIST("\"abc\""), NULL, -EPROTO, {NULL, 0}},
    {LIST("{}"), NULL, -EPROTO, {NULL, 0}},
    {LIST("{\"TableName\":\"\"}"), NULL, -EPROTO, {NULL, 0}},
    {LIST("{\"TableName\":7}"), NULL, -EPROTO, {NULL, 0}},
};

static void names_are_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct table_names names;
        buffer_init(&names.names, 1000);
        assert_int_equal(table_answer_append(bytes_of(cases[i].body), cases[i].only, &names),
                         cases[i].result);
        if (cases[i].result == 0)
            assert_bytes(buffer_bytes(&names.names), cases[i].names);
        buffer_finish(&names.names);
    }
}

/* Not an answer that is no list, and not a shorter one. */
static void without_memory_there_is_no_list(void **state)
{
    (void)state;
    long n = 0;
    int r = -ENOMEM;
    failing_cjson_begin();
    while (r != 0) {
        struct table_names names;
        buffer_init(&names.names, 1000);
        allocations_until_failure = ++n;
        r = table_answer_append(bytes_of(cases[1].body), NULL, &names);
        bool is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_int_equal(r, is_reached ? -ENOMEM : 0);
        buffer_finish(&names.names);
    }
    failing_cjson_end();
    assert_true(n > 10); /* the tree's, too */
}

static void names_have_a_maximum(void **state)
{
    (void)state;
    struct table_names names;
    buffer_init(&names.names, 7);
    assert_int_equal(table_answer_append(bytes_of(cases[1].body), NULL, &names), -EFBIG);
    buffer_finish(&names.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_or_refused),
        cmocka_unit_test(without_memory_there_is_no_list),
        cmocka_unit_test(names_have_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
