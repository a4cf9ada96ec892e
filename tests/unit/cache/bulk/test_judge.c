/* SPDX-License-Identifier: MIT */
#include "cache/bulk/judge.h"
#include "tests/unit/unit.h"

#define KEYS   "\"PartitionKey\":\"p\",\"RowKey\":\"r\""
#define PLAIN  "{" KEYS ",\"A\":1}"
#define ETAG   "{" KEYS ",\"odata.etag\":\"W/\\\"1\\\"\",\"A\":1}"
#define ANY    "{" KEYS ",\"odata.etag\":\"*\",\"A\":1}"
#define SELECT "{" KEYS ",\"odata.etag\":\"W/\\\"1\\\"\",\"odata.select\":true}"
#define PART   "{" KEYS ",\"odata.etag\":\"W/\\\"1\\\"\",\"A\":1,\"odata.select\":true}"
#define TEXT   "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"A\": 1\n}\n"
#define TWICE  "a key, odata.etag or odata.select is there twice"
#define NONE   "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\"\n}\n"

enum { REFUSED = -1 };

struct judge_case {
    enum import_mode mode;
    int kind; /* enum write_kind, or REFUSED */
    const char *object;
    const char *if_match, *text;
};

static int judge_given(const struct judge_options *options, const struct stream_object *given,
                       struct write *ret, struct buffer *copies,
                       struct entity_input_refusal *ret_refusal)
{
    _cleanup_(judge_destroyp) struct judge *judge = NULL;
    struct entity_input_refusal ignored;
    assert_int_equal(judge_create(options, &judge), 0);
    int r = judge_object(judge, given, ret, &ignored, ret_refusal);
    if (r < 0)
        return r;
    buffer_clear(copies);
    assert_non_null(buffer_reserve(copies, 4096));
    struct bytes *views[] = {&ret->position, &ret->if_match, &ret->text};
    for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
        size_t begin = copies->size;
        assert_int_equal(buffer_append(copies, *views[i]), 0);
        *views[i] = (struct bytes){copies->data + begin, views[i]->size};
    }
    return 0;
}

static int judge(const struct judge_options *options, const char *object, struct write *ret,
                 struct buffer *copies, struct entity_input_refusal *ret_refusal)
{
    const struct stream_object given = {.text = bytes_of(object)};
    return judge_given(options, &given, ret, copies, ret_refusal);
}

static void an_etag_in_a_list_does_not_count(void **state)
{
    (void)state;
    struct judge_options options = {.mode = IMPORT_REPLACE};
    const struct stream_object given = {.text = B(ETAG), .is_listed = true};
    _cleanup_(buffer_finish) struct buffer copies = {.max = 1 << 20};
    struct entity_input_refusal refusal;
    struct write write;
    assert_int_equal(judge_given(&options, &given, &write, &copies, &refusal), 0);
    assert_int_equal(write.kind, WRITE_UPSERT_REPLACE);
    assert_bytes(write.text, B(TEXT));
    options.mode = IMPORT_DELETE;
    assert_int_equal(judge_given(&options, &given, &write, &copies, &refusal), -EINVAL);
}

static void an_etag_of_items_is_no_property(void **state)
{
    (void)state;
    const struct judge_options options = {.mode = IMPORT_REPLACE};
    struct stream_object given = {.text = B("{" KEYS ",\"etag\":\"W/1\",\"A\":1}"),
                                  .is_of_items = true};
    _cleanup_(buffer_finish) struct buffer copies = {.max = 1 << 20};
    struct entity_input_refusal refusal;
    struct write write;
    assert_int_equal(judge_given(&options, &given, &write, &copies, &refusal), 0);
    assert_int_equal(write.kind, WRITE_UPSERT_REPLACE);
    assert_bytes(write.text, B(TEXT));
    given.is_of_items = false;
    assert_int_equal(judge_given(&options, &given, &write, &copies, &refusal), 0);
    assert_non_null(bytes_find(write.text, B("\"etag\": \"W/1\"")));
}

static void every_mode(void **state)
{
    (void)state;
    static const struct judge_case cases[] = {
        {IMPORT_REPLACE, WRITE_UPSERT_REPLACE, PLAIN, "", TEXT},
        {IMPORT_REPLACE, WRITE_REPLACE, ETAG, "W/\"1\"", TEXT},
        {IMPORT_REPLACE, WRITE_REPLACE, ANY, "*", TEXT},
        {IMPORT_REPLACE, REFUSED, SELECT, "", ""},
        {IMPORT_MERGE, WRITE_UPSERT_MERGE, PLAIN, "", TEXT},
        {IMPORT_MERGE, WRITE_MERGE, ETAG, "W/\"1\"", TEXT},
        {IMPORT_MERGE, WRITE_UPSERT_MERGE, "{" KEYS "}", "", NONE}, /* makes a missing entity */
        {IMPORT_MERGE, REFUSED, SELECT, "", ""},
        {IMPORT_MERGE, WRITE_MERGE, PART, "W/\"1\"", TEXT},
        {IMPORT_MERGE, WRITE_MERGE, "{" KEYS ",\"A\":1,\"odata.select\":true}", "*", TEXT},
        {IMPORT_REPLACE, REFUSED, PART, "", ""},
        {IMPORT_INSERT, REFUSED, "{" KEYS ",\"A\":1,\"odata.select\":true}", "", ""},
        {IMPORT_DELETE, WRITE_DELETE, PART, "W/\"1\"", ""},
        {IMPORT_INSERT, WRITE_INSERT, PLAIN, "", TEXT},
        {IMPORT_INSERT, REFUSED, ETAG, "", ""},
        {IMPORT_INSERT, REFUSED, SELECT, "", ""},
        {IMPORT_DELETE, REFUSED, PLAIN, "", ""},
        {IMPORT_DELETE, WRITE_DELETE, ETAG, "W/\"1\"", ""},
        {IMPORT_DELETE, WRITE_DELETE, SELECT, "W/\"1\"", ""},
    };
    _cleanup_(buffer_finish) struct buffer copies = {.max = 1 << 20};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct judge_options options = {.mode = cases[i].mode};
        struct entity_input_refusal refusal = {0};
        struct write write;
        int r = judge(&options, cases[i].object, &write, &copies, &refusal);
        assert_int_equal(r, cases[i].kind == REFUSED ? -EINVAL : 0);
        if (r < 0) {
            assert_non_null(refusal.refusal.reason);
            continue;
        }
        assert_int_equal(write.kind, cases[i].kind);
        assert_bytes(write.position, B("p\0r"));
        assert_bytes(write.if_match, bytes_of(cases[i].if_match));
        assert_bytes(write.text, bytes_of(cases[i].text));
    }
}

static void a_delete_of_any_version(void **state)
{
    (void)state;
    const struct judge_options options = {.mode = IMPORT_DELETE, .any_version = true};
    _cleanup_(buffer_finish) struct buffer copies = {.max = 1 << 20};
    struct entity_input_refusal refusal;
    struct write write;
    assert_int_equal(judge(&options, PLAIN, &write, &copies, &refusal), 0);
    assert_bytes(write.if_match, B("*"));
    assert_int_equal(judge(&options, ETAG, &write, &copies, &refusal), 0);
    assert_bytes(write.if_match, B("W/\"1\""));
}

static void a_partition_counts_for_all(void **state)
{
    (void)state;
    struct judge_options options = {.partition_key = B("q")};
    _cleanup_(buffer_finish) struct buffer copies = {.max = 1 << 20};
    struct entity_input_refusal refusal;
    struct write write;
    assert_int_equal(judge(&options, PLAIN, &write, &copies, &refusal), 0);
    assert_bytes(write.position, B("q\0r"));
    options.partition_key = B("");
    assert_int_equal(judge(&options, "{\"RowKey\":\"\"}", &write, &copies, &refusal), 0);
    assert_bytes(write.position, B("\0"));
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *object, *reason;
    } cases[] = {
        {"{\"RowKey\":\"r\"}", "no PartitionKey that is a string"},
        {"{\"PartitionKey\":\"p\",\"RowKey\":1}", "no RowKey that is a string"},
        {"{\"PartitionKey\":\"p\",\"RowKey\":\"a\\u0000\"}", "a key with the character U+0000"},
        {"{" KEYS ",\"odata.etag\":5}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":{\"a\":[]}}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":\"\"}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":\"W/\\\"a\\r\\nHost: b\\\"\"}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":\"W/\\\"\"}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":\"1\"}", "odata.etag is no ETag"},
        {"{" KEYS ",\"odata.etag\":\"W/\\\"1\\\"\",\"odata.etag\":null}", TWICE},
        {"{" KEYS ",\"RowKey\":\"s\"}", TWICE},
        {"{" KEYS ",\"A\":[1]}", "an object or array as a property's value"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct judge_options options = {.mode = IMPORT_REPLACE};
        struct entity_input_refusal refusal = {0};
        struct write write;
        assert_int_equal(judge(&options, cases[i].object, &write, NULL, &refusal), -EINVAL);
        assert_string_equal(refusal.refusal.reason, cases[i].reason);
        assert_int_equal(refusal.line, 1);
    }
}

static void a_delete_is_judged(void **state)
{
    (void)state;
    static const struct {
        const char *object, *reason;
    } cases[] = {
        {"{\"PartitionKey\":\"p\",\"RowKey\":\"a/b\"}",
         "a key with one of / \\ # ? or a control character"},
        {"{\"PartitionKey\":\"a?b\",\"RowKey\":\"\"}",
         "a key with one of / \\ # ? or a control character"},
        {"{" KEYS ",\"A\":\"\xff\",\"odata.etag\":\"W/\\\"1\\\"\"}", "not UTF-8"},
        {"{" KEYS ",\"RowKey\":\"s\"}", TWICE},
        {"{" KEYS ",\"odata.etag\":null,\"odata.etag\":\"*\"}", TWICE},
        {"{" KEYS ",\"odata.etag\":\"1\"}", "odata.etag is no ETag"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct judge_options options = {.mode = IMPORT_DELETE, .any_version = true};
        struct entity_input_refusal refusal = {0};
        struct write write;
        assert_true(judge(&options, cases[i].object, &write, NULL, &refusal) < 0);
        assert_string_equal(refusal.refusal.reason, cases[i].reason);
    }
}

/* As long as entity_names.h reads them, with and without a key that is given. */
static void the_longest_keys_are_refused(void **state)
{
    (void)state;
    static char object[(2 * POSITION_MAX_BYTES) + 64], key[POSITION_MAX_BYTES + 1];
    memset(key, 'k', POSITION_MAX_BYTES);
    (void)snprintf(object, sizeof(object), "{\"PartitionKey\":\"%s\",\"RowKey\":\"%s\"}", key, key);
    for (int i = 0; i < 2; i++) {
        struct judge_options options = {.mode = IMPORT_REPLACE};
        if (i == 1)
            options.partition_key = B("p");
        struct entity_input_refusal refusal = {0};
        struct write write;
        assert_true(judge(&options, object, &write, NULL, &refusal) < 0);
        assert_non_null(refusal.refusal.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_etag_in_a_list_does_not_count),
        cmocka_unit_test(an_etag_of_items_is_no_property),
        cmocka_unit_test(every_mode),
        cmocka_unit_test(a_delete_of_any_version),
        cmocka_unit_test(a_partition_counts_for_all),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(a_delete_is_judged),
        cmocka_unit_test(the_longest_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
