/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_members.h"
#include "client/entity/entity_text.h"
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>

#define TEXT_MAX_BYTES ((size_t)64 << 20)

struct made { /* a text and what stands beside it */
    int error;
    const char *problem;
    size_t offset;
    struct buffer text;
    struct entity_text *scratch;
    struct entity_facts facts;
    char *copy; /* of the answer */
};

static int read_entity(struct entity_text *scratch, struct json_reader *reader, struct bytes answer,
                       struct buffer *ret_text, struct entity_facts *ret_facts)
{
    struct json_token token;
    json_reader_init(reader);
    json_reader_feed(reader, answer, true);
    assert_int_equal(json_reader_next(reader, &token), JSON_OBJECT_BEGIN);
    return entity_text_from_service(scratch, reader, ret_text, ret_facts);
}

/* The answer stands in memory of its own, so that a read after it is seen. */
static void make(struct made *made, struct bytes answer)
{
    struct json_reader reader;
    char *copy = NULL;
    if (answer.data && answer.size > 0) {
        copy = malloc(answer.size);
        memcpy(copy, answer.data, answer.size);
    }
    *made = (struct made){.copy = copy};
    buffer_init(&made->text, TEXT_MAX_BYTES);
    assert_int_equal(entity_text_create(&made->scratch), 0);
    made->error = read_entity(made->scratch, &reader, (struct bytes){copy, answer.size},
                              &made->text, &made->facts);
    made->problem = json_reader_problem(&reader);
    made->offset = json_reader_offset(&reader);
}

static void made_finish(struct made *made)
{
    buffer_finish(&made->text);
    entity_text_destroy(made->scratch);
    free(made->copy);
}

static void assert_text(struct bytes answer, struct bytes expected)
{
    _cleanup_(made_finish) struct made made, again;
    make(&made, answer);
    if (made.error < 0)
        print_error("%.*s: %s at %zu\n", (int)answer.size, answer.data, made.problem, made.offset);
    assert_int_equal(made.error, 0);
    assert_null(made.facts.problem);
    assert_bytes(buffer_bytes(&made.text), expected);
    make(&again, buffer_bytes(&made.text));
    assert_int_equal(again.error, 0);
    assert_bytes(buffer_bytes(&again.text), expected);
}

#define KEYS_IN  "\"PartitionKey\":\"p\",\"RowKey\":\"r\""
#define KEYS_OUT "{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\""

/* What properties become, after keys "p" and "r". */
#define assert_properties(in, out) assert_text(B("{" KEYS_IN in "}"), B(KEYS_OUT out "\n}\n"))

static void the_sample_is_written_so(void **state)
{
    (void)state;
    assert_text(B("{\"odata.metadata\":\"https://account.table.core.windows.net/$metadata#packages/"
                  "@Element\","
                  "\"odata.etag\":\"W/\\\"datetime'2017-01-05T03%3A25%3A25.9422152Z'\\\"\","
                  "\"PartitionKey\":\"Newtonsoft.Json\",\"RowKey\":\"13.0.1\",\"Timestamp\":\"2017-"
                  "01-05T03:25:25.9422152Z\","
                  "\"Listed\":true,\"Downloads@odata.type\":\"Edm.Int64\",\"Downloads\":"
                  "\"1234567890123\"}"),
                B("{\n"
                  "  \"PartitionKey\": \"Newtonsoft.Json\",\n"
                  "  \"RowKey\": \"13.0.1\",\n"
                  "  \"Downloads@odata.type\": \"Edm.Int64\",\n"
                  "  \"Downloads\": \"1234567890123\",\n"
                  "  \"Listed\": true\n"
                  "}\n"));
}

static void all_types_in_three_metadata_levels(void **state)
{
    (void)state;
    struct bytes expected = B("{\n"
                              "  \"PartitionKey\": \"p\",\n"
                              "  \"RowKey\": \"r\",\n"
                              "  \"Bin@odata.type\": \"Edm.Binary\",\n"
                              "  \"Bin\": \"AAEC\",\n"
                              "  \"Bool\": false,\n"
                              "  \"Date@odata.type\": \"Edm.DateTime\",\n"
                              "  \"Date\": \"2020-01-02T03:04:05.2Z\",\n"
                              "  \"Double@odata.type\": \"Edm.Double\",\n"
                              "  \"Double\": 3.0,\n"
                              "  \"Guid@odata.type\": \"Edm.Guid\",\n"
                              "  \"Guid\": \"c9da6455-213d-42c9-9a79-3e9149a57833\",\n"
                              "  \"Int32\": -42,\n"
                              "  \"Int64@odata.type\": \"Edm.Int64\",\n"
                              "  \"Int64\": \"9007199254740993\",\n"
                              "  \"Nan@odata.type\": \"Edm.Double\",\n"
                              "  \"Nan\": \"NaN\",\n"
                              "  \"Text\": \"\xC3\xA9\xF0\x9F\x98\x80\"\n"
                              "}\n");
    assert_text(B("{\"odata.etag\":\"W/"
                  "\\\"1\\\"\",\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"Timestamp\":\"2020-01-"
                  "01T00:00:00Z\","
                  "\"Text\":\"\\u00e9\\uD83D\\uDE00\",\"Bool\":false,\"Int32\":-42,\"Int64@odata."
                  "type\":\"Edm.Int64\","
                  "\"Int64\":\"9007199254740993\",\"Double\":3.0,\"Nan@odata.type\":\"Edm.Double\","
                  "\"Nan\":\"NaN\","
                  "\"Date@odata.type\":\"Edm.DateTime\",\"Date\":\"2020-01-02T03:04:05.2Z\",\"Guid@"
                  "odata.type\":\"Edm.Guid\","
                  "\"Guid\":\"c9da6455-213d-42c9-9a79-3e9149a57833\",\"Bin@odata.type\":\"Edm."
                  "Binary\",\"Bin\":\"AAEC\"}"),
                expected);
    /* the same in another order and spelling, with everything that metadata may add */
    assert_text(B("{\"odata.metadata\":\"m\",\"odata.type\":\"a.t\",\"odata.id\":\"i\",\"odata."
                  "editLink\":\"e\",\"odata.readLink\":\"r\","
                  "\"Bin\":\"AA\\u0045C\",\"Bin@odata.type\":\"Edm.Binary\",\"Guid\":\"C9DA6455-"
                  "213D-42C9-9A79-3E9149A57833\","
                  "\"Timestamp@odata.type\":\"Edm.DateTime\",\"Timestamp\":\"2020-01-01T00:00:00."
                  "0000000Z\","
                  "\"Int64\":9007199254740993,\"Int64@odata.type\":\"Edm.Int64\",\"Date\":\"2020-"
                  "01-02T03:04:05.2000000Z\","
                  "\"Int32@odata.type\":\"Edm.Int32\",\"Int32\":-42,\"Bool@odata.type\":\"Edm."
                  "Boolean\",\"Bool\":false,"
                  "\"Text@odata.type\":\"Edm.String\",\"Text\":\"\xC3\xA9\xF0\x9F\x98\x80\",\"Date@"
                  "odata.type\":\"Edm.DateTime\","
                  "\"Double@odata.type\":\"Edm.Double\",\"Double\":3.0,\"Nan\":\"NaN\",\"Nan@odata."
                  "type\":\"Edm.\\u0044ouble\","
                  "\"RowKey@odata.type\":\"Edm.String\",\"RowKey\":\"r\",\"PartitionKey\":"
                  "\"\\u0070\",\"odata.etag\":\"x\","
                  "\"\\u0047uid@odata.t\\u0079pe\":\"Edm.Guid\"}"),
                expected);
}

static void keys_alone_are_two_lines(void **state)
{
    (void)state;
    assert_properties("", "");
    assert_text(B("{\"RowKey\":\"\",\"PartitionKey\":\"\"}"),
                B("{\n  \"PartitionKey\": \"\",\n  \"RowKey\": \"\"\n}\n"));
    assert_text(
        B("{\"PartitionKey\":\"\\\"\\\\\\/\\ud800\\u00e9\",\"RowKey\":\"\\u0001\"}"),
        B("{\n  \"PartitionKey\": \"\\\"\\\\/\\ud800\xC3\xA9\",\n  \"RowKey\": \"\\u0001\"\n}\n"));
}

static void properties_are_in_the_order_of_their_utf8(void **state)
{
    (void)state;
    assert_properties(",\"b\":1,\"a\":2,\"B\":3,\"ab\":4,\"_\":5,\"a1\":6,\"\":7",
                      ",\n  \"\": 7,\n  \"B\": 3,\n  \"_\": 5,\n  \"a\": 2,\n  \"a1\": 6,\n  "
                      "\"ab\": 4,\n  \"b\": 1");
    assert_properties(",\"\\ud83d\\ude00\":1,\"\\ue000\":2,\"\\u00e9\":3,\"e\":4,\"\\ud83d\":5",
                      ",\n  \"e\": 4,\n  \"\xC3\xA9\": 3,\n  \"\\ud83d\": 5,\n  \"\xEE\x80\x80\": "
                      "2,\n  \"\xF0\x9F\x98\x80\": 1");
    /* by what a name is, not by how it is spelled: `"` < `A` < `\` < `]`, though `\` begins two
     * of them */
    assert_properties(",\"]\":1,\"\\\\\":2,\"A\":3,\"\\\"\":4,\"\\n\":5",
                      ",\n  \"\\n\": 5,\n  \"\\\"\": 4,\n  \"A\": 3,\n  \"\\\\\": 2,\n  \"]\": 1");
    /* an annotation stays with its property, whatever lies between in bytes */
    assert_properties(
        ",\"ab\":1,\"a@odata.type\":\"Edm.Int64\",\"a!\":2,\"a\":\"3\"",
        ",\n  \"a@odata.type\": \"Edm.Int64\",\n  \"a\": \"3\",\n  \"a!\": 2,\n  \"ab\": 1");
}

static void annotations_belong_to_properties(void **state)
{
    (void)state;
    assert_properties(",\"x@odata.type\":\"Edm.Guid\"", "");
    assert_properties(",\"x\":null,\"x@odata.type\":\"Edm.Guid\",\"y\":null", "");
    assert_properties(",\"x@odata.type\":\"Edm.Geo\\u0047raphy\\n\",\"x\":\"1\"",
                      ",\n  \"x@odata.type\": \"Edm.GeoGraphy\\n\",\n  \"x\": \"1\"");
    assert_properties(",\"@odata.type\":\"Edm.Int64\",\"\":\"1\"",
                      ",\n  \"@odata.type\": \"Edm.Int64\",\n  \"\": \"1\"");
    assert_properties(",\"x@odata.type@odata.type\":\"Edm.Int64\",\"x@odata.type\":\"Edm.Guid\"",
                      "");
    assert_properties(",\"x@other\":1,\"odatax\":2,\"Odata.x\":3",
                      ",\n  \"Odata.x\": 3,\n  \"odatax\": 2,\n  \"x@other\": 1");
    assert_properties(",\"odata.unknown\":1,\"odata.etag@odata.type\":\"Edm.String\"", "");
}

/* An entity of keys p and r that has no text. */
static void assert_problem(struct bytes answer, const char *problem, struct bytes property)
{
    _cleanup_(made_finish) struct made made;
    _cleanup_(buffer_finish) struct buffer reason;
    make(&made, answer);
    assert_int_equal(made.error, 0);
    assert_null(made.problem);
    assert_int_equal(made.offset, answer.size);
    assert_int_equal(made.text.size, 0);
    assert_true(made.facts.has_partition_key && made.facts.has_row_key);
    assert_bytes(made.facts.partition_key, B("p"));
    assert_bytes(made.facts.row_key, B("r"));
    assert_string_equal(made.facts.problem, problem);
    assert_bytes(made.facts.property, property);
    buffer_init(&reason, 1000);
    assert_int_equal(entity_text_append_problem(answer, &reason), 0);
    assert_true(bytes_start_with(buffer_bytes(&reason), bytes_of(problem)));
    assert_true(bytes_end_with(buffer_bytes(&reason), property));
}

#define WITH(members) B("{" KEYS_IN members "}")

static void a_name_that_occurs_twice_is_a_problem(void **state)
{
    (void)state;
    static const char twice[] = "a property that occurs twice";
    assert_problem(WITH(",\"x\":1,\"y\":2,\"x\":3"), twice, B("x"));
    assert_problem(WITH(",\"x\":1,\"\\u0078\":1"), twice, B("x"));
    assert_problem(WITH(",\"x\":1,\"x\":null"), twice, B("x"));
    assert_problem(WITH(",\"x\":null,\"x\":1"), twice, B("x"));
    assert_problem(WITH(",\"x@odata.type\":\"Edm.Guid\",\"x\":\"1\",\"x@odata.type\":\"Edm.Guid\""),
                   twice, B("x"));
    assert_problem(WITH(",\"x@odata.type\":\"Edm.Guid\",\"x\":\"1\",\"x\":\"1\""), twice, B("x"));
    assert_problem(WITH(",\"PartitionKey@odata.type\":\"Edm.String\",\"PartitionKey@odata.type\":"
                        "\"Edm.String\""),
                   twice, B("PartitionKey"));
    assert_problem(WITH(",\"y\":1,\"y\":2,\"x\":1,\"x\":2"), twice, B("x")); /* by name */
}

static void what_its_type_does_not_allow_is_shown_as_it_came(void **state)
{
    (void)state;
#define VALUE(type, in, out)                                                                       \
    assert_properties(",\"a\":1,\"n\":" in ",\"n@odata.type\":\"" type "\"",                       \
                      ",\n  \"a\": 1,\n  \"n@odata.type\": \"" type "\",\n  \"n\": " out)
#define AS_IT_CAME(type, value) VALUE(type, value, value)
    AS_IT_CAME("Edm.Int64", "\"abc\"");
    AS_IT_CAME("Edm.Int64", "\"9223372036854775808\"");
    VALUE("Edm.Int64", "9223372036854775808", "\"9223372036854775808\"");
    VALUE("Edm.Int64", "\"\\u0061\"", "\"a\"");
    AS_IT_CAME("Edm.Int32", "\"seven\"");
    AS_IT_CAME("Edm.Int32", "3000000000"); /* without the type it would become an Int64 */
    AS_IT_CAME("Edm.Boolean", "1");
    AS_IT_CAME("Edm.String", "5");
    AS_IT_CAME("Edm.Double", "\"abc\"");
    VALUE("Edm.Double", "1E999", "1e+999");
    AS_IT_CAME("Edm.DateTime", "\"2024-02-30T00:00:00Z\"");
    AS_IT_CAME("Edm.Guid", "\"NOT-A-GUID\"");
    AS_IT_CAME("Edm.Binary", "\"QQ=\"");
    AS_IT_CAME("Edm.Other", "0");
    AS_IT_CAME("", "\"x\"");
#undef AS_IT_CAME
#undef VALUE
}

static void awkward_values_survive(void **state)
{
    (void)state;
    assert_properties(
        ",\"s\":\"\\u0000\\u001F\\b\\f\\n\\r\\t\\\"\\\\\\/\\u007f\\u0085\\u2028\\udc00\\ud800\"",
        ",\n  \"s\": "
        "\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f\xC2\x85\xE2\x80\xA8\\udc00\\ud800\"");
    assert_properties(",\"s\":\"\"", ",\n  \"s\": \"\"");
    assert_properties(",\"n\":12345678901234567890123", ",\n  \"n\": 12345678901234567890123");
    assert_properties(",\"n\":-0.0", ",\n  \"n@odata.type\": \"Edm.Double\",\n  \"n\": -0.0");
    assert_properties(",\"n\":1E+300", ",\n  \"n@odata.type\": \"Edm.Double\",\n  \"n\": 1e+300");
    assert_properties(",\"n@odata.type\":\"Edm.Double\",\"n\":5",
                      ",\n  \"n@odata.type\": \"Edm.Double\",\n  \"n\": 5.0");
}

static void facts_stand_beside_the_text(void **state)
{
    (void)state;
    struct made made;
    make(&made,
         B("{\"odata.etag\":\"W/"
           "\\\"datetime'2017-01-05T03%3A25%3A25.9422152Z'\\\"\",\"PartitionKey\":"
           "\"\\ud83d\\ude00\xF0\x9F\x98\x80\","
           "\"RowKey\":\"a\\u0000\\ud800\",\"Timestamp\":\"2017-01-05T03:25:25.9422152Z\"}"));
    assert_int_equal(made.error, 0);
    assert_true(made.facts.has_partition_key && made.facts.has_row_key);
    assert_bytes(made.facts.partition_key, B("\xED\xA0\xBD\xED\xB8\x80\xED\xA0\xBD\xED\xB8\x80"));
    assert_bytes(made.facts.row_key, B("a\0\xED\xA0\x80"));
    assert_bytes(made.facts.etag, B("W/\"datetime'2017-01-05T03%3A25%3A25.9422152Z'\""));
    assert_true(made.facts.timestamp == 14835867259422152);
    made_finish(&made);

    make(&made, B("{\"RowKey\":\"\",\"PartitionKey\":null,\"Timestamp\":null,\"x\":1}"));
    assert_int_equal(made.error, 0);
    assert_false(made.facts.has_partition_key);
    assert_true(made.facts.has_row_key);
    assert_bytes(made.facts.row_key, B(""));
    assert_bytes(made.facts.etag, B(""));
    assert_true(made.facts.timestamp == 0);
    assert_bytes(buffer_bytes(&made.text), B("{\n  \"RowKey\": \"\",\n  \"x\": 1\n}\n"));
    made_finish(&made);

    /* of an entity that cannot be understood, too */
    make(&made, B("{\"x\":[],\"odata.etag\":\"W/\\\"1\\\"\"," KEYS_IN
                  ",\"Timestamp\":\"1970-01-01T00:00:01Z\"}"));
    assert_int_equal(made.error, 0);
    assert_non_null(made.facts.problem);
    assert_bytes(made.facts.etag, B("W/\"1\""));
    assert_int_equal(made.facts.timestamp, 10000000);
    made_finish(&made);

    make(&made, B("{}"));
    assert_int_equal(made.error, 0);
    assert_false(made.facts.has_partition_key || made.facts.has_row_key);
    assert_bytes(buffer_bytes(&made.text), B("{\n}\n"));
    made_finish(&made);
}

static void keys_and_facts_come_without_a_text(void **state)
{
    (void)state;
    struct entity_text *scratch;
    struct json_reader reader;
    struct json_token token;
    struct entity_facts facts;
    assert_int_equal(entity_text_create(&scratch), 0);
    assert_int_equal(
        read_entity(scratch, &reader, WITH(",\"odata.etag\":\"e\",\"x\":1.0"), NULL, &facts), 0);
    assert_bytes(facts.partition_key, B("p"));
    assert_bytes(facts.etag, B("e"));
    assert_int_equal(json_reader_next(&reader, &token), JSON_END);
    entity_text_destroy(scratch);
    entity_text_destroy(NULL);
}

static void assert_refused(struct bytes answer, const char *problem, size_t offset)
{
    _cleanup_(made_finish) struct made made;
    make(&made, answer);
    assert_int_equal(made.error, -EPROTO);
    assert_string_equal(made.problem, problem);
    assert_int_equal(made.offset, offset);
    assert_int_equal(made.text.size, 0);
}

static void what_is_no_entity_is_refused(void **state)
{
    (void)state;
    assert_refused(B("{\"PartitionKey\":5}"), "a key that is not a string", 16);
    assert_refused(B("{\"PartitionKey\":{}}"), "a key that is not a string", 16);
    assert_refused(B("{\"RowKey\":true}"), "a key that is not a string", 10);
    assert_refused(B("{\"RowKey\":[\"r\"]}"), "a key that is not a string", 10);
    assert_refused(WITH(",\"PartitionKey\":\"p\""), "a key that occurs twice", 48);
    assert_refused(WITH(",\"RowKey\":\"r\""), "a key that occurs twice", 42);
    assert_refused(B("{\"x\":1,}"), "a trailing comma", 6);
    assert_refused(B("{\"x\":1"), "the text ends too early", 6);
    assert_refused(B("{\"x\":{\"y\":[1,2}}"), "a bracket that closes nothing", 14);
    assert_refused(B("{\"x\":{\"y\":1}"), "the text ends too early", 12);
}

static void what_cannot_be_understood_still_has_its_keys(void **state)
{
    (void)state;
    static const char nested[] = "an object or array as a property's value";
    static const char annotation[] = "an annotation that is not a string";
    assert_problem(WITH(",\"x\":{}"), nested, B("x"));
    assert_problem(WITH(",\"x\":[1]"), nested, B("x"));
    assert_problem(WITH(",\"x\":{\"RowKey\":[{\"y\":\"}\"},[]],\"PartitionKey\":\"q\"}"), nested,
                   B("x"));
    assert_problem(B("{\"x\":{\"y\":1},\"RowKey\":\"r\",\"y\":[],\"PartitionKey\":\"p\"}"), nested,
                   B("x")); /* the first */
    assert_problem(WITH(",\"odata.x\":{}"), nested, B("odata.x"));
    assert_problem(WITH(",\"odata.etag\":[]"), nested, B("odata.etag"));
    assert_problem(WITH(",\"Timestamp\":{}"), nested, B("Timestamp"));
    assert_problem(WITH(",\"x@odata.type\":{}"), nested, B("x@odata.type"));
    assert_problem(WITH(",\"odata.etag\":1"), "an ETag that is not a string", B(""));
    assert_problem(WITH(",\"odata.etag\":\"a\\ud800\""), "an ETag that is not text", B(""));
    assert_problem(WITH(",\"x@odata.type\":1"), annotation, B("x@odata.type"));
    assert_problem(WITH(",\"x@odata.type\":null,\"x\":1"), annotation, B("x@odata.type"));
    assert_problem(WITH(",\"Timestamp\":\"yesterday\""), "a Timestamp that is no time", B(""));
    assert_problem(WITH(",\"Timestamp\":0"), "a Timestamp that is no time", B(""));
}

static void assert_reason(struct bytes json, int error, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer reason;
    buffer_init(&reason, 1000);
    assert_int_equal(entity_text_append_problem(json, &reason), error);
    if (error == 0)
        assert_string_equal(buffer_string(&reason), expected);
}

/* The rows of a page are read with one object. */
static void a_row_has_nothing_of_the_one_before(void **state)
{
    (void)state;
    _cleanup_(made_finish) struct made made;
    struct json_reader reader;
    struct entity_facts facts;
    _cleanup_(buffer_finish) struct buffer text = {.max = 1000};
    make(&made, B("{\"odata.etag\":\"e\",\"PartitionKey\":\"p\",\"RowKey\":\"r\","
                  "\"Timestamp\":\"2017-01-05T03:25:25Z\",\"A\":[1]}"));
    assert_non_null(made.facts.problem);
    assert_int_equal(read_entity(made.scratch, &reader, B("{\"B\":1}"), &text, &facts), 0);
    assert_bytes(buffer_bytes(&text), B("{\n  \"B\": 1\n}\n"));
    assert_null(facts.problem);
    assert_int_equal(facts.property.size, 0);
    assert_false(facts.has_partition_key || facts.has_row_key);
    assert_int_equal(facts.partition_key.size + facts.row_key.size + facts.etag.size, 0);
    assert_int_equal(facts.timestamp, 0);
}

static void the_reason_has_a_short_name(void **state)
{
    (void)state;
#define FORTY "0123456789012345678901234567890123456789"
    assert_reason(WITH(",\"x\":1,\"x\":1"), 0, "a property that occurs twice: x");
    assert_reason(WITH(",\"" FORTY "x\":[]"), 0, ENTITY_NESTED_PROBLEM ": " FORTY);
    assert_reason(WITH(",\"x" FORTY "\":[]"), 0,
                  ENTITY_NESTED_PROBLEM ": x012345678901234567890123456789012345678");
    assert_reason(WITH(",\"012345678901234567890123456789012345678\xC3\xA9\":[]"), 0,
                  ENTITY_NESTED_PROBLEM ": 012345678901234567890123456789012345678");
    assert_reason(WITH(",\"Timestamp\":1"), 0, "a Timestamp that is no time");
    assert_reason(WITH(",\"x\":1"), -EPROTO, NULL); /* it has a text */
    assert_reason(B("{"), -EPROTO, NULL);
    assert_reason(B("[]"), -EPROTO, NULL);
    assert_reason(B(""), -EPROTO, NULL);
#undef FORTY
}

static void append_many(struct buffer *ret, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)buffer_append_format(ret, ",\"\\u0050%07zu\":%zu", (first + i * 7919) % count, i);
}

static void many_properties_are_sorted(void **state)
{
    (void)state;
    static const size_t counts[] = {1000, ENTITY_MAX_MEMBERS, ENTITY_MAX_MEMBERS + 1};
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        _cleanup_(buffer_finish) struct buffer answer;
        _cleanup_(made_finish) struct made made;
        buffer_init(&answer, TEXT_MAX_BYTES);
        (void)buffer_append_string(&answer, "{" KEYS_IN);
        append_many(&answer, 17, counts[i]);
        assert_int_equal(buffer_append_char(&answer, '}'), 0);
        make(&made, buffer_bytes(&answer));
        assert_int_equal(made.error, 0);
        bool is_too_many = counts[i] > ENTITY_MAX_MEMBERS;
        assert_int_equal(made.facts.problem != NULL, is_too_many);
        if (is_too_many)
            assert_string_equal(made.facts.problem, "more than 65,536 members");
        struct bytes text = buffer_bytes(&made.text);
        for (size_t k = 0; k < counts[i] && !is_too_many; k++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "\n  \"P%07zu\": ", k);
            const char *found = bytes_find(text, bytes_of(name));
            assert_non_null(found);
            text = bytes_skip(text, (size_t)(found - text.data));
        }
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    struct bytes answer =
        B("{" KEYS_IN ",\"x@odata.type\":\"Edm.Double\",\"x\":1.0,\"s\":\"\\u0001\"}");
    _cleanup_(made_finish) struct made made;
    make(&made, answer);
    for (size_t max = 0; max < made.text.size; max++) {
        struct json_reader reader;
        struct entity_facts facts;
        _cleanup_(buffer_finish) struct buffer small;
        buffer_init(&small, max);
        assert_int_equal(read_entity(made.scratch, &reader, answer, &small, &facts), -EFBIG);
        assert_null(json_reader_problem(&reader));
    }
}

/* Random entities: an independent parser reads the text, finds what was put in, and the text
 * gives itself. */

static uint32_t dice(uint32_t *state, uint32_t sides)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % sides;
}

static void append_random_string(struct buffer *ret, uint32_t *state)
{
    static const char *const pieces[] = {
        "a",    "Z",   "\\u0041",          "\xC3\xA9",       "\\u00e9", "\\n",    "\\\\",
        "\\\"", "\\/", "\xF0\x9F\x98\x80", "\\ud83d\\ude00", "@",       "odata.", " "};
    for (uint32_t n = dice(state, 12); n > 0; n--)
        (void)buffer_append_string(ret, pieces[dice(state, ARRAY_SIZE(pieces))]);
}

static void append_random_property(struct buffer *ret, uint32_t number, uint32_t *state)
{
    static const char *const values[] = {"1", "-5", "3.0", "1e9", "true", "false", "null"};
    (void)buffer_append_format(ret, ",\"%c%u", (int)('a' + dice(state, 26)), number);
    append_random_string(ret, state);
    if (dice(state, 4) == 0)
        (void)buffer_append_string(ret, "@odata.type\":\"Edm.Int64\"");
    else if (dice(state, 2) == 0)
        (void)buffer_append_format(ret, "\":%s", values[dice(state, ARRAY_SIZE(values))]);
    else {
        (void)buffer_append_string(ret, "\":\"");
        append_random_string(ret, state);
        (void)buffer_append_char(ret, '"');
    }
}

/* Each property of the answer stands in the text with the same value. */
static void assert_same_properties(const cJSON *answer, const cJSON *text)
{
    for (const cJSON *member = answer->child; member; member = member->next) {
        size_t size = strlen(member->string);
        bool is_annotation = bytes_end_with(bytes_of(member->string), B("@odata.type"));
        const cJSON *found = cJSON_GetObjectItemCaseSensitive(text, member->string);
        if (is_annotation || size == 0)
            continue;
        assert_int_equal(found == NULL, cJSON_IsNull(member));
        /* an Int64 that came as a number is a string */
        if (found && !(cJSON_IsNumber(member) && cJSON_IsString(found)))
            assert_true(cJSON_Compare(found, member, true));
    }
}

static void random_entities_keep_what_they_hold(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        _cleanup_(buffer_finish) struct buffer answer;
        _cleanup_(made_finish) struct made made;
        buffer_init(&answer, 1 << 20);
        (void)buffer_append_string(&answer, "{" KEYS_IN);
        for (uint32_t n = dice(&seed, 50); n > 0; n--)
            append_random_property(&answer, n, &seed);
        (void)buffer_append_char(&answer, '}');
        make(&made, buffer_bytes(&answer));
        assert_int_equal(made.error, 0);
        cJSON *parsed_answer = cJSON_ParseWithLength(answer.data, answer.size);
        cJSON *parsed_text = cJSON_ParseWithLength(made.text.data, made.text.size);
        assert_non_null(parsed_answer);
        assert_non_null(parsed_text);
        assert_string_equal(parsed_text->child->string, "PartitionKey");
        assert_string_equal(parsed_text->child->next->string, "RowKey");
        assert_same_properties(parsed_answer, parsed_text);
        cJSON_Delete(parsed_answer);
        cJSON_Delete(parsed_text);
        assert_text(buffer_bytes(&answer), buffer_bytes(&made.text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_is_written_so),
        cmocka_unit_test(all_types_in_three_metadata_levels),
        cmocka_unit_test(keys_alone_are_two_lines),
        cmocka_unit_test(properties_are_in_the_order_of_their_utf8),
        cmocka_unit_test(annotations_belong_to_properties),
        cmocka_unit_test(a_name_that_occurs_twice_is_a_problem),
        cmocka_unit_test(what_its_type_does_not_allow_is_shown_as_it_came),
        cmocka_unit_test(awkward_values_survive),
        cmocka_unit_test(facts_stand_beside_the_text),
        cmocka_unit_test(keys_and_facts_come_without_a_text),
        cmocka_unit_test(what_is_no_entity_is_refused),
        cmocka_unit_test(what_cannot_be_understood_still_has_its_keys),
        cmocka_unit_test(a_row_has_nothing_of_the_one_before),
        cmocka_unit_test(the_reason_has_a_short_name),
        cmocka_unit_test(many_properties_are_sorted),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(random_entities_keep_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
