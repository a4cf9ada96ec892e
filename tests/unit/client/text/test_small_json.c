/* SPDX-License-Identifier: MIT */
#include "client/text/small_json.h"
#include "client/base/thread.h"
#include "tests/unit/failing_cjson.h"
#include "tests/unit/unit.h"

#define X8(text)  text text text text text text text text
#define X32(text) X8(text) X8(text) X8(text) X8(text)

static const struct bytes accepted[] = {
    B("{}"),
    B(" \t\r\n{\"a\": [1, -2.5e3, true, false, null, \"\"]} \t\r\n"),
    B("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\\u0001\\u0100\"]"),
    B("[\"\\\\u0000\"]"), /* a backslash, then letters */
    B("7"),
    B(X32("[") X32("]")),
    B(X32("{\"a\":") "1" X32("}")),
    /* brackets in strings, and one after the other, are not depth */
    B("[\"" X32("[") X32("{") "\"]"),
    B("[" X32("[],") X32("{},") "[]]"),
};

static const struct bytes refused[] = {
    B(""),
    B(" "),
    B("{"),
    B("{} x"),
    B("{}{}"),
    B("{}]"),
    B("{} \0"),
    B("{} \x01"),
    B("{a:1}"),
    B("{\"1\":1,"),
    B("<html>"),
    /* strings that cJSON would cut */
    B("[\"a\0b\"]"),
    B("[\"a\\u0000b\"]"),
    B("[\"a\\\\\\u0000b\"]"),
    B("{\"a\\u0000b\":1}"),
    B("[\"a\\u00g1b\"]"),
    B("[\"a\\ug100b\"]"),
    B("[\"a\\u"),
    B("[\"a\\u000"),
    B("[\"a\\"),
    /* half a pair */
    B("[\"\\ud83d\"]"),
    B("[\"\\ude00\"]"),
    B("[\"\\ud83dx\\ude00\"]"),
    B("[" X32("[") X32("]") "]"),
    B("{\"a\":" X32("[") X32("]") "}"),
    /* brackets in strings close nothing */
    B("[\"]\"," X32("[\"]\",") "1" X32("]") "]"),
};

/* In a copy of its own, so that a read after it is seen. */
static int parse(struct bytes text, cJSON **ret)
{
    char *copy = malloc(MAX(text.size, 1));
    assert_non_null(copy);
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    int r = small_json_parse((struct bytes){copy, text.size}, ret);
    free(copy);
    return r;
}

static void whole_texts_are_accepted_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
        _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
        assert_int_equal(parse(accepted[i], &tree), 0);
        assert_non_null(tree);
    }
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        cJSON *tree = NULL;
        assert_int_equal(parse(refused[i], &tree), -EPROTO);
        assert_null(tree);
    }
    cJSON *tree = NULL;
    assert_int_equal(small_json_parse((struct bytes){0}, &tree), -EPROTO);
}

static void no_beginning_of_an_object_is_accepted(void **state)
{
    (void)state;
    const struct bytes text =
        B("{\"a\\u00e9\": [{\"b\": \"\\ud83d\\ude00\"}, 1.5e3, true, null], \"c\": {}}");
    for (size_t n = 0; n <= text.size; n++) {
        _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
        assert_int_equal(parse(bytes_first(text, n), &tree), n < text.size ? -EPROTO : 0);
    }
}

static void strings_are_found_by_their_exact_name(void **state)
{
    (void)state;
    _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
    assert_int_equal(parse(B("{\"A\":\"upper\",\"a\":\"\\u00e9\\n\",\"a\":\"second\","
                             "\"n\":1,\"o\":{\"\\u0061\":\"inner\"},\"l\":[\"a\"]}"),
                           &tree),
                     0);
    assert_bytes(small_json_string(tree, "a"), B("\xC3\xA9\n"));
    assert_bytes(small_json_string(tree, "A"), B("upper"));
    assert_bytes(small_json_string(cJSON_GetObjectItemCaseSensitive(tree, "o"), "a"), B("inner"));
    static const char *const others[] = {"b", "n", "o", "l", ""};
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(tree, others[i]);
        assert_int_equal(small_json_string(tree, others[i]).size, 0);
        if (strcmp(others[i], "o") != 0)
            assert_int_equal(small_json_string(value, "a").size, 0);
    }
}

static void texts_have_a_maximum(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, SMALL_JSON_MAX_BYTES + 1);
    (void)buffer_append_string(&text, "[1");
    while (text.size < SMALL_JSON_MAX_BYTES - 2)
        (void)buffer_append_string(&text, ",1");
    (void)buffer_append_string(&text, " ]");
    assert_int_equal(text.size, SMALL_JSON_MAX_BYTES);
    cJSON *tree = NULL;
    assert_int_equal(parse(buffer_bytes(&text), &tree), 0);
    assert_int_equal(cJSON_GetArraySize(tree), SMALL_JSON_MAX_BYTES / 2 - 1);
    cJSON_Delete(tree);
    assert_int_equal(buffer_append_string(&text, " "), 0);
    assert_int_equal(parse(buffer_bytes(&text), &tree), -EPROTO);
}

static void *parse_deep(void *unused)
{
    (void)unused;
    char *text = malloc(SMALL_JSON_MAX_BYTES);
    cJSON *tree = NULL;
    assert_non_null(text);
    memset(text, '[', SMALL_JSON_MAX_BYTES);
    assert_int_equal(small_json_parse((struct bytes){text, SMALL_JSON_MAX_BYTES}, &tree), -EPROTO);
    assert_int_equal(parse(accepted[5], &tree), 0);
    cJSON_Delete(tree);
    free(text);
    return NULL;
}

static void a_thread_has_stack_enough(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(thread_create(&thread, parse_deep, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void no_memory_is_no_wrong_text(void **state)
{
    (void)state;
    int r = -ENOMEM;
    long n = 0;
    failing_cjson_begin();
    while (r != 0) {
        _cleanup_(cJSON_Deletep) cJSON *tree = NULL;
        allocations_until_failure = ++n;
        r = parse(accepted[1], &tree);
        bool is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_int_equal(r, is_reached ? -ENOMEM : 0);
    }
    failing_cjson_end();
    assert_true(n > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_texts_are_accepted_or_refused),
        cmocka_unit_test(no_beginning_of_an_object_is_accepted),
        cmocka_unit_test(strings_are_found_by_their_exact_name),
        cmocka_unit_test(texts_have_a_maximum),
        cmocka_unit_test(a_thread_has_stack_enough),
        cmocka_unit_test(no_memory_is_no_wrong_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
