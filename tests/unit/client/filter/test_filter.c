/* SPDX-License-Identifier: MIT */
#include "client/filter/filter.h"
#include "client/text/edm_value.h"
#include "tests/unit/unit.h"

/* One value of each type, and awkward ones. */
static const struct bytes text =
    B("{\n"
      "  \"PartitionKey\": \"p\",\n"
      "  \"RowKey\": \"r\xC3\xA9\",\n"
      "  \"Big@odata.type\": \"Edm.Int64\",\n  \"Big\": \"9007199254740993\",\n"
      "  \"Bin@odata.type\": \"Edm.Binary\",\n  \"Bin\": \"AQID/w==\",\n"
      "  \"Bits\": \"a'b\",\n"
      "  \"C\": 3,\n"
      "  \"Dbl@odata.type\": \"Edm.Double\",\n  \"Dbl\": 3.0,\n"
      "  \"Edge@odata.type\": \"Edm.Double\",\n  \"Edge\": 9007199254740992.0,\n"
      "  \"G@odata.type\": \"Edm.Guid\",\n"
      "  \"G\": \"c9da6455-213d-42c9-9a79-3e9149a57833\",\n"
      "  \"Huge@odata.type\": \"Edm.Double\",\n  \"Huge\": 1e300,\n"
      "  \"Inf@odata.type\": \"Edm.Double\",\n  \"Inf\": \"Infinity\",\n"
      "  \"Max@odata.type\": \"Edm.Int64\",\n  \"Max\": \"9223372036854775807\",\n"
      "  \"Nan@odata.type\": \"Edm.Double\",\n  \"Nan\": \"NaN\",\n"
      "  \"No\": false,\n"
      "  \"Str\": \"b\",\n"
      "  \"T@odata.type\": \"Edm.DateTime\",\n  \"T\": \"2020-02-29T12:00:00.0000001Z\",\n"
      "  \"Unknown@odata.type\": \"Edm.Other\",\n  \"Unknown\": \"x\",\n"
      "  \"Wide\": \"\xF0\x9F\x98\x80\",\n"
      "  \"Yes\": true,\n"
      "  \"_1\": -5,\n"
      "  \"a\\\"b\": 1,\n"
      "  \"e\": \"\",\n"
      "  \"esc\": \"\\\"\\n\\ud800\",\n"
      "  \"x\": \"small\"\n"
      "}\n");
#define POSITION  B("p\0r\xC3\xA9")
#define TIMESTAMP 15829776000000000 /* 2020-02-29T12:00:00Z */

static struct filter *make(struct bytes filter_text)
{
    struct filter *filter = NULL;
    struct filter_error error = {0};
    if (filter_create(filter_text, &filter, &error) != 0)
        fail_msg("%.*s: %s at %zu", (int)filter_text.size, filter_text.data, error.problem,
                 error.at);
    return filter;
}

static int matches_in(struct bytes entity, struct bytes filter_text)
{
    struct filter *filter = make(filter_text);
    int r = filter_matches(filter, POSITION, entity, TIMESTAMP);
    filter_destroy(filter);
    return r;
}

struct matching {
    struct bytes filter;
    int expected;
};

static void assert_matching(struct bytes entity, const struct matching *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (matches_in(entity, cases[i].filter) != cases[i].expected)
            fail_msg("%.*s", (int)cases[i].filter.size, cases[i].filter.data);
}

/* A comparison, its relation put in: the truth of eq, ne, gt, ge, lt, le, one letter each. */
static void assert_relations(const char *property, const char *constant, const char *expected)
{
    static const char *const relations[] = {"eq", "ne", "gt", "ge", "lt", "le"};
    static const char *const mirrored[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    for (size_t i = 0; i < ARRAY_SIZE(relations); i++) {
        char comparison[600], mirror[600];
        (void)snprintf(comparison, sizeof(comparison), "%s %s %s", property, relations[i],
                       constant);
        (void)snprintf(mirror, sizeof(mirror), "%s %s %s", constant, mirrored[i], property);
        if (matches_in(text, bytes_of(comparison)) != (expected[i] == '1') ||
            matches_in(text, bytes_of(mirror)) != (expected[i] == '1'))
            fail_msg("%s, or %s", comparison, mirror);
    }
}

#define LESS       "010011"
#define EQUAL      "100101"
#define GREATER    "011100"
#define OTHER_TYPE "010011"
#define UNORDERED  "010000"
#define MISSING    "000000"

static void keys_are_compared_by_utf16_units(void **state)
{
    (void)state;
    assert_relations("PartitionKey", "'p'", EQUAL);
    assert_relations("PartitionKey", "'P'", GREATER);
    assert_relations("PartitionKey", "'pa'", LESS);
    assert_relations("PartitionKey", "''", GREATER);
    assert_relations("RowKey", "'r\xC3\xA9'", EQUAL);
    assert_relations("RowKey", "'r'", GREATER);
    assert_relations("RowKey", "'r\xF0\x9F\x98\x80'", LESS);
    assert_relations("RowKey", "5", OTHER_TYPE);
    assert_relations("partitionkey", "'p'", MISSING);
}

static void strings_are_compared_by_utf16_units(void **state)
{
    (void)state;
    assert_relations("Str", "'b'", EQUAL);
    assert_relations("Str", "'B'", GREATER);
    assert_relations("Str", "'bB'", LESS);
    assert_relations("Bits", "'a''b'", EQUAL);
    assert_relations("Bits", "'a'", GREATER);
    assert_relations("e", "''", EQUAL);
    assert_relations("e", "'''' ", LESS);
    assert_relations("Wide", "'\xF0\x9F\x98\x80'", EQUAL);
    assert_relations("Wide", "'\xEE\x80\x80'", LESS);    /* U+E000 */
    assert_relations("Wide", "'\xED\x9F\xBF'", GREATER); /* U+D7FF */
    assert_relations("esc", "'\"\n'", GREATER);
    assert_relations("esc", "'\"\n\xF0\x9F\x98\x80'", LESS);
    assert_relations("esc", "'\"\n\xEE\x80\x80'", LESS);
}

static void numbers_are_compared_by_value(void **state)
{
    (void)state;
    assert_relations("C", "3", EQUAL);
    assert_relations("C", "3L", EQUAL);
    assert_relations("C", "3.0", EQUAL);
    assert_relations("C", "3e0", EQUAL);
    assert_relations("C", "3.5", LESS);
    assert_relations("C", "2.5", GREATER);
    assert_relations("C", "30", LESS);
    assert_relations("C", "-3", GREATER);
    assert_relations("Dbl", "3", EQUAL);
    assert_relations("Dbl", "4", LESS);
    assert_relations("_1", "-5", EQUAL);
    assert_relations("_1", "-5.5", GREATER);
    assert_relations("_1", "-4.5", LESS);
    assert_relations("_1", "-2147483648", GREATER);
}

static void integers_beyond_2_53_are_not_rounded(void **state)
{
    (void)state;
    assert_relations("Big", "9007199254740993L", EQUAL);
    assert_relations("Big", "9007199254740992L", GREATER);
    assert_relations("Big", "9007199254740992.0", GREATER);
    assert_relations("Big", "9007199254740994.0", LESS);
    assert_relations("Edge", "9007199254740992L", EQUAL);
    assert_relations("Edge", "9007199254740993L", LESS);
    assert_relations("Edge", "9007199254740991L", GREATER);
    assert_relations("Max", "9223372036854775808.0", LESS);
    assert_relations("Max", "9223372036854774784.0", GREATER);
    assert_relations("Max", "-9223372036854775808L", GREATER);
    assert_relations("Max", "-1e300", GREATER);
    assert_relations("Huge", "9223372036854775807L", GREATER);
    assert_relations("Huge", "1e300", EQUAL);
    assert_relations("Huge", "1E+300", EQUAL);
    assert_relations("Inf", "1e308", GREATER);
    assert_relations("Inf", "5", GREATER);
    assert_relations("Nan", "5", UNORDERED);
    assert_relations("Nan", "5.0", UNORDERED);
}

static void other_types_have_their_orders(void **state)
{
    (void)state;
    assert_relations("Yes", "true", EQUAL);
    assert_relations("No", "true", LESS);
    assert_relations("Yes", "false", GREATER);
    assert_relations("T", "datetime'2020-02-29T12:00:00.0000001Z'", EQUAL);
    assert_relations("T", "datetime'2020-02-29T12:00:00.0000001'", EQUAL);
    assert_relations("T", "datetime'2020-02-29T13:30:00.0000001+01:30'", EQUAL);
    assert_relations("T", "datetime'2020-02-29'", GREATER);
    assert_relations("T", "datetime'2020-02-29Z'", GREATER);
    assert_relations("T", "datetime'2020-02-29T12:00Z'", GREATER);
    assert_relations("T", "datetime'2020-02-29T12:00-00:01'", LESS);
    assert_relations("T", "datetime'2020-03-01'", LESS);
    assert_relations("Timestamp", "datetime'2020-02-29T04:00-08:00'", EQUAL);
    assert_relations("T", "datetime'2020-02-29T12:00:00Z'", GREATER);
    assert_relations("T", "datetime'2020-02-29T12:00:00.0000002Z'", LESS);
    assert_relations("Timestamp", "datetime'2020-02-29T12:00:00.0000001Z'", LESS);
    assert_relations("Timestamp", "'2020-02-29T12:00:00Z'", OTHER_TYPE);
    assert_relations("G", "guid'c9da6455-213d-42c9-9a79-3e9149a57833'", EQUAL);
    assert_relations("G", "guid'C9DA6455-213D-42C9-9A79-3E9149A57833'", EQUAL);
    assert_relations("G", "guid'c9da6455-213d-42c9-9a79-3e9149a57834'", LESS);
    assert_relations("Bin", "X'010203ff'", EQUAL);
    assert_relations("Bin", "binary'010203FF'", EQUAL);
    assert_relations("Bin", "X'010203'", GREATER);
    assert_relations("Bin", "X'010203ff00'", LESS);
    assert_relations("Bin", "X'02'", LESS);
    assert_relations("Bin", "X''", GREATER);
}

static void other_types_than_the_constants_have_none(void **state)
{
    (void)state;
    assert_relations("Str", "5", OTHER_TYPE);
    assert_relations("Str", "true", OTHER_TYPE);
    assert_relations("C", "'3'", OTHER_TYPE);
    assert_relations("C", "true", OTHER_TYPE);
    assert_relations("Yes", "'true'", OTHER_TYPE);
    assert_relations("G", "'c9da6455-213d-42c9-9a79-3e9149a57833'", OTHER_TYPE);
    assert_relations("T", "'2020-02-29T12:00:00.0000001Z'", OTHER_TYPE);
    assert_relations("Str", "datetime'2020-02-29T12:00:00Z'", OTHER_TYPE);
    assert_relations("Bin", "'AQID/w=='", OTHER_TYPE);
    assert_relations("Unknown", "'x'", OTHER_TYPE);
}

#define ONLY(type, value) "{\n  \"a@odata.type\": \"Edm." type "\",\n  \"a\": " value "\n}\n"

/* What a service kept though its type does not allow it. */
static void values_that_are_none_of_their_type_have_no_order(void **state)
{
    (void)state;
    static const struct {
        struct bytes text, filter;
    } cases[] = {
        {B(ONLY("Int64", "\"x\"")), B("a ne 1")},
        {B("{\n  \"a\": 99999999999999999999\n}\n"), B("a ne 1")},
        {B(ONLY("Double", "\"x\"")), B("a ne 1")},
        {B(ONLY("Guid", "\"x\"")), B("a ne guid'c9da6455-213d-42c9-9a79-3e9149a57833'")},
        {B(ONLY("DateTime", "\"x\"")), B("a ne datetime'2020-02-29T12:00:00Z'")},
        {B(ONLY("Binary", "\"x\"")), B("a ne X'00'")},
        {B(ONLY("String", "5")), B("a ne 'x'")},
        {B(ONLY("Boolean", "\"x\"")), B("a ne true")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(matches_in(cases[i].text, cases[i].filter), 1);
}

/* The comparisons are made in the order of the text. */
static void names_may_go_beyond_ascii(void **state)
{
    (void)state;
    static const struct bytes wide = B("{\n  \"a\\\"\": 0,\n  \"aB\": 5,\n"
                                       "  \"z\": 1,\n  \"\xC3\xA9\": 2,\n"
                                       "  \"\xEF\xBF\xBD\": 3,\n  \"\xF0\x9F\x98\x80\": true\n}\n");
    static const struct matching cases[] = {
        {B("aB eq 5"), 1}, /* behind a name with an escape, which is greater as it is written */
        {B("\xC3\xA9 eq 2"), 1},
        {B("2 eq \xC3\xA9"), 1},
        {B("\xC3\xA9 eq 3"), 0},
        {B("e\xCC\x81 eq 2"), 0}, /* another spelling of it is another name */
        {B("\xF0\x9F\x98\x80"), 1},
        {B("not \xF0\x9F\x98\x80"), 0},
        {B("\xF0\x9F\x98\x80 eq true and \xEF\xBF\xBD eq 3 and \xC3\xA9 eq 2 and z eq 1"), 1},
        {B("(\xEF\xBF\xBD eq 4) or (\xC3\xA9 gt 1)"), 1},
    };
    assert_matching(wide, cases, ARRAY_SIZE(cases));
}

static void what_is_missing_equals_nothing(void **state)
{
    (void)state;
    assert_relations("Missing", "'x'", MISSING);
    assert_relations("str", "'b'", MISSING);
    assert_relations("zzz", "1", MISSING);
    assert_relations("A", "1", MISSING);
}

static void words_bind_in_their_order(void **state)
{
    (void)state;
    static const struct matching cases[] = {
        {B("Yes"), 1},
        {B("No"), 0},
        {B("Str"), 0},
        {B("PartitionKey"), 0},
        {B("not (Missing ne 'x')"), 1},
        {B("not Missing ne 'x'"), 1},
        {B("not Missing"), 1},
        {B("Missing or Yes"), 1},
        {B("not No"), 1},
        {B("not not Yes"), 1},
        {B("not Yes or Yes"), 1},
        {B("not (Yes or Yes)"), 0},
        {B("Yes or Yes and No"), 1},
        {B("(Yes or Yes) and No"), 0},
        {B("No and No or Yes"), 1},
        {B("No and (No or Yes)"), 0},
        {B("not No and not No"), 1},
        {B("not C eq 4"), 1},
        {B("Yes and Yes and Yes and No"), 0},
        {B("No or No or No or Yes"), 1},
        {B("(((Yes)))"), 1},
        {B("  ( C eq 3 )  and  ( Yes )  "), 1},
        {B("(C eq 3)and(Yes)"), 1},
        {B("not(C eq 3)"), 0},
        {B("C eq 3 and _1 eq -5 and x eq 'small' and Str gt 'a' and esc ne ''"), 1},
        {B("PartitionKey eq 'p' and C eq 3"), 1},
        {B("PartitionKey eq 'q' or C eq 4"), 0},
        {B("eqx or Yes"), 1},
    };
    assert_matching(text, cases, ARRAY_SIZE(cases));
}

static void the_text_is_read_no_further_than_needed(void **state)
{
    (void)state;
    static const struct matching cases[] = {
        {B("PartitionKey eq 'q' and a eq 1"), 0},
        {B("PartitionKey eq 'p' or a eq 1"), 1},
        {B("not (PartitionKey eq 'p' or a eq 1)"), 0},
        {B("Timestamp lt datetime'2020-02-29T12:00:00Z' and a eq 1"), 0},
        {B("a eq 1"), 1},
        {B("a eq 1 and PartitionKey eq 'p'"), 1},
        {B("a eq 1 or b eq 1"), -EPROTO},
        {B("b eq 1"), -EPROTO},
    };
    assert_matching(B("{\n  \"a\": 1,\n  \"b\""), cases, ARRAY_SIZE(cases));
}

#define INPUT    "InvalidInput"
#define NOT_DONE "NotImplemented"
#define OPERAND  "a property or a constant is expected here"
#define OPERATOR "an operator is expected here: eq, ne, gt, ge, lt, le"
#define BLANK    "a blank is missing here"
#define MORE     "`and`, `or` or the end is expected here"
#define CLOSING  "a closing parenthesis, `and` or `or` is expected here"
#define QUOTE    "a quote that is not closed"
#define TIME     "no time such as datetime'2012-11-10T03:04:05.2Z' or datetime'2012-11-10'"
#define GUID     "no Guid of the form guid'c9da6455-213d-42c9-9a79-3e9149a57833'"
#define HEX      "not hexadecimal digits in pairs"
#define BEYOND   "an integer beyond 32 bits, which must end in L"
#define NUMBER   "not a number"

static const struct {
    struct bytes text;
    struct filter_error error;
} refused[] = {
    {B(""), {INPUT, OPERAND, 0}},
    {B("   "), {INPUT, OPERAND, 3}},
    {B("a eq"), {INPUT, OPERAND, 4}},
    {B("a eq "), {INPUT, OPERAND, 5}},
    {B("a eq 1 and"), {INPUT, OPERAND, 10}},
    {B("a eq 1 and or b"), {INPUT, OPERAND, 11}},
    {B("eq 1"), {INPUT, OPERAND, 0}},
    {B("not"), {INPUT, OPERAND, 3}},
    {B("()"), {INPUT, OPERAND, 1}},
    {B("a eq (1)"), {INPUT, OPERAND, 5}},
    {B("a eq \"b\""), {INPUT, OPERAND, 5}},
    {B("\xC3 eq 1"), {INPUT, OPERAND, 0}},
    {B("\xED\xA0\xBD eq 1"), {INPUT, OPERAND, 0}}, /* a surrogate */
    {B("a\xC3 eq 1"), {INPUT, BLANK, 1}},
    {B("a eq\xC3\xA9 1"), {INPUT, MORE, 2}},
    {B("a eq true\xC3\xA9"), {NOT_DONE, "a property compared with a property", 5}},
    {B("a eq 1 b"), {INPUT, MORE, 7}},
    {B("a b"), {INPUT, MORE, 2}},
    {B("a EQ 1"), {INPUT, MORE, 2}},
    {B("a = 1"), {INPUT, MORE, 2}},
    {B("a AND b"), {INPUT, MORE, 2}},
    {B("a eq 1)"), {INPUT, MORE, 6}},
    {B("a eq 1 eq 2"), {INPUT, MORE, 7}},
    {B("(a eq 1"), {INPUT, CLOSING, 7}},
    {B("(a eq 1 b"), {INPUT, CLOSING, 8}},
    {B("5"), {INPUT, OPERATOR, 1}},
    {B("true"), {INPUT, OPERATOR, 4}},
    {B("'a' and b"), {INPUT, OPERATOR, 4}},
    {B("PartitionKey gt'a'"), {INPUT, BLANK, 15}},
    {B("PartitionKey gt 'a'and b"), {INPUT, BLANK, 19}},
    {B("a\teq 1"), {INPUT, BLANK, 1}},
    {B("a.b eq 1"), {INPUT, BLANK, 1}},
    {B("1,5 eq a"), {INPUT, BLANK, 1}},
    {B("a eq 'b"), {INPUT, QUOTE, 5}},
    {B("a eq 'b''"), {INPUT, QUOTE, 5}},
    {B("a eq X'01"), {INPUT, QUOTE, 5}},
    {B("a eq '\xFF'"), {INPUT, "a string that is not UTF-8", 5}},
    {B("a eq '\xED\xA0\x80'"), {INPUT, "a string that is not UTF-8", 5}},
    {B("a eq datetime'x'"), {INPUT, TIME, 5}},
    {B("a eq datetime''"), {INPUT, TIME, 5}},
    {B("a eq datetime'2020-02-30T00:00:00Z'"), {INPUT, TIME, 5}},
    {B("a eq datetime'2020-02-20T00:00:00ZZ'"), {INPUT, TIME, 5}},
    {B("a eq datetime'2020-02-20T00:00:00+14:01'"), {INPUT, TIME, 5}},
    {B("a eq datetime'1600-12-31'"), {INPUT, TIME, 5}},
    {B("a eq datetime'2020-02-20T00:00:00.00000000000000000000000000Z'"), {INPUT, TIME, 5}},
    {B("a eq guid'x'"), {INPUT, GUID, 5}},
    {B("a eq X'0'"), {INPUT, HEX, 5}},
    {B("a eq binary'0g'"), {INPUT, HEX, 5}},
    {B("a eq 2147483648"), {INPUT, BEYOND, 5}},
    {B("a eq -2147483649"), {INPUT, BEYOND, 5}},
    {B("a eq 10000000000"), {INPUT, BEYOND, 5}},
    {B("a eq 9223372036854775808L"), {INPUT, "no integer of 64 bits", 5}},
    {B("a eq 1.5L"), {INPUT, "no integer of 64 bits", 5}},
    {B("a eq 1e400"), {INPUT, NUMBER, 5}},
    {B("a eq 1.2.3"), {INPUT, NUMBER, 5}},
    {B("a eq +1"), {INPUT, NUMBER, 5}},
    {B("a eq .5"), {INPUT, NUMBER, 5}},
    {B("a eq 1l"), {INPUT, NUMBER, 5}},
    {B("a eq 0x10"), {INPUT, NUMBER, 5}},
    {B("a eq -Infinity"), {INPUT, NUMBER, 5}},
    {B("a eq -"), {INPUT, NUMBER, 5}},
    {B("a eq null"),
     {INPUT, "null is not supported: no comparison is true for an absent property", 5}},
    {B("a eq b"), {NOT_DONE, "a property compared with a property", 5}},
    {B("a eq  b"), {NOT_DONE, "a property compared with a property", 6}},
    {B("1 eq 1"), {NOT_DONE, "a constant compared with a constant", 5}},
    {B("'a' eq 'a'"), {NOT_DONE, "a constant compared with a constant", 7}},
    {B("startswith(a, 'b')"), {NOT_DONE, "the service has no functions", 0}},
    {B("a eq tolower('b')"), {NOT_DONE, "the service has no functions", 5}},
    {B("a eq 'b\0c'"), {INPUT, "U+0000", 7}},
};

static void what_is_no_filter_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct filter *filter = NULL;
        struct filter_error error = {0};
        int r = filter_create(refused[i].text, &filter, &error);
        if (r != -EINVAL || error.at != refused[i].error.at ||
            strcmp(error.problem, refused[i].error.problem) != 0 ||
            strcmp(error.code, refused[i].error.code) != 0)
            fail_msg("%.*s: %d, %s: %s at %zu", (int)refused[i].text.size, refused[i].text.data, r,
                     error.code, error.problem, error.at);
        assert_null(filter);
    }
}

/* `piece` n times between two others. */
static int create_repeated(const char *before, const char *piece, size_t n, const char *after,
                           struct filter_error *ret_error)
{
    struct buffer filter_text;
    struct filter *filter = NULL;
    buffer_init(&filter_text, FILTER_MAX_BYTES * 2);
    (void)buffer_append_string(&filter_text, before);
    for (size_t i = 0; i < n; i++)
        (void)buffer_append_string(&filter_text, piece);
    assert_int_equal(buffer_append_string(&filter_text, after), 0);
    int r = filter_create(buffer_bytes(&filter_text), &filter, ret_error);
    if (r == 0)
        (void)filter_matches(filter, POSITION, text, 0);
    filter_destroy(filter);
    buffer_finish(&filter_text);
    return r;
}

static void everything_has_a_maximum(void **state)
{
    (void)state;
    struct filter_error error;
    assert_int_equal(create_repeated("a", " and a", FILTER_MAX_COMPARISONS - 1, "", &error), 0);
    assert_int_equal(create_repeated("a", " or a", FILTER_MAX_COMPARISONS, "", &error), -EINVAL);
    assert_string_equal(error.problem, "too many comparisons");
    assert_int_equal(create_repeated("", "(", 2000, "", &error), -EINVAL);
    assert_string_equal(error.problem, "nested too deep");
    assert_int_equal(error.at, FILTER_MAX_DEPTH);
    assert_int_equal(create_repeated("", "not ", FILTER_MAX_DEPTH - 1, "a", &error), 0);
    assert_int_equal(create_repeated("", "not ", FILTER_MAX_DEPTH, "a", &error), -EINVAL);
    assert_string_equal(error.problem, "nested too deep");
    assert_int_equal(create_repeated("a eq '", "b", FILTER_MAX_BYTES - 7, "'", &error), 0);
    assert_int_equal(create_repeated("a eq '", "b", FILTER_MAX_BYTES - 6, "'", &error), -EINVAL);
    assert_string_equal(error.problem, "too long");
    assert_int_equal(error.at, FILTER_MAX_BYTES);
    static const char *const units[] = {"a", "\xE5\x90\x8D"};
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        assert_int_equal(create_repeated("", units[i], EDM_NAME_MAX_UNITS, "", &error), 0);
        assert_int_equal(create_repeated("", units[i], EDM_NAME_MAX_UNITS + 1, "", &error),
                         -EINVAL);
        assert_string_equal(error.problem, "a name that is longer than any property's");
    }
}

/* Initializes the buffers, which hold the bounds of the range. */
static struct range bounds(struct bytes filter_text, struct buffer *lo, struct buffer *hi)
{
    struct range range;
    struct filter *filter = make(filter_text);
    buffer_init(lo, 2 * FILTER_MAX_BYTES);
    buffer_init(hi, 2 * FILTER_MAX_BYTES);
    assert_int_equal(filter_bounds(filter, lo, hi, &range), 0);
    filter_destroy(filter);
    return range;
}

static void assert_bounds(struct bytes filter_text, struct bytes lo, struct bytes hi)
{
    _cleanup_(buffer_finish) struct buffer lo_buffer, hi_buffer;
    struct range range = bounds(filter_text, &lo_buffer, &hi_buffer);
    assert_bytes(range.lo, lo);
    assert_bytes(range.hi, hi);
    assert_true(range_is_empty(range) || range_is_expressible(range));
}

#define END B(POSITION_END)

static void keys_bound_the_range(void **state)
{
    (void)state;
    assert_bounds(B("PartitionKey eq 'p'"), B("p\0"), B("p\1"));
    assert_bounds(B("'p' eq PartitionKey"), B("p\0"), B("p\1"));
    assert_bounds(B("PartitionKey ge 'p'"), B("p"), END);
    assert_bounds(B("PartitionKey gt 'p'"), B("p\1"), END);
    assert_bounds(B("PartitionKey lt 'p'"), B(""), B("p"));
    assert_bounds(B("PartitionKey le 'p'"), B(""), B("p\1"));
    assert_bounds(B("'p' lt PartitionKey"), B("p\1"), END);
    assert_bounds(B("PartitionKey ge 'a' and PartitionKey lt 'b'"), B("a"), B("b"));
    assert_bounds(B("PartitionKey ge 'a' and PartitionKey gt 'a' and PartitionKey ge ''"), B("a\1"),
                  END);
    assert_bounds(B("PartitionKey eq ''"), B("\0"), B("\1"));
    assert_bounds(B("PartitionKey eq 'it''s'"), B("it's\0"), B("it's\1"));
    assert_bounds(B("PartitionKey ge '\xF0\x9F\x98\x80'"), B("\xED\xA0\xBD\xED\xB8\x80"), END);
}

static void row_keys_bound_it_inside_a_partition(void **state)
{
    (void)state;
    assert_bounds(B("PartitionKey eq 'p' and RowKey eq 'r'"), B("p\0r"), B("p\0r\1"));
    assert_bounds(B("RowKey eq 'r' and PartitionKey eq 'p'"), B("p\0r"), B("p\0r\1"));
    assert_bounds(B("PartitionKey eq 'p' and RowKey ge 'r'"), B("p\0r"), B("p\1"));
    assert_bounds(B("PartitionKey eq 'p' and RowKey gt 'r'"), B("p\0r\1"), B("p\1"));
    assert_bounds(B("PartitionKey eq 'p' and RowKey lt 'r'"), B("p\0"), B("p\0r"));
    assert_bounds(B("PartitionKey eq 'p' and RowKey le 'r'"), B("p\0"), B("p\0r\1"));
    assert_bounds(B("(PartitionKey eq 'p') and ((RowKey ge 'a' and C eq 3) and RowKey lt 'b')"),
                  B("p\0a"), B("p\0b"));
    assert_bounds(B("PartitionKey eq 'p' and RowKey eq ''"), B("p\0"), B("p\0\1"));
    assert_bounds(B("RowKey eq 'r'"), B(""), END);
    assert_bounds(B("PartitionKey ge 'p' and PartitionKey le 'p' and RowKey eq 'r'"), B("p"),
                  B("p\1"));
}

static void all_else_bounds_nothing(void **state)
{
    (void)state;
    assert_bounds(B("C eq 3"), B(""), END);
    assert_bounds(B("PartitionKey ne 'p'"), B(""), END);
    assert_bounds(B("PartitionKey eq 5"), B(""), END);
    assert_bounds(B("PartitionKey"), B(""), END);
    assert_bounds(B("not (PartitionKey eq 'p')"), B(""), END);
    assert_bounds(B("not PartitionKey eq 'p'"), B(""), END);
    assert_bounds(B("PartitionKey eq 'p' or PartitionKey eq 'q'"), B(""), END);
    assert_bounds(B("PartitionKey eq 'p' or RowKey eq 'r'"), B(""), END);
    assert_bounds(B("PartitionKey eq 'p' and (RowKey eq 'r' or C eq 3)"), B("p\0"), B("p\1"));
    assert_bounds(B("partitionkey eq 'p'"), B(""), END);
}

static void contradictions_are_empty(void **state)
{
    (void)state;
    static const struct bytes filters[] = {
        B("PartitionKey eq 'a' and PartitionKey eq 'b'"),
        B("PartitionKey eq 'b' and PartitionKey eq 'a'"),
        B("PartitionKey gt 'a' and PartitionKey le 'a'"),
        B("PartitionKey eq 'a' and PartitionKey gt 'a'"),
        B("PartitionKey eq 'a' and PartitionKey lt 'a'"),
        B("PartitionKey lt ''"),
        B("PartitionKey eq 'p' and RowKey gt 'b' and RowKey lt 'a'"),
        B("PartitionKey eq 'p' and RowKey eq 'a' and RowKey eq 'b'"),
        B("PartitionKey eq 'p' and PartitionKey eq 'q' and RowKey eq 'r'"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        _cleanup_(buffer_finish) struct buffer lo, hi;
        assert_true(range_is_empty(bounds(filters[i], &lo, &hi)));
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    struct buffer small, large;
    struct range range;
    struct filter *filter = make(B("PartitionKey eq 'partition' and RowKey eq 'row'"));
    for (size_t max = 0; max < sizeof("partition\0row\1") - 1; max++) {
        buffer_init(&small, max);
        buffer_init(&large, 2 * FILTER_MAX_BYTES);
        assert_int_equal(filter_bounds(filter, &small, &large, &range), -EFBIG);
        assert_int_equal(filter_bounds(filter, &large, &small, &range), -EFBIG);
        buffer_finish(&small);
        buffer_finish(&large);
    }
    filter_destroy(filter);
    filter_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_compared_by_utf16_units),
        cmocka_unit_test(strings_are_compared_by_utf16_units),
        cmocka_unit_test(numbers_are_compared_by_value),
        cmocka_unit_test(integers_beyond_2_53_are_not_rounded),
        cmocka_unit_test(other_types_have_their_orders),
        cmocka_unit_test(other_types_than_the_constants_have_none),
        cmocka_unit_test(values_that_are_none_of_their_type_have_no_order),
        cmocka_unit_test(names_may_go_beyond_ascii),
        cmocka_unit_test(what_is_missing_equals_nothing),
        cmocka_unit_test(words_bind_in_their_order),
        cmocka_unit_test(the_text_is_read_no_further_than_needed),
        cmocka_unit_test(what_is_no_filter_is_refused_with_its_place),
        cmocka_unit_test(everything_has_a_maximum),
        cmocka_unit_test(keys_bound_the_range),
        cmocka_unit_test(row_keys_bound_it_inside_a_partition),
        cmocka_unit_test(all_else_bounds_nothing),
        cmocka_unit_test(contradictions_are_empty),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
