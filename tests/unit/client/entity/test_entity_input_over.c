/* SPDX-License-Identifier: MIT */
/* What a user writes over an entity that is there: which types are kept, and what is reported. */
#include "client/entity/entity_input.h"
#include "tests/unit/client/entity/canonical_texts.h"

/* Appends the text over an entity with these properties; NULL: it is not known. ret_line: of
 * ENTITY_INPUT_MAX_LINE + 1 bytes: the refusal; or what is ignored, first of annotations. */
static int append_over(enum entity_input_kind kind, const char *stored, const char *text,
                       struct buffer *ret, char *ret_line)
{
    struct entity_input *input;
    struct entity_input_refusal refusal;
    struct entity_input_ignored ignored;
    struct buffer below, line;
    buffer_init(&below, 4096);
    buffer_init(&line, 2 * ENTITY_INPUT_MAX_LINE + 3);
    assert_int_equal(
        buffer_append_format(&below, KEYS "%s\n}\n", stored && stored[0] == ',' ? stored : ""), 0);
    struct entity_input_over over = {.position = POSITION, .text = bytes_of(text), .kind = kind};
    if (stored)
        over.stored = stored[0] && stored[0] != ',' ? bytes_of(stored) : buffer_bytes(&below);
    assert_int_equal(entity_input_create(&input), 0);
    int r = entity_input_append_over(input, &over, ret, &ignored, &refusal);
    if (r < 0)
        assert_int_equal(entity_input_refusal_append(&line, &refusal), 0);
    if (r == 0 && ignored.annotation.refusal.reason)
        assert_int_equal(entity_input_refusal_append(&line, &ignored.annotation), 0);
    if (r == 0 && ignored.key.refusal.reason) {
        assert_int_equal(buffer_append_string(&line, line.size > 0 ? "; " : ""), 0);
        assert_int_equal(entity_input_refusal_append(&line, &ignored.key), 0);
    }
    assert_true(line.size <= ENTITY_INPUT_MAX_LINE);
    (void)snprintf(ret_line, ENTITY_INPUT_MAX_LINE + 1, "%s", buffer_string(&line));
    entity_input_destroy(input);
    buffer_finish(&below);
    buffer_finish(&line);
    return r;
}

/* What becomes of it, and what is reported; expected NULL: it is refused. */
static void assert_over(enum entity_input_kind kind, const char *stored, const char *text,
                        const char *expected, const char *told)
{
    _cleanup_(buffer_finish) struct buffer out, all;
    char line[ENTITY_INPUT_MAX_LINE + 1];
    buffer_init(&out, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&all, ENTITY_INPUT_MAX_BYTES);
    int r = append_over(kind, stored, text, &out, line);
    if (strcmp(line, told) != 0 || (expected != NULL) != (r == 0))
        print_error("%s over %s\n", text, stored ? stored : "nothing");
    assert_string_equal(line, told);
    assert_int_equal(r, expected ? 0 : -EINVAL);
    assert_int_equal(buffer_append_format(&all, KEYS "%s\n}\n", expected ? expected : ""), 0);
    if (expected && !bytes_equal(buffer_bytes(&out), buffer_bytes(&all)))
        print_error("%s over %s\n", text, stored ? stored : "nothing");
    if (expected)
        assert_bytes(buffer_bytes(&out), buffer_bytes(&all));
}

#define INT32    PLAIN("x", "1")
#define INT64    TYPED("x", "Int64", "\"1\"")
#define DOUBLE   TYPED("x", "Double", "1.5")
#define STRING   PLAIN("x", "\"s\"")
#define BOOLEAN  PLAIN("x", "true")
#define DATETIME TYPED("x", "DateTime", "\"2001-01-01T00:00:00Z\"")
#define GUID     TYPED("x", "Guid", "\"c9da6455-213d-42c9-9a79-3e9149a57833\"")
#define BINARY   TYPED("x", "Binary", "\"AQID\"")
#define UNKNOWN  TYPED("x", "Foo", "1")

#define OTHER_GUID "c9da6455-213d-42c9-9a79-3e9149a57834"
#define TOO_LONG   "x: an Edm.Int64 that is no integer of 64 bits: 12345678901234567890"

/* Of each token: what it is over each type, if it is something else than over nothing. */
static const struct {
    const char *token, *alone, *int64, *doubles, *datetime, *guid, *binary;
} kept[] = {
    {.token = "5",
     .alone = PLAIN("x", "5"),
     .int64 = TYPED("x", "Int64", "\"5\""),
     .doubles = TYPED("x", "Double", "5.0")},
    {.token = "-0",
     .alone = PLAIN("x", "0"),
     .int64 = TYPED("x", "Int64", "\"0\""),
     .doubles = TYPED("x", "Double", "-0.0")},
    {.token = "5.0", .alone = TYPED("x", "Double", "5.0"), .int64 = TYPED("x", "Int64", "\"5\"")},
    {.token = "1e3",
     .alone = TYPED("x", "Double", "1000.0"),
     .int64 = TYPED("x", "Int64", "\"1000\"")},
    {.token = "5.5", .alone = TYPED("x", "Double", "5.5")},
    {.token = "1e-7", .alone = TYPED("x", "Double", "1e-7")},
    {.token = "1e19", .alone = TYPED("x", "Double", "10000000000000000000.0")},
    {.token = "3000000000",
     .alone = TYPED("x", "Int64", "\"3000000000\""),
     .doubles = TYPED("x", "Double", "3000000000.0")},
    {.token = "-9223372036854775808",
     .alone = TYPED("x", "Int64", "\"-9223372036854775808\""),
     .doubles = TYPED("x", "Double", "-9223372036854775808.0")},
    {.token = "12345678901234567890", .doubles = TYPED("x", "Double", "12345678901234567890.0")},
    {.token = "true", .alone = PLAIN("x", "true")},
    {.token = "\"5\"",
     .alone = PLAIN("x", "\"5\""),
     .int64 = TYPED("x", "Int64", "\"5\""),
     .doubles = TYPED("x", "Double", "5.0")},
    {.token = "\"\\u0035\"",
     .alone = PLAIN("x", "\"5\""),
     .int64 = TYPED("x", "Int64", "\"5\""),
     .doubles = TYPED("x", "Double", "5.0")},
    {.token = "\"-007\"", /* no number of JSON */
     .alone = PLAIN("x", "\"-007\""),
     .int64 = TYPED("x", "Int64", "\"-7\"")},
    {.token = "\"5.5\"", .alone = PLAIN("x", "\"5.5\""), .doubles = TYPED("x", "Double", "5.5")},
    {.token = "\" 5\"", .alone = PLAIN("x", "\" 5\"")},
    {.token = "\"9223372036854775808\"",
     .alone = PLAIN("x", "\"9223372036854775808\""),
     .doubles = TYPED("x", "Double", "9223372036854775808.0")},
    {.token = "\"NaN\"",
     .alone = PLAIN("x", "\"NaN\""),
     .doubles = TYPED("x", "Double", "\"NaN\"")},
    {.token = "\"1e400\"", .alone = PLAIN("x", "\"1e400\"")},
    {.token = "\"none\"",
     .alone = PLAIN("x", "\"none\""),
     .binary = TYPED("x", "Binary", "\"none\"")},
    {.token = "\"not\"", .alone = PLAIN("x", "\"not\"")},
    {.token = "\"\"", .alone = PLAIN("x", "\"\""), .binary = TYPED("x", "Binary", "\"\"")},
    {.token = "\"AQIDBA==\"",
     .alone = PLAIN("x", "\"AQIDBA==\""),
     .binary = TYPED("x", "Binary", "\"AQIDBA==\"")},
    {.token = "\"2026-02-01T00:00:00.5000000Z\"",
     .alone = PLAIN("x", "\"2026-02-01T00:00:00.5000000Z\""),
     .datetime = TYPED("x", "DateTime", "\"2026-02-01T00:00:00.5Z\"")},
    {.token = "\"2026-02-01\"",
     .alone = PLAIN("x", "\"2026-02-01\""),
     .datetime = TYPED("x", "DateTime", "\"2026-02-01T00:00:00Z\"")},
    {.token = "\"2026-02-31\"", .alone = PLAIN("x", "\"2026-02-31\"")},
    {.token = "\"1500-01-01\"", .alone = PLAIN("x", "\"1500-01-01\"")},
    {.token = "\"C9DA6455-213D-42C9-9A79-3E9149A57834\"",
     .alone = PLAIN("x", "\"C9DA6455-213D-42C9-9A79-3E9149A57834\""),
     .guid = TYPED("x", "Guid", "\"" OTHER_GUID "\"")},
};

static void a_value_without_a_type_keeps_the_one_that_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        char text[128], refused[128] = "";
        const struct {
            const char *stored, *expected;
        } over[] = {{NULL, NULL},
                    {"", NULL},
                    {INT32, NULL},
                    {STRING, NULL},
                    {BOOLEAN, NULL},
                    {UNKNOWN, NULL},
                    {INT64, kept[i].int64},
                    {DOUBLE, kept[i].doubles},
                    {DATETIME, kept[i].datetime},
                    {GUID, kept[i].guid},
                    {BINARY, kept[i].binary}};
        (void)snprintf(text, sizeof(text), "{\"x\":%s}", kept[i].token);
        if (!kept[i].alone)
            (void)snprintf(refused, sizeof(refused), "line 1, column 6: " TOO_LONG);
        for (size_t j = 0; j < ARRAY_SIZE(over); j++) {
            const char *expected = over[j].expected ? over[j].expected : kept[i].alone;
            assert_over(INPUT_MERGE, over[j].stored, text, expected, expected ? "" : refused);
            /* what replaces a text is literal */
            assert_over(INPUT_WHOLE, over[j].stored, text, kept[i].alone, refused);
        }
    }
}

static void a_type_that_is_given_counts(void **state)
{
    (void)state;
    static const char *const stored[] = {NULL, "", INT32, INT64, DOUBLE, STRING, DATETIME};
    static const struct {
        const char *text, *expected;
    } given[] = {
        {"{\"x\":5,\"x@odata.type\":\"Edm.Int32\"}", PLAIN("x", "5")},
        {"{\"x@odata.type\":\"Edm.Int64\",\"x\":5}", TYPED("x", "Int64", "\"5\"")},
        {"{\"x@odata.type\":\"Edm.Double\",\"x\":5}", TYPED("x", "Double", "5.0")},
        {"{\"x@odata.type\":\"Edm.String\",\"x\":\"2001-01-01\"}", PLAIN("x", "\"2001-01-01\"")},
        {"{\"x@odata.type\":\"Edm.DateTime\",\"x\":\"2001-01-01\"}", DATETIME},
    };
    for (size_t i = 0; i < ARRAY_SIZE(given); i++)
        for (size_t j = 0; j < ARRAY_SIZE(stored); j++) {
            assert_over(INPUT_MERGE, stored[j], given[i].text, given[i].expected, "");
            assert_over(INPUT_WHOLE, stored[j], given[i].text, given[i].expected, "");
        }
}

static void each_property_finds_its_own(void **state)
{
    (void)state;
    const char *stored = TYPED("B", "Int64", "\"1\"") PLAIN("a", "1") TYPED("b", "Double", "1.0")
        TYPED("\xC3\xA9", "Int64", "\"1\"") PLAIN("z\\\"", "1");
    assert_over(INPUT_MERGE, stored, "{\"b\":7,\"\\u00e9\":8,\"a\":6,\"A\":4,\"B\":5,\"bb\":1}",
                PLAIN("A", "4") TYPED("B", "Int64", "\"5\"") PLAIN("a", "6")
                    TYPED("b", "Double", "7.0") PLAIN("bb", "1")
                        TYPED("\xC3\xA9", "Int64", "\"8\""),
                "");
    /* the objects of one append count as if they came one after the other */
    assert_over(INPUT_MERGE, INT64, "{\"x\":5}{\"x\":6}", TYPED("x", "Int64", "\"6\""), "");
    assert_over(INPUT_MERGE, INT64, "{\"x\":5.5}{\"x\":6}", TYPED("x", "Double", "6.0"), "");
    assert_over(INPUT_MERGE, INT64, "{\"x\":\"a\"}{\"x\":6}", PLAIN("x", "6"), "");
    assert_over(INPUT_MERGE, INT64, "{\"x\":1,\"x@odata.type\":\"Edm.Int32\"}{\"x\":6}",
                PLAIN("x", "6"), "");
    /* what is there is no entity: nothing is known of it */
    assert_over(INPUT_MERGE, "{\"x@odata.type\":\"Edm.Int64\",\"x\":\"1\"}", "{\"x\":5}",
                PLAIN("x", "5"), "");
}

#define DROPPED(name) name "@odata.type: a type without its property is dropped"
#define RENAMED(name, fresh)                                                                       \
    name "@odata.type: a type without its property, next to a new property without a type: " fresh

static void a_type_without_its_property(void **state)
{
    (void)state;
    const char *renamed = "{\"x@odata.type\":\"Edm.Int64\",\n \"Total\":\"5\"}";
    const enum entity_input_kind kinds[] = {INPUT_WHOLE, INPUT_MERGE};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        enum entity_input_kind kind = kinds[i];
        /* a renamed property would lose its type */
        assert_over(kind, INT64, renamed, NULL, "line 1, column 2: " RENAMED("x", "Total"));
        assert_over(kind, "", renamed, NULL, "line 1, column 2: " RENAMED("x", "Total"));
        /* it is not new, has a type, or what is there is not known */
        assert_over(kind, PLAIN("Total", "1") INT64, renamed, PLAIN("Total", "\"5\""),
                    "line 1, column 2: " DROPPED("x"));
        assert_over(kind, INT64,
                    "{\"x@odata.type\":\"Edm.Int64\",\"T@odata.type\":\"Edm.Int64\",\"T\":5}",
                    TYPED("T", "Int64", "\"5\""), "line 1, column 2: " DROPPED("x"));
        assert_over(kind, NULL, renamed, PLAIN("Total", "\"5\""),
                    "line 1, column 2: " DROPPED("x"));
        assert_over(kind, "no entity", renamed, PLAIN("Total", "\"5\""),
                    "line 1, column 2: " DROPPED("x"));
        assert_over(kind, INT64, "{\"x@odata.type\":\"Edm.Int64\"}", "",
                    "line 1, column 2: " DROPPED("x"));
        /* its own property, the service's members, and no type at all */
        assert_over(kind, INT64, "{\"x@odata.type\":null,\"y\":1}", PLAIN("y", "1"), "");
        assert_over(kind, INT64,
                    "{\"RowKey@odata.type\":\"Edm.String\",\"Timestamp@odata.type\":"
                    "\"Edm.DateTime\",\"odata.id@odata.type\":\"Edm.String\",\"y\":1}",
                    PLAIN("y", "1"), "");
        /* the first of each, and a refusal that stands before it */
        assert_over(kind, "",
                    "{\"b\":1,\"a\":2,\"y@odata.type\":\"Edm.Guid\",\"x@odata.type\":\"?\"}", NULL,
                    "line 1, column 40: " RENAMED("x", "a"));
        assert_over(kind, "", "{\"b\":1,\"a\":{},\"x@odata.type\":\"Edm.Guid\"}", NULL,
                    "line 1, column 12: an object or array as a property's value: {},\"x@odata.type"
                    "\":\"Edm.Guid\"}");
    }
    assert_over(INPUT_WHOLE, INT64, "{\"x@odata.type\":\"Edm.Int64\",\"x\":null,\"y\":1}",
                PLAIN("y", "1"), "");
    assert_over(INPUT_MERGE, INT64, "{\"x@odata.type\":\"Edm.Double\"}{\"x\":5}",
                TYPED("x", "Int64", "\"5\""), "line 1, column 2: " DROPPED("x"));
}

#define KEY(name) name ": not this key counts, but the one of the path"

static void another_key_than_the_paths(void **state)
{
    (void)state;
    const enum entity_input_kind kinds[] = {INPUT_WHOLE, INPUT_MERGE};
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        enum entity_input_kind kind = kinds[i];
        assert_over(kind, "", "{\"PartitionKey\":\"p\",\"RowKey\":\"\\u0072\"}", "", "");
        assert_over(kind, "", "{\"PartitionKey\":null}", "", "");
        assert_over(kind, "", "{\"RowKey\":\"r\",\n \"PartitionKey\":\"q\"}", "",
                    "line 2, column 2: " KEY("PartitionKey"));
        assert_over(kind, "", "{\"RowKey\":\"R\",\"PartitionKey\":\"q\"}", "",
                    "line 1, column 2: " KEY("RowKey"));
        assert_over(kind, "", "{\"RowKey\":5}", "", "line 1, column 2: " KEY("RowKey"));
        assert_over(kind, "", "{\"RowKey\":\"\"}", "", "line 1, column 2: " KEY("RowKey"));
        assert_over(kind, NULL, "{\"RowKey\":\"s\"}", "", ""); /* a new file */
        assert_over(kind, "no entity", "{\"RowKey\":\"s\"}", "",
                    "line 1, column 2: " KEY("RowKey"));
    }
    assert_over(INPUT_WHOLE, "", "{\"RowKey\":\"s\",\"x@odata.type\":\"Edm.Guid\"}", "",
                "line 1, column 15: " DROPPED("x") "; line 1, column 2: " KEY("RowKey"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_without_a_type_keeps_the_one_that_is_there),
        cmocka_unit_test(a_type_that_is_given_counts),
        cmocka_unit_test(each_property_finds_its_own),
        cmocka_unit_test(a_type_without_its_property),
        cmocka_unit_test(another_key_than_the_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
