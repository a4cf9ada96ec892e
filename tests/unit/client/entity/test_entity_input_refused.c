/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input.h"
#include "tests/unit/unit.h"

#define POSITION B("p\0r")

struct refused {
    int error;
    struct entity_input_refusal refusal;
    char line[1000];
};

/* The text lies in memory of its own, so that a read after it is seen. */
static void refuse(struct bytes position, struct bytes text, enum entity_input_kind kind,
                   struct refused *ret)
{
    struct entity_input *input;
    _cleanup_(buffer_finish) struct buffer out, line;
    char *copy = malloc(MAX(text.size, 1));
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES + 6);
    buffer_init(&line, sizeof(ret->line));
    assert_int_equal(buffer_append_string(&out, "before"), 0);
    assert_int_equal(entity_input_create(&input), 0);
    ret->error = entity_input_append(input, position, (struct bytes){copy, text.size}, kind, &out,
                                     &ret->refusal);
    if (ret->error == 0)
        fail_msg("%.*s is not refused", (int)MIN(text.size, 200), text.data);
    assert_bytes(buffer_bytes(&out), B("before"));
    assert_int_equal(ret->error, ret->refusal.refusal.error);
    assert_int_equal(entity_input_refusal_append(&line, &ret->refusal), 0);
    assert_true(line.size <= ENTITY_INPUT_MAX_LINE);
    (void)snprintf(ret->line, sizeof(ret->line), "%s", buffer_string(&line));
    assert_int_equal(strlen(ret->line), line.size);
    entity_input_destroy(input);
    free(copy);
}

static void assert_refused(struct bytes text, enum entity_input_kind kind, int error,
                           const char *code, const char *line)
{
    struct refused refused;
    refuse(POSITION, text, kind, &refused);
    assert_string_equal(refused.line, line);
    assert_string_equal(refused.refusal.refusal.code, code);
    assert_int_equal(refused.error, error);
}

static void assert_input(struct bytes text, const char *line)
{
    assert_refused(text, INPUT_WHOLE, -EINVAL, "InvalidInput", line);
}

static void what_is_not_one_object_is_refused(void **state)
{
    (void)state;
    assert_input(B(""), "line 1, column 1: the text ends too early");
    assert_input(B(" \n \n"), "line 3, column 1: the text ends too early");
    assert_input(B("{"), "line 1, column 2: the text ends too early");
    assert_input(B("hello\nworld"), "line 1, column 1: not a JSON object: hello");
    assert_input(B("1"), "line 1, column 1: not a JSON object: 1");
    assert_input(B("null"), "line 1, column 1: not a JSON object: null");
    assert_input(B("\n [{}]"), "line 2, column 2: not a JSON object: [{}]");
    assert_input(B("{}x"), "line 1, column 3: no JSON value begins so: x");
    assert_input(B("{} ,"), "line 1, column 4: a separator where none can be: ,");
    assert_input(B("{}\n1"), "line 2, column 1: a value where none can be: 1");
    assert_input(B("{}\n{}"), "line 2, column 1: an object or array where none can be: {}");
    assert_input(B("{}]"), "line 1, column 3: a bracket that closes nothing: ]");
    assert_input(B("{\n  \"x\":1 , \n\n}"), "line 2, column 9: a trailing comma: , ");
    assert_input(B("{x:1}"), "line 1, column 2: a property name is expected here: x:1}");
    assert_input(B("\xEF\xBB\xBF"), "line 1, column 1: the text ends too early");
    assert_input(B("\xEF\xBB\xBF[]"), "line 1, column 1: not a JSON object: []");
    assert_input(B("\xEF\xBB\xBF{\n5}"), "line 2, column 1: a property name is expected here: 5}");
    assert_input(B("{\0}"), "line 1, column 2: a property name is expected here: ?}");
    assert_input(B("{\"x\":\"a\nb\"}"), "line 1, column 8: a control character in a string");
    assert_input(B("{\"x\":\"\xFF\"}"), "line 1, column 7: not UTF-8: ?\"}");
}

static void nothing_is_nested(void **state)
{
    (void)state;
    assert_input(B("{\"x\":{}}"),
                 "line 1, column 6: an object or array as a property's value: {}}");
    assert_input(B("{\n  \"a\": 1,\n  \"x\": [\n  1]}"),
                 "line 3, column 8: an object or array as a property's value: [");
    assert_input(B("{\"odata.x\":[{]}"), "line 1, column 14: a bracket that closes nothing: ]}");
    assert_input(B("{\"x@odata.type\":5}"),
                 "line 1, column 17: an annotation that is not a string: 5}");
}

static void places_are_counted_in_characters(void **state)
{
    (void)state;
    assert_input(B("{\"x\":\"\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80\", 5}"),
                 "line 1, column 13: a property name is expected here: 5}");
    assert_input(B("{\r\n\t\"x\":\t5 5}\r\n"), "line 2, column 9: a value where none can be: 5}?");
    assert_input(B("{\r\r\r5}"), "line 1, column 5: a property name is expected here: 5}");
}

static void a_name_is_there_once(void **state)
{
    (void)state;
    static const char code[] = "DuplicatePropertiesSpecified";
    assert_refused(B("{\"x\":1,\n \"x\":1}"), INPUT_WHOLE, -EINVAL, code,
                   "line 2, column 2: x: a name that is there twice");
    assert_refused(B("{\"x\":null,\"\\u0078\":1}"), INPUT_WHOLE, -EINVAL, code,
                   "line 1, column 11: x: a name that is there twice");
    assert_refused(B("{\"x\":1,\"y\":2,\"x\":null,\"x\":3}"), INPUT_WHOLE, -EINVAL, code,
                   "line 1, column 14: x: a name that is there twice");
    assert_refused(B("{\"x@odata.type\":\"Edm.Int64\",\"x@odata.type\":\"Edm.Int64\"}"),
                   INPUT_WHOLE, -EINVAL, code, "line 1, column 29: x: a second type for this name");
    assert_refused(B("{\"x\":1}\n{\"y\":1,\"y\":1}"), INPUT_MERGE, -EINVAL, code,
                   "line 2, column 8: y: a name that is there twice");
}

static void names_are_those_of_the_service(void **state)
{
    (void)state;
    static const char reason[] = "a name with an ASCII character other than letters, digits and "
                                 "underscores, or that begins with a digit";
    static const struct {
        const char *name, *shown;
    } names[] = {{"a-b", "a-b"}, {"x@odata.types", "x@odata.types"}, {"\\n", "\\n"}, {"\x7F", "?"}};
    char text[1000], line[1000];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(text, sizeof(text), "{\"%s\":1}", names[i].name);
        (void)snprintf(line, sizeof(line), "line 1, column 2: %s: %s", names[i].shown, reason);
        assert_refused(bytes_of(text), INPUT_WHOLE, -EINVAL, "PropertyNameInvalid", line);
    }
    static const char *const lone[][2] = {
        {"\\ud83d", "\\ud83d"},
        {"a\\ude00b", "a\\ude00b"},
        {"\xC3\xA9\\uD83D\\uD83D\\uDE00", "\xC3\xA9\\ud83d\xF0\x9F\x98\x80"}};
    for (size_t i = 0; i < ARRAY_SIZE(lone); i++) {
        (void)snprintf(text, sizeof(text), "{\"%s\":1}", lone[i][0]);
        (void)snprintf(line, sizeof(line), "line 1, column 2: %s: a name with a lone surrogate",
                       lone[i][1]);
        assert_refused(bytes_of(text), INPUT_WHOLE, -EINVAL, "PropertyNameInvalid", line);
        assert_refused(bytes_of(text), INPUT_MERGE, -EINVAL, "PropertyNameInvalid", line);
    }
    assert_refused(B("{\"\\u00e9\":1,\"\xC3\xA9\":2}"), INPUT_WHOLE, -EINVAL,
                   "DuplicatePropertiesSpecified",
                   "line 1, column 13: \xC3\xA9: a name that is there twice");
    (void)snprintf(text, sizeof(text), "{\"%0256d\":1}", 0);
    text[2] = 'a';
    assert_refused(bytes_of(text), INPUT_WHOLE, -EINVAL, "PropertyNameTooLong",
                   "line 1, column 2: a00000000000000000000000000000000000000000000000...: a name "
                   "of more than 255 characters");
}

#define NO_TIME                                                                                    \
    "no Edm.DateTime such as 2012-11-10T03:04:05.2Z, 2012-11-10T04:04+01:00 or 2012-11-10"
#define TYPED(type, value) B("{\"x@odata.type\":\"" type "\",\n \"x\": " value "}")

static void a_value_matches_its_type(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        const char *reason;
    } cases[] = {
        {TYPED("Edm.Int32", "\"7\""), "an Edm.Int32 that is not a number: \"7\""},
        {TYPED("Edm.Int32", "7.0"), "no integer of 32 bits: 7.0"},
        {TYPED("Edm.Int64", "true"), "an Edm.Int64 that is no integer of 64 bits: true"},
        {TYPED("Edm.Int64", "\"1.5\""), "no integer of 64 bits: \"1.5\""},
        {TYPED("Edm.Double", "true"), "an Edm.Double that is not a number: true"},
        {TYPED("Edm.Double", "\"nan\""), "no number of 64 bits: \"nan\""},
        {TYPED("Edm.Double", "1e400"), "no number of 64 bits: 1e400"},
        {TYPED("Edm.Boolean", "1"), "an Edm.Boolean that is neither true nor false: 1"},
        {TYPED("Edm.String", "1"), "an Edm.String that is not a string: 1"},
        {TYPED("Edm.DateTime", "20200101"), "an Edm.DateTime that is not a string: 20200101"},
        {TYPED("Edm.DateTime", "\"2020-02-30T00:00:00Z\""), NO_TIME ": \"2020-02-30T00:00:00Z\""},
        {TYPED("Edm.Guid", "\"c9da6455213d42c99a793e9149a57833\""),
         "no Edm.Guid: \"c9da6455213d42c99a793e9149a57833\""},
        {TYPED("Edm.Guid", "1"), "an Edm.Guid that is not a string: 1"},
        {TYPED("Edm.Binary", "\"AA=\""), "an Edm.Binary that is not base64: \"AA=\""},
        {TYPED("Edm.Binary", "1"), "an Edm.Binary that is not a string: 1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char line[200];
        (void)snprintf(line, sizeof(line), "line 2, column 7: x: %s", cases[i].reason);
        assert_input(cases[i].text, line);
    }
    assert_refused(TYPED("Edm.DateTime", "\"1601-01-01T00:59+01:00\""), INPUT_WHOLE, -EINVAL,
                   "OutOfRangeInput",
                   "line 2, column 7: x: an Edm.DateTime outside of the years 1601 to 9999 of UTC: "
                   "\"1601-01-01T00:59+01:00\"");
    assert_input(B("{\"x\":9223372036854775808}"),
                 "line 1, column 6: x: no integer of 64 bits: 9223372036854775808");
    assert_input(B("{\"x\":-1e400}"), "line 1, column 6: x: no number of 64 bits: -1e400");
}

static void a_type_is_one_of_the_service(void **state)
{
    (void)state;
    static const char *const misspelled[][2] = {
        {"Int64", "Edm.Int64"},           {"edm.int64", "Edm.Int64"}, {"string", "Edm.String"},
        {"EDM.DATETIME", "Edm.DateTime"}, {"guid", "Edm.Guid"},       {"Double", "Edm.Double"},
        {"binary", "Edm.Binary"},         {"Int32", "Edm.Int32"},     {"boolean", "Edm.Boolean"}};
    for (size_t i = 0; i < ARRAY_SIZE(misspelled); i++) {
        char text[100], line[200];
        (void)snprintf(text, sizeof(text), "{\"x@odata.type\":\"%s\",\"x\":1}", misspelled[i][0]);
        (void)snprintf(line, sizeof(line),
                       "line 1, column 2: x: a type that the service does not know; it is written "
                       "%s: %s",
                       misspelled[i][1], misspelled[i][0]);
        assert_input(bytes_of(text), line);
    }
    assert_input(TYPED("", "1"), "line 1, column 2: x: a type that the service does not know");
    assert_input(B("{\"x\":1,\"x@odata.type\":\"Edm.\\u0053ingle\\u202e\"}"),
                 "line 1, column 8: x: a type that the service does not know: Edm.Single?");
}

static void a_merge_removes_nothing(void **state)
{
    (void)state;
    assert_refused(B("{\"x\":1,\"y\":null}"), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 1, column 12: y: null, but a merge cannot remove a property");
    assert_refused(B("{\"y\":null}{\"y\":1}"), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 1, column 6: y: null, but a merge cannot remove a property");
    assert_refused(B("{\"x\":1}\n[]"), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 2, column 1: an object or array where none can be: []");
    assert_refused(B("{\"x\":1}\n{\"y\":1"), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 2, column 7: the text ends too early");
    assert_refused(B("{\"x\":1}\n{\"y\":2}\n{\"z\":}"), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 3, column 6: a bracket that closes nothing: }");
    assert_refused(B(""), INPUT_MERGE, -EINVAL, "InvalidInput",
                   "line 1, column 1: the text ends too early");
}

static void the_first_one_is_reported(void **state)
{
    (void)state;
    assert_input(B("{\"z\":9223372036854775808,\"a-b\":1,\"a\":1e400}"),
                 "line 1, column 6: z: no integer of 64 bits: 9223372036854775808");
    assert_refused(
        B("{\"z-z\":9223372036854775808,\"b\":1e400,\"b\":1e400}"), INPUT_WHOLE, -EINVAL,
        "PropertyNameInvalid",
        "line 1, column 2: z-z: a name with an ASCII character other than letters, digits and "
        "underscores, or that begins with a digit");
    /* a text that is not JSON has no other error */
    assert_input(B("{\"a-b\":1,\"a-b\":2,}"), "line 1, column 17: a trailing comma: ,}");
}

static void a_line_is_safe_and_short(void **state)
{
    (void)state;
    assert_input(TYPED("Edm.Guid", "\"\x7F\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xC3\xA9\""),
                 "line 2, column 7: x: no Edm.Guid: \"????\xC3\xA9\"");
    assert_input(TYPED("Edm.Guid", "\"\\u001b[31m\""),
                 "line 2, column 7: x: no Edm.Guid: \"\\u001b[31m\"");
    /* it is cut between characters */
    assert_input(TYPED("Edm.Guid", "\"12345678901234567890123456789012345678901234567\""),
                 "line 2, column 7: x: no Edm.Guid: "
                 "\"12345678901234567890123456789012345678901234567...");
    assert_input(TYPED("Edm.Guid", "\"1234567890123456789012345678901234567890123456\xC3\xA9\""),
                 "line 2, column 7: x: no Edm.Guid: "
                 "\"1234567890123456789012345678901234567890123456...");
}

static void keys_are_checked_first(void **state)
{
    (void)state;
    struct refused refused;
    refuse(B("p?\0r"), B("{"), INPUT_WHOLE, &refused);
    assert_string_equal(refused.line, "a key with one of / \\ # ? or a control character");
    assert_string_equal(refused.refusal.refusal.code, "OutOfRangeInput");
    refuse(B("p"), B("{}"), INPUT_WHOLE, &refused);
    assert_string_equal(refused.line, "no row key");
    refuse(B("\xFF\0r"), B("{}"), INPUT_WHOLE, &refused);
    assert_string_equal(refused.line, "a key that is not CESU-8");
    _cleanup_(buffer_finish) struct buffer key;
    buffer_init(&key, 2000);
    (void)buffer_append_format(&key, "%0513d", 0);
    assert_int_equal(buffer_append(&key, B("\0r")), 0);
    refuse(buffer_bytes(&key), B("{}"), INPUT_WHOLE, &refused);
    assert_int_equal(refused.error, -ENAMETOOLONG);
    assert_string_equal(refused.line, "a key of more than 512 UTF-16 units");
}

/* `{` and `count` members, numbered from 0. Each value is `piece`, repeated, in quotes. */
static void make(struct buffer *ret, int count, const char *type, const char *piece, size_t pieces)
{
    buffer_clear(ret);
    for (int i = 0; i < count; i++) {
        (void)buffer_append_format(ret, "%s\"a%03d\":\"", i ? "," : "{", i);
        for (size_t k = 0; k < pieces; k++)
            (void)buffer_append_string(ret, piece);
        (void)buffer_append_char(ret, '"');
        if (type)
            (void)buffer_append_format(ret, ",\"a%03d@odata.type\":\"%s\"", i, type);
    }
    assert_int_equal(buffer_append_string(ret, "}"), 0);
}

/* The size of the text that it becomes. */
static size_t assert_accepted(struct bytes text)
{
    _cleanup_(entity_input_destroyp) struct entity_input *input = NULL;
    struct entity_input_refusal refusal;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
    assert_int_equal(entity_input_create(&input), 0);
    assert_int_equal(entity_input_append(input, POSITION, text, INPUT_WHOLE, &out, &refusal), 0);
    return out.size;
}

static void the_limits_are_those_of_the_service(void **state)
{
    (void)state;
    static const struct {
        const char *type, *piece;
        size_t most;
        const char *line;
    } values[] = {
        {NULL, "a", 32768,
         "line 1, column 9: a000: a string of more than 32,768 UTF-16 units: "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."},
        {"Edm.Binary", "AAAA", 21845,
         "line 1, column 9: a000: a binary of more than 64 KiB: "
         "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA..."},
    };
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)16 << 20);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        make(&text, 1, values[i].type, values[i].piece, values[i].most);
        assert_accepted(buffer_bytes(&text));
        make(&text, 1, values[i].type, values[i].piece, values[i].most + 1);
        assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EINVAL, "PropertyValueTooLarge",
                       values[i].line);
    }
    make(&text, 252, "Edm.Int64", "5", 1);
    assert_accepted(buffer_bytes(&text));
    make(&text, 253, "Edm.Int64", "5", 1);
    assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EINVAL, "TooManyProperties",
                   "more than 252 properties");
    make(&text, 15, NULL, "\\u0001", 32768);
    assert_accepted(buffer_bytes(&text));
    make(&text, 16, NULL, "\\u0001", 32768);
    assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EFBIG, "EntityTooLarge",
                   "an entity of more than 1 MiB");
    make(&text, 252, NULL, "\\u0001", 5000);
    assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EFBIG, "EntityTooLarge",
                   "an entity of more than 1 MiB");
}

/* 164 bytes and the keys', 8 for a property, 2 for a character of its name, 4 and 2 a unit for its
 * string. */
static void an_entity_of_a_megabyte_is_stored_whole(void **state)
{
    (void)state;
    const size_t units =
        (ENTITY_MAX_BYTES - 164 - 4 - 15 * (size_t)(8 + 8 + 4 + 65536) - 8 - 2 - 4) / 2;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)16 << 20);
    for (size_t more = 0; more < 2; more++) {
        make(&text, 15, NULL, "a", 32768);
        text.size -= 1;
        (void)buffer_append_format(&text, ",\"b\":\"%0*d\"}", (int)(units + more), 0);
        if (more == 0)
            assert_in_range(assert_accepted(buffer_bytes(&text)), text.size, text.size + 200);
        else
            assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EFBIG, "EntityTooLarge",
                           "an entity of more than 1 MiB");
    }
}

static void a_number_has_a_length(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)16 << 20);
    for (int digits = 798; digits <= 799; digits++) {
        buffer_clear(&text);
        (void)buffer_append_format(&text, "{\"x\":0.%0*d}", digits, 1);
        memset(text.data + 7, '1', (size_t)digits);
        if (digits == 798)
            assert_accepted(buffer_bytes(&text));
        else
            assert_input(buffer_bytes(&text),
                         "line 1, column 6: x: a number of more than 800 characters: "
                         "0.1111111111111111111111111111111111111111111111...");
    }
    /* zeros do not count */
    buffer_clear(&text);
    (void)buffer_append_format(&text, "{\"x\":1.%01000000d}", 0);
    assert_accepted(buffer_bytes(&text));
}

/* Beyond what memory is kept for: each of these ends at once. */
static void hostile_texts_end(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)16 << 20);
    for (int i = 0; i < 1 << 20; i++)
        (void)buffer_append_string(&text, "[");
    assert_input(buffer_bytes(&text), "line 1, column 1: not a JSON object: "
                                      "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...");
    for (int i = 0; i < 1 << 20; i += 5)
        memcpy(text.data + i, "{\"\":{", MIN(5, (1 << 20) - i));
    assert_input(buffer_bytes(&text),
                 "line 1, column 5: an object or array as a property's value: "
                 "{{\"\":{{\"\":{{\"\":{{\"\":{{\"\":{{\"\":{{\"\":{{\"\":{{\"\":{{\"...");
    buffer_clear(&text);
    (void)buffer_append_string(&text, "{\"a\":1");
    for (int i = 0; i < 70000; i++)
        (void)buffer_append_format(&text, ",\"\\u0061%d\":null", i * 7919 % 70000);
    (void)buffer_append_string(&text, "}");
    assert_refused(buffer_bytes(&text), INPUT_WHOLE, -EFBIG, "TooManyProperties",
                   "more than 65,536 members");
    buffer_clear(&text);
    for (int i = 0; i < 60000; i++)
        (void)buffer_append_format(&text, "{\"\\u0061%d\":%d}\n", i * 7919 % 1000, i);
    assert_refused(buffer_bytes(&text), INPUT_MERGE, -EINVAL, "TooManyProperties",
                   "more than 252 properties");
}

/* It is not the number of members that is too large. */
static void a_text_too_long_to_resolve_its_escapes_is_refused(void **state)
{
    (void)state;
    static const struct bytes begins[] = {B("{\"\\u0061\":1}"),
                                          B("{\"a@odata.type\":\"Edm.\\u0049nt32\",\"a\":1}")};
    size_t size = ((size_t)64 << 20) + 100;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        memcpy(text, begins[i].data, begins[i].size);
        struct bytes whole = {text, size};
        assert_refused(whole, INPUT_WHOLE, -EFBIG, "EntityTooLarge",
                       "a text with escapes of more than 64 MiB");
    }
    free(text);
}

static void a_full_buffer_is_an_entity_too_large(void **state)
{
    (void)state;
    struct bytes text = B("{\"x\":1}");
    size_t size =
        sizeof("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\",\n  \"x\": 1\n}\n") - 1;
    for (size_t max = 0; max <= size; max++) {
        struct entity_input *input;
        struct entity_input_refusal refusal;
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, max);
        assert_int_equal(entity_input_create(&input), 0);
        int r = entity_input_append(input, POSITION, text, INPUT_WHOLE, &out, &refusal);
        assert_int_equal(r, max < size ? -EFBIG : 0);
        assert_int_equal(out.size, max < size ? 0 : size);
        if (max < size)
            assert_string_equal(refusal.refusal.code, "EntityTooLarge");
        entity_input_destroy(input);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_one_object_is_refused),
        cmocka_unit_test(nothing_is_nested),
        cmocka_unit_test(places_are_counted_in_characters),
        cmocka_unit_test(a_name_is_there_once),
        cmocka_unit_test(names_are_those_of_the_service),
        cmocka_unit_test(a_value_matches_its_type),
        cmocka_unit_test(a_type_is_one_of_the_service),
        cmocka_unit_test(a_merge_removes_nothing),
        cmocka_unit_test(the_first_one_is_reported),
        cmocka_unit_test(a_line_is_safe_and_short),
        cmocka_unit_test(keys_are_checked_first),
        cmocka_unit_test(the_limits_are_those_of_the_service),
        cmocka_unit_test(an_entity_of_a_megabyte_is_stored_whole),
        cmocka_unit_test(a_number_has_a_length),
        cmocka_unit_test(hostile_texts_end),
        cmocka_unit_test(a_text_too_long_to_resolve_its_escapes_is_refused),
        cmocka_unit_test(a_full_buffer_is_an_entity_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
