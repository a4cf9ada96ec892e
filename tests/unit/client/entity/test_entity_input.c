/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input.h"
#include "client/base/position.h"
#include "client/entity/entity_text.h"
#include "tests/unit/client/entity/canonical_texts.h"
#include "tests/unit/failing_memory.h"

/* Appends the canonical text of a user's text, which lies in memory of its own, so that a read
 * after it is seen. */
static int append(struct bytes position, struct bytes text, enum entity_input_kind kind,
                  struct buffer *ret)
{
    struct entity_input *input;
    struct entity_input_refusal refusal;
    char *copy = malloc(MAX(text.size, 1));
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    assert_int_equal(entity_input_create(&input), 0);
    int r =
        entity_input_append(input, position, (struct bytes){copy, text.size}, kind, ret, &refusal);
    if (r < 0) {
        assert_int_equal(entity_input_refusal_append(ret, &refusal), 0);
        print_error("%.*s\n", (int)ret->size, ret->data);
    }
    entity_input_destroy(input);
    free(copy);
    return r;
}

static void assert_made(struct bytes position, enum entity_input_kind kind, struct bytes text,
                        struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer out, again;
    struct entity_refusal refusal;
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&again, ENTITY_INPUT_MAX_BYTES);
    assert_int_equal(append(position, text, kind, &out), 0);
    assert_bytes(buffer_bytes(&out), expected);
    /* it becomes itself, and it can be stored */
    assert_int_equal(append(position, buffer_bytes(&out), kind, &again), 0);
    assert_bytes(buffer_bytes(&again), expected);
    assert_int_equal(entity_check(position, expected, &refusal), 0);
}

/* What members become after the keys. */
#define assert_becomes(in, out) assert_made(POSITION, INPUT_WHOLE, B("{" in "}"), TEXT(out))
#define assert_merge(in, out)   assert_made(POSITION, INPUT_MERGE, B(in), TEXT(out))

static void the_path_is_the_key(void **state)
{
    (void)state;
    assert_becomes("", "");
    assert_becomes("\"PartitionKey\":\"x\",\"RowKey\":\"y\",\"Timestamp\":\"z\"", "");
    assert_becomes("\"PartitionKey\":5,\"RowKey\":null,\"Timestamp\":true,\"odata.etag\":1", "");
    assert_becomes("\"RowKey\":1,\"RowKey\":2,\"RowKey@odata.type\":\"Edm.Foo\"", "");
    assert_becomes("\"Timestamp\":{\"a\":[{}]},\"odata.etag\":[[]],\"odata.x\":{},\"RowKey\":[]",
                   "");
    assert_becomes("\"odata.metadata\":\"m\",\"odata.\":1,\"odata.x@odata.type\":5", "");
    assert_becomes("\"\\u0050artitionKey\":1,\"o\\u0064ata.x\":2", "");
    assert_becomes("\"timestamp\":1,\"odata\":2", PLAIN("odata", "2") PLAIN("timestamp", "1"));
    assert_made(B("\xED\xA0\xBD\xED\xB8\x80\"\0\xED\xA0\xBD"), INPUT_WHOLE, B("{}"),
                B("{\n  \"PartitionKey\": \"\xF0\x9F\x98\x80\\\"\",\n"
                  "  \"RowKey\": \"\\ud83d\"\n}\n"));
    assert_made(B("\0"), INPUT_WHOLE, B("{}"),
                B("{\n  \"PartitionKey\": \"\",\n  \"RowKey\": \"\"\n}\n"));
}

static void the_token_gives_the_type(void **state)
{
    (void)state;
    assert_becomes("\"x\":\"a\"", PLAIN("x", "\"a\""));
    assert_becomes("\"x\":true,\"y\":false", PLAIN("x", "true") PLAIN("y", "false"));
    assert_becomes("\"x\":0", PLAIN("x", "0"));
    assert_becomes("\"x\":-0", PLAIN("x", "0"));
    assert_becomes("\"x\":2147483647", PLAIN("x", "2147483647"));
    assert_becomes("\"x\":-2147483648", PLAIN("x", "-2147483648"));
    assert_becomes("\"x\":2147483648", TYPED("x", "Int64", "\"2147483648\""));
    assert_becomes("\"x\":-2147483649", TYPED("x", "Int64", "\"-2147483649\""));
    assert_becomes("\"x\":9223372036854775807", TYPED("x", "Int64", "\"9223372036854775807\""));
    assert_becomes("\"x\":-9223372036854775808", TYPED("x", "Int64", "\"-9223372036854775808\""));
    assert_becomes("\"x\":3.0", TYPED("x", "Double", "3.0"));
    assert_becomes("\"x\":1e3", TYPED("x", "Double", "1000.0"));
    assert_becomes("\"x\":0.1", TYPED("x", "Double", "0.1"));
    /* a string is a string, whatever it looks like */
    assert_becomes("\"x\":\"5\",\"y\":\"2020-01-01T00:00:00.0Z\"",
                   PLAIN("x", "\"5\"") PLAIN("y", "\"2020-01-01T00:00:00.0Z\""));
}

static void the_annotation_decides(void **state)
{
    (void)state;
    assert_becomes("\"x@odata.type\":\"Edm.Int64\",\"x\":5", TYPED("x", "Int64", "\"5\""));
    assert_becomes("\"x\":\"5\",\"x@odata.type\":\"Edm.Int64\"", TYPED("x", "Int64", "\"5\""));
    assert_becomes("\"x\":1e+16,\"x@odata.type\":\"Edm.Int64\"",
                   TYPED("x", "Int64", "\"10000000000000000\""));
    assert_becomes("\"x\":3,\"x@odata.type\":\"Edm.Double\"", TYPED("x", "Double", "3.0"));
    assert_becomes("\"x\":\"\\u0033e5\",\"x@odata.type\":\"Edm.Double\"",
                   TYPED("x", "Double", "300000.0"));
    assert_becomes("\"x\":\"NaN\",\"x@odata.type\":\"Edm.Double\"",
                   TYPED("x", "Double", "\"NaN\""));
    assert_becomes("\"x\":\"2008-07-10\",\"x@odata.type\":\"Edm.DateTime\"",
                   TYPED("x", "DateTime", "\"2008-07-10T00:00:00Z\""));
    assert_becomes("\"x\":\"2008-07-10T04:25\\u002b01:00\",\"x@odata.type\":\"Edm.DateTime\"",
                   TYPED("x", "DateTime", "\"2008-07-10T03:25:00Z\""));
    assert_becomes("\"x\":\"C9DA6455-213D-42C9-9A79-3E9149A57833\",\"x@odata.type\":\"Edm.Guid\"",
                   TYPED("x", "Guid", "\"c9da6455-213d-42c9-9a79-3e9149a57833\""));
    assert_becomes("\"x\":\"AB==\",\"x@odata.type\":\"Edm.Binary\"",
                   TYPED("x", "Binary", "\"AA==\""));
    assert_becomes("\"x\":\"\\/w==\",\"x@odata.type\":\"Edm.B\\u0069nary\"",
                   TYPED("x", "Binary", "\"/w==\""));
    /* those that say nothing new */
    assert_becomes("\"x\":\"a\",\"x@odata.type\":\"Edm.String\"", PLAIN("x", "\"a\""));
    assert_becomes("\"x\":7,\"x@odata.type\":\"Edm.Int32\"", PLAIN("x", "7"));
    assert_becomes("\"x\":true,\"x@odata.type\":\"Edm.Boolean\"", PLAIN("x", "true"));
}

static void what_is_absent_is_left_out(void **state)
{
    (void)state;
    assert_becomes("\"x\":null", "");
    assert_becomes("\"x\":null,\"x@odata.type\":\"Edm.Int64\",\"y\":1", PLAIN("y", "1"));
    assert_becomes("\"x@odata.type\":\"Edm.Int64\"", "");
    assert_becomes("\"x@odata.type\":\"Edm.Foo\",\"a-b@odata.type\":\"\"", "");
    assert_becomes("\"x@odata.type\":null,\"x\":1", PLAIN("x", "1"));
    assert_becomes("\"a-b\":null", ""); /* a name that the service does not see */
}

static void names_are_sorted_and_differ_in_case(void **state)
{
    (void)state;
    assert_becomes("\"b\":1,\"B\":2,\"_\":3,\"a1\":4,\"a\":5",
                   PLAIN("B", "2") PLAIN("_", "3") PLAIN("a", "5") PLAIN("a1", "4")
                       PLAIN("b", "1"));
    assert_becomes("\"\\u0062\":1,\"a\":2", PLAIN("a", "2") PLAIN("b", "1"));
}

/* Of code points, which is that of UTF-8, and not that of UTF-16 units. */
static void names_beyond_ascii_are_in_the_order_of_their_characters(void **state)
{
    (void)state;
    assert_becomes(
        "\"\xF0\x9F\x98\x80\":1,\"\xEF\xBF\xBD\":2,\"\\u00e9\":3,\"z\":4,\"e\xCC\x81\":5",
        PLAIN("e\xCC\x81", "5") PLAIN("z", "4") PLAIN("\xC3\xA9", "3") PLAIN("\xEF\xBF\xBD", "2")
            PLAIN("\xF0\x9F\x98\x80", "1"));
    assert_becomes("\"\\u00e9@odata.type\":\"Edm.Int64\",\"\xC3\xA9\":5",
                   TYPED("\xC3\xA9", "Int64", "\"5\""));
    assert_becomes("\"\\ud83d\\ude00\":1,\"\xE2\x80\xA8\":2",
                   PLAIN("\xE2\x80\xA8", "2") PLAIN("\xF0\x9F\x98\x80", "1"));
    assert_merge("{\"\xC3\xA9\":1}{\"\\u00E9\":2}", PLAIN("\xC3\xA9", "2"));
}

static void strings_have_one_spelling(void **state)
{
    (void)state;
    assert_becomes("\"x\":\"\\u00e9\\ud83d\\ude00\\/\\u000a\"",
                   PLAIN("x", "\"\xC3\xA9\xF0\x9F\x98\x80/\\n\""));
}

static void blanks_and_a_byte_order_mark_may_stand_before_an_object(void **state)
{
    (void)state;
    assert_made(POSITION, INPUT_WHOLE, B(" \t\r\n{\r\n\t\"x\" : 1\r\n}\r\n\r\n"),
                TEXT(PLAIN("x", "1")));
    assert_made(POSITION, INPUT_WHOLE, B("\xEF\xBB\xBF{\"x\":1}\n"), TEXT(PLAIN("x", "1")));
    assert_made(POSITION, INPUT_WHOLE, B("\xEF\xBB\xBF\r\n{\"x\":\"\xEF\xBB\xBF\"}"),
                TEXT(PLAIN("x", "\"\xEF\xBB\xBF\"")));
    assert_made(POSITION, INPUT_WHOLE, B(" \n\xEF\xBB\xBF {}"), TEXT(""));
    assert_merge("\n\xEF\xBB\xBF{\"x\":1}\n\xEF\xBB\xBF{\"y\":2}", PLAIN("x", "1") PLAIN("y", "2"));
}

static void objects_of_a_merge_become_one(void **state)
{
    (void)state;
    assert_merge("{}", "");
    assert_merge("{}{}\n{}", "");
    assert_merge("{\"x\":1}", PLAIN("x", "1"));
    assert_merge("{\"x\":1}\n{\"y\":2}\n", PLAIN("x", "1") PLAIN("y", "2"));
    assert_merge("{\"x\":1}{\"x\":\"a\"} {\"y\":1}", PLAIN("x", "\"a\"") PLAIN("y", "1"));
    assert_merge("{\"RowKey\":null,\"x\":1}{\"RowKey\":5}", PLAIN("x", "1"));
    /* as if they came one after the other */
    assert_merge("{\"x@odata.type\":\"Edm.Int64\",\"x\":1}{\"x\":2}", TYPED("x", "Int64", "\"2\""));
    assert_merge("{\"x\":1.5}{\"x\":2}{\"x\":3}", TYPED("x", "Double", "3.0"));
    assert_merge("{\"x\":1.5}{\"x\":\"a\"}{\"x\":3}", PLAIN("x", "3"));
    assert_merge("{\"x\":1.5}{\"x\":3,\"x@odata.type\":\"Edm.Int32\"}", PLAIN("x", "3"));
    assert_merge("{\"x\":1}{\"x\":3000000000}{\"x\":2}", TYPED("x", "Int64", "\"2\""));
    assert_merge("{\"x\":1}{\"x\":2,\"x@odata.type\":\"Edm.Int64\"}", TYPED("x", "Int64", "\"2\""));
    assert_merge("{\"x\":1}{\"x@odata.type\":\"Edm.Int64\"}", PLAIN("x", "1"));
    assert_merge("{\"x@odata.type\":\"Edm.Int64\"}{\"x\":1}", PLAIN("x", "1"));
    assert_merge("{\"x@odata.type\":\"Edm.Foo\",\"x\":1}{\"x\":2}", PLAIN("x", "2"));
}

static void it_is_appended(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES + 6);
    assert_int_equal(buffer_append_string(&out, "before"), 0);
    assert_int_equal(append(POSITION, B("{\"x\":1}"), INPUT_WHOLE, &out), 0);
    assert_bytes(buffer_bytes(&out), B("before" KEYS PLAIN("x", "1") "\n}\n"));
}

/* What an entity becomes when it is shown. */
static void show(struct bytes answer, struct buffer *ret)
{
    struct entity_text *scratch;
    struct entity_facts facts;
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, answer, true);
    assert_int_equal(json_reader_next(&reader, &token), JSON_OBJECT_BEGIN);
    assert_int_equal(entity_text_create(&scratch), 0);
    assert_int_equal(entity_text_from_service(scratch, &reader, ret, &facts), 0);
    entity_text_destroy(scratch);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* A random value as a service may send it; the annotation follows the name. */
static void append_random(struct buffer *ret, uint64_t *seed, unsigned name)
{
    static const struct {
        const char *type, *value;
    } values[] = {
        {NULL, "\"\""},
        {NULL, "\"a\\u00e9\\ud83d\\ude00\\ud83d\\n\\u0007/\xE6\x97\xA5\""},
        {NULL, "true"},
        {NULL, "-2147483648"},
        {"Edm.Int64", "\"9223372036854775807\""},
        {"Edm.Int64", "\"0\""},
        {"Edm.Double", "\"NaN\""},
        {"Edm.Double", "\"-Infinity\""},
        {NULL, "3.0"},
        {NULL, "1E+300"},
        {NULL, "1e-7"},
        {"Edm.DateTime", "\"2017-01-05T03:25:25.9422150Z\""},
        {"Edm.DateTime", "\"2017-01-05T03:25:25+00:00\""},
        {"Edm.DateTime", "\"2008-07-10Z\""},
        {"Edm.Guid", "\"C9DA6455-213D-42C9-9A79-3E9149A57833\""},
        {"Edm.Binary", "\"/+==\""},
        {"Edm.Binary", "\"\""},
    };
    size_t which = next_random(seed) % (ARRAY_SIZE(values) + 2);
    (void)buffer_append_format(ret, ",\"x%u\":", name);
    if (which == ARRAY_SIZE(values)) {
        (void)buffer_append_format(ret, "%d", (int32_t)next_random(seed));
    } else if (which > ARRAY_SIZE(values)) {
        double value = (double)next_random(seed) / (double)(next_random(seed) + 1);
        (void)buffer_append_format(ret, "%.17g", value);
        (void)buffer_append_format(ret, ",\"x%u@odata.type\":\"Edm.Double\"", name);
    } else {
        (void)buffer_append_string(ret, values[which].value);
        if (values[which].type)
            (void)buffer_append_format(ret, ",\"x%u@odata.type\":\"%s\"", name, values[which].type);
    }
}

static void what_is_shown_comes_back_unchanged(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 5000; i++) {
        _cleanup_(buffer_finish) struct buffer answer, shown, out;
        buffer_init(&answer, 100000);
        buffer_init(&shown, 100000);
        buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
        (void)buffer_append_string(&answer, "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"");
        unsigned count = (unsigned)(next_random(&seed) % 40);
        for (unsigned name = 0; name < count; name++)
            append_random(&answer, &seed, name * 7919 % 1000);
        assert_int_equal(buffer_append_string(&answer, "}"), 0);
        show(buffer_bytes(&answer), &shown);
        assert_int_equal(
            append(POSITION, buffer_bytes(&shown), i % 2 ? INPUT_WHOLE : INPUT_MERGE, &out), 0);
        assert_bytes(buffer_bytes(&out), buffer_bytes(&shown));
    }
}

static void read_whole(const char *name, struct buffer *ret)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/tools/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *room = buffer_reserve(ret, 100000);
    ret->size += fread(room, 1, 100000, file);
    assert_int_equal(fclose(file), 0);
}

/* data/tools/shown.json is what cat shows of an entity with every type. The other files are what
 * the tools that they are named after made of it: `jq .`, `jq -cSa .`, python's json.dumps(
 * json.loads()) in three forms, `prettier --tab-width 4`. */
static void tools_change_no_type_and_no_value(void **state)
{
    (void)state;
    static const char *const names[] = {
        "shown.json",    "jq-1.6.json", "jq-1.6-compact.json", "jq-1.7.json",
        "prettier.json", "python.json", "python-compact.json", "python-sorted.json"};
    _cleanup_(buffer_finish) struct buffer shown;
    buffer_init(&shown, 200000);
    read_whole("shown.json", &shown);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_(buffer_finish) struct buffer text, out;
        buffer_init(&text, 200000);
        buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
        read_whole(names[i], &text);
        assert_int_equal(append(B("Newtonsoft.Json\0"
                                  "13.0.1"),
                                buffer_bytes(&text), INPUT_WHOLE, &out),
                         0);
        assert_bytes(buffer_bytes(&out), buffer_bytes(&shown));
    }
}

static void the_scratch_is_reused(void **state)
{
    (void)state;
    static const struct bytes texts[] = {B("{\"x\":\"\\u0061\",\"y\":[]}"),
                                         B("{\"x\":1,\"x\":2}"),
                                         B("{\"\\u0079\":1}"),
                                         B("{\"x@odata.type\":\"Edm.Double\",\"x\":\"1234567\"}"),
                                         B("{\"x@odata.type\":\"Edm.Double\",\"x\":\"12\"}"),
                                         B("{")};
    struct entity_input *input;
    _cleanup_(buffer_finish) struct buffer out, alone;
    struct entity_input_refusal refusal;
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&alone, ENTITY_INPUT_MAX_BYTES);
    assert_int_equal(entity_input_create(&input), 0);
    for (size_t i = 0; i < 100; i++) {
        struct entity_input *fresh;
        struct bytes text = texts[i * 7 % ARRAY_SIZE(texts)];
        buffer_clear(&out);
        buffer_clear(&alone);
        assert_int_equal(entity_input_create(&fresh), 0);
        int r = entity_input_append(input, POSITION, text, INPUT_WHOLE, &out, &refusal);
        int expected = entity_input_append(fresh, POSITION, text, INPUT_WHOLE, &alone, &refusal);
        assert_int_equal(r, expected);
        assert_bytes(buffer_bytes(&out), buffer_bytes(&alone));
        entity_input_destroy(fresh);
    }
    entity_input_destroy(input);
    entity_input_destroy(NULL);
}

static int make_with_little_memory(struct bytes text, struct buffer *ret)
{
    struct entity_input *input;
    struct entity_input_refusal refusal;
    int r = entity_input_create(&input);
    if (r < 0)
        return r;
    r = entity_input_append(input, POSITION, text, INPUT_WHOLE, ret, &refusal);
    entity_input_destroy(input);
    return r;
}

static void without_memory_nothing_is_made(void **state)
{
    (void)state;
    struct bytes text = B("{\"\\u0061\":1,\"b\":\"\\u0062\",\"c@odata.type\":\"Edm.Int\\u00364\","
                          "\"c\":\"007\",\"d\":1e20}");
    for (long n = 1;; n++) {
        struct buffer out;
        buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
        allocations_until_failure = n;
        int r = make_with_little_memory(text, &out);
        bool was_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        if (was_reached)
            assert_int_equal(out.size, 0);
        assert_int_equal(r, was_reached ? -ENOMEM : 0);
        buffer_finish(&out);
        if (!was_reached) {
            assert_true(n > 4);
            return;
        }
    }
}

static void assert_keys(const char *text, enum entity_input_kind kind, struct bytes partition_key,
                        struct bytes row_key)
{
    struct entity_input *input;
    struct entity_input_refusal refusal;
    _cleanup_(buffer_finish) struct buffer partition, row;
    buffer_init(&partition, POSITION_MAX_BYTES);
    buffer_init(&row, POSITION_MAX_BYTES);
    (void)buffer_append_string(&row, "cleared first");
    assert_int_equal(entity_input_create(&input), 0);
    assert_int_equal(
        entity_input_read_keys(input, bytes_of(text), kind, &partition, &row, &refusal), 0);
    assert_bytes(buffer_bytes(&partition), partition_key);
    assert_bytes(buffer_bytes(&row), row_key);
    entity_input_destroy(input);
}

static void a_text_tells_its_keys(void **state)
{
    (void)state;
    assert_keys("{\"PartitionKey\": \"p\", \"RowKey\": \"r\"}", INPUT_WHOLE, B("p"), B("r"));
    assert_keys(" {\"a\": 1, \"R\\u006fwKey\": \"\\ud83d\\ude00\\n\"} ", INPUT_WHOLE, B(""),
                B("\xED\xA0\xBD\xED\xB8\x80\n"));
    assert_keys("{\"RowKey\": \"a\", \"RowKey\": \"b\"}", INPUT_WHOLE, B(""), B("b"));
    assert_keys("{\"RowKey\": \"a\"}{\"PartitionKey\": \"p\"}", INPUT_MERGE, B("p"), B("a"));
    assert_keys("{\"RowKey\": 1, \"PartitionKey\": null, \"rowkey\": \"x\"}", INPUT_WHOLE, B(""),
                B(""));
    assert_keys("{}", INPUT_WHOLE, B(""), B(""));
}

static void a_text_that_is_no_object_tells_no_keys(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "{\"RowKey\": \"r\"", "{\"RowKey\": \"r\"}x",
                                        "{\"RowKey\": \"r\", \"a\": {}}"};
    struct entity_input *input;
    _cleanup_(buffer_finish) struct buffer partition, row;
    buffer_init(&partition, POSITION_MAX_BYTES);
    buffer_init(&row, POSITION_MAX_BYTES);
    assert_int_equal(entity_input_create(&input), 0);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct entity_input_refusal refusal = {0};
        assert_int_equal(entity_input_read_keys(input, bytes_of(texts[i]), INPUT_WHOLE, &partition,
                                                &row, &refusal),
                         -EINVAL);
        assert_int_equal(refusal.line, 1);
        assert_true(refusal.column > 0 && refusal.refusal.reason);
    }
    entity_input_destroy(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_is_the_key),
        cmocka_unit_test(the_token_gives_the_type),
        cmocka_unit_test(the_annotation_decides),
        cmocka_unit_test(what_is_absent_is_left_out),
        cmocka_unit_test(names_are_sorted_and_differ_in_case),
        cmocka_unit_test(names_beyond_ascii_are_in_the_order_of_their_characters),
        cmocka_unit_test(strings_have_one_spelling),
        cmocka_unit_test(blanks_and_a_byte_order_mark_may_stand_before_an_object),
        cmocka_unit_test(objects_of_a_merge_become_one),
        cmocka_unit_test(it_is_appended),
        cmocka_unit_test(what_is_shown_comes_back_unchanged),
        cmocka_unit_test(tools_change_no_type_and_no_value),
        cmocka_unit_test(the_scratch_is_reused),
        cmocka_unit_test(without_memory_nothing_is_made),
        cmocka_unit_test(a_text_tells_its_keys),
        cmocka_unit_test(a_text_that_is_no_object_tells_no_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
