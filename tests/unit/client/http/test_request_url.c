/* SPDX-License-Identifier: MIT */
#include "client/http/request_url.h"
#include "tests/unit/unit.h"

#define END B(POSITION_END)

#define HIGH_FIRST "\xED\xA0\x80"             /* U+D800 alone */
#define HIGH_LAST  "\xED\xAF\xBF"             /* U+DBFF alone */
#define LOW_FIRST  "\xED\xB0\x80"             /* U+DC00 alone */
#define EMOJI      "\xED\xA0\xBD\xED\xB8\x80" /* U+1F600 as a pair */

static const struct {
    struct range range;
    const char *filter; /* decoded: %20 is a blank, %27 a quote */
    bool is_widened;
} ranges[] = {
    {{B(""), END}, "", false},
    {{B("N"), END}, "PartitionKey ge 'N'", false},
    {{B("N"), B("O")}, "PartitionKey ge 'N' and PartitionKey lt 'O'", false},
    {{B("p\x01"), END}, "PartitionKey gt 'p'", false},
    {{B("\x01"), END}, "PartitionKey gt ''", false},
    {{B("p\x01"), B("q\0")}, "PartitionKey gt 'p' and PartitionKey lt 'q'", false},
    {{B("p\0"), B("q\x01")}, "PartitionKey ge 'p' and PartitionKey le 'q'", false},
    {{B("\0"), END}, "", false},
    {{B(""), B("p\x01")}, "PartitionKey le 'p'", false},
    {{B(""), B("\0")}, "PartitionKey lt ''", false},
    {{B("p\0"), B("p\x01")}, "PartitionKey eq 'p'", false},
    {{B("\0"), B("\x01")}, "PartitionKey eq ''", false},
    {{B("p\0r"), B("p\x01")}, "PartitionKey eq 'p' and RowKey ge 'r'", false},
    {{B("p\0r\x01"), B("p\x01")}, "PartitionKey eq 'p' and RowKey gt 'r'", false},
    {{B("p\0\x01"), B("p\x01")}, "PartitionKey eq 'p' and RowKey gt ''", false},
    {{B("p\0"), B("p\0r")}, "PartitionKey eq 'p' and RowKey lt 'r'", false},
    {{B("p\0"), B("p\0r\x01")}, "PartitionKey eq 'p' and RowKey le 'r'", false},
    {{B("p\0a"), B("p\0b")}, "PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'b'", false},
    {{B("p\0r"), B("p\0r\x01")}, "PartitionKey eq 'p' and RowKey ge 'r' and RowKey le 'r'", false},
    {{B("p\0"), B("p\0")}, "PartitionKey eq 'p' and RowKey lt ''", false},
    /* quotes are doubled, all else is encoded, pairs become UTF-8 */
    {{B("it's\0"), B("it's\x01")}, "PartitionKey eq 'it''s'", false},
    {{B("a&b=%41+ ;\0"), B("a&b=%41+ ;\x01")}, "PartitionKey eq 'a%26b%3D%2541%2B %3B'", false},
    {{B(EMOJI), END}, "PartitionKey ge '%F0%9F%98%80'", false},
    {{B("\xC3\xBC\0"), B("\xC3\xBC\x01")}, "PartitionKey eq '%C3%BC'", false},
    /* no control character, unless a key of the service has it */
    {{B("a\x7F"), B("b")}, "PartitionKey gt 'a~%EF%BF%BF' and PartitionKey lt 'b'", true},
    {{B(LOW_FIRST "\x7F"), END}, "PartitionKey ge '%F4%8F%BF%BF'", true},
    {{B("a\x7F\x01"), END}, "PartitionKey gt 'a%7F'", false},
    {{B("a\x7F"
        "b"),
      END},
     "PartitionKey ge 'a%7Fb'",
     false},
    {{B("a\x7F\0"), B("a\x7F\x01")}, "PartitionKey eq 'a%7F'", false},
    /* a lone surrogate: the nearest characters that UTF-8 has */
    {{B("a" HIGH_FIRST "z"), B("b")}, "PartitionKey ge 'a%ED%9F%BF' and PartitionKey lt 'b'", true},
    {{B("a" HIGH_FIRST "z\x01"), B("b")},
     "PartitionKey ge 'a%ED%9F%BF' and PartitionKey lt 'b'",
     true},
    {{B("a" HIGH_LAST), B("b")},
     "PartitionKey ge 'a%F4%8F%AF%BF' and PartitionKey lt 'b'", /* U+10FBFF */
     true},
    {{B("a" LOW_FIRST), B("b")},
     "PartitionKey ge 'a%F4%8F%BF%BF' and PartitionKey lt 'b'", /* U+10FFFF */
     true},
    {{B(""), B("a" HIGH_FIRST)}, "PartitionKey lt 'a%F0%90%90%80'", true}, /* U+10400 */
    {{B(""), B("a" HIGH_FIRST "\x01")}, "PartitionKey lt 'a%F0%90%90%80'", true},
    {{B(""), B("a" HIGH_LAST)}, "PartitionKey lt 'a%EE%80%80'", true}, /* U+E000 */
    {{B(""), B("a" LOW_FIRST)}, "PartitionKey lt 'a%EE%80%80'", true},
    {{B(HIGH_FIRST "\0a"), B(HIGH_FIRST "\0b")},
     "PartitionKey ge '%ED%9F%BF' and PartitionKey lt '%F0%90%90%80' and RowKey ge 'a' and RowKey "
     "lt 'b'",
     true},
    {{B(HIGH_FIRST "\0"), B(HIGH_FIRST "\x01")},
     "PartitionKey ge '%ED%9F%BF' and PartitionKey lt '%F0%90%90%80'",
     true},
    {{B("p\0" LOW_FIRST), B("p\0" LOW_FIRST "\x01")},
     "PartitionKey eq 'p' and RowKey ge '%F4%8F%BF%BF' and RowKey lt '%EE%80%80'",
     true},
};

static void append_decoded(struct buffer *ret, struct bytes filter)
{
    for (size_t i = 0; i < filter.size; i++) {
        const char *rest = filter.data + i;
        bool is_blank = strncmp(rest, "%20", 3) == 0, is_quote = strncmp(rest, "%27", 3) == 0;
        (void)buffer_append(ret, is_blank ? B(" ") : is_quote ? B("'") : (struct bytes){rest, 1});
        i += is_blank || is_quote ? 2 : 0;
    }
}

static void ranges_become_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        struct query query = {.table = "t", .range = ranges[i].range, .top = 7};
        _cleanup_(buffer_finish) struct buffer text, decoded, expected;
        bool is_widened = !ranges[i].is_widened;
        buffer_init(&text, 4000);
        buffer_init(&decoded, 4000);
        buffer_init(&expected, 4000);
        (void)buffer_append_format(
            &expected, ranges[i].filter[0] ? "$filter=%s&$top=7" : "%s$top=7", ranges[i].filter);
        assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), 0);
        (void)buffer_string(&text);
        append_decoded(&decoded, buffer_bytes(&text));
        assert_string_equal(buffer_string(&decoded), buffer_string(&expected));
        assert_int_equal(is_widened, ranges[i].is_widened);
    }
}

static void filters_are_percent_encoded(void **state)
{
    (void)state;
    struct query query = {.range = {B("p\0it's"), B("p\x01")}, .top = 1000, .keys_only = true};
    _cleanup_(buffer_finish) struct buffer text;
    bool is_widened;
    buffer_init(&text, 4000);
    assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), 0);
    assert_string_equal(buffer_string(&text),
                        "$filter=PartitionKey%20eq%20%27p%27%20and%20RowKey%20ge%20%27it%27%27s%27"
                        "&$select=PartitionKey%2CRowKey%2CTimestamp&$top=1000");
}

static void filters_and_columns_of_the_caller_are_added(void **state)
{
    (void)state;
    static const struct {
        struct range range;
        const char *filter, *select;
        bool keys_only;
        const char *expected;
    } cases[] = {
        {{B(""), END},
         "n eq 1 or m ge 2L",
         NULL,
         false,
         "$filter=%28n%20eq%201%20or%20m%20ge%202L%29&$top=5"},
        {{B("p\0"), B("p\x01")},
         "s eq '\xC3\xBC&+%'",
         NULL,
         false,
         "$filter=PartitionKey%20eq%20%27p%27%20and%20%28s%20eq%20%27%C3%BC%26%2B%25%27%29"
         "&$top=5"},
        {{B(""), END},
         NULL,
         "A,B",
         false,
         "$select=PartitionKey%2CRowKey%2CTimestamp%2CA%2CB&$top=5"},
        {{B(""), END},
         NULL,
         " RowKey, A ,,Timestamp,PartitionKey,RowKeys,",
         false,
         "$select=PartitionKey%2CRowKey%2CTimestamp%2CA%2CRowKeys&$top=5"},
        {{B(""), END}, NULL, "", false, "$select=PartitionKey%2CRowKey%2CTimestamp&$top=5"},
        {{B(""), END}, NULL, "A", true, "$select=PartitionKey%2CRowKey%2CTimestamp&$top=5"},
        {{B("p"), END},
         "b",
         "A&x=y",
         false,
         "$filter=PartitionKey%20ge%20%27p%27%20and%20%28b%29"
         "&$select=PartitionKey%2CRowKey%2CTimestamp%2CA%26x%3Dy&$top=5"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct query query = {.range = cases[i].range,
                                    .filter = cases[i].filter,
                                    .select = cases[i].select,
                                    .keys_only = cases[i].keys_only,
                                    .top = 5};
        _cleanup_(buffer_finish) struct buffer text;
        bool is_widened;
        buffer_init(&text, 4000);
        assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), 0);
        assert_string_equal(buffer_string(&text), cases[i].expected);
        assert_false(is_widened);
    }
}

static void keys_that_are_no_text_are_refused(void **state)
{
    (void)state;
    static const struct range malformed[] = {
        {B("\xFF\xFE"), END},
        {B(""), B("\xC3")},
        {B("p\0\xF0\x9F\x98\x80"), B("p\x01")}, /* UTF-8, not CESU-8 */
    };
    for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
        struct query query = {.range = malformed[i], .top = 1};
        _cleanup_(buffer_finish) struct buffer text;
        bool is_widened;
        buffer_init(&text, 4000);
        assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), -EILSEQ);
    }
}

static void too_long_a_url_is_an_error(void **state)
{
    (void)state;
    struct query query = {.range = {B("0123456789"), END}, .top = 1};
    _cleanup_(buffer_finish) struct buffer text;
    bool is_widened;
    buffer_init(&text, 20);
    assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), -EFBIG);
}

static void entity_paths_escape_keys(void **state)
{
    (void)state;
    static const struct {
        struct bytes position;
        const char *path;
    } paths[] = {
        {B("pk\0rk"), "/t(PartitionKey='pk',RowKey='rk')"},
        {B("\0"), "/t(PartitionKey='',RowKey='')"},
        {B("o'clock +%\0\xC3\xBC~\xC3\xBC=\xE2\x82\xAC,(x)"),
         "/t(PartitionKey='o%27%27clock%20%2B%25',RowKey='%C3%BC~%C3%BC%3D%E2%82%AC%2C%28x%29')"},
        {B(EMOJI "\0azAZ09.-_~"), "/t(PartitionKey='%F0%9F%98%80',RowKey='azAZ09.-_~')"},
        {B("i:00ff\0d:hello world.txt"),
         "/t(PartitionKey='i%3A00ff',RowKey='d%3Ahello%20world.txt')"},
        {B("..\0../x?y#z"), "/t(PartitionKey='..',RowKey='..%2Fx%3Fy%23z')"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        _cleanup_(buffer_finish) struct buffer text;
        buffer_init(&text, 4000);
        assert_int_equal(request_url_append_entity(&text, "t", paths[i].position), 0);
        assert_string_equal(buffer_string(&text), paths[i].path);
    }
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 4000);
    assert_int_equal(request_url_append_entity(&text, "t", B("p\0" LOW_FIRST)), -EILSEQ);
    assert_int_equal(request_url_append_entity(&text, "t", B(HIGH_LAST "\0r")), -EILSEQ);
}

static void table_paths_cannot_be_left(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 4000);
    assert_int_equal(request_url_append_rows(&text, "MyTable1"), 0);
    assert_int_equal(request_url_append_rows(&text, "../a?b#c'"), 0);
    assert_int_equal(request_url_append_tables(&text), 0);
    assert_int_equal(request_url_append_insert(&text, "a/b"), 0);
    assert_int_equal(request_url_append_table(&text, "x')/"), 0);
    assert_string_equal(buffer_string(&text), "/MyTable1()/..%2Fa%3Fb%23c%27()/Tables/a%2Fb"
                                              "/Tables('x%27%27%29%2F')");
}

static void what_could_not_be_written_has_a_reason(void **state)
{
    (void)state;
    static const struct {
        int error, expected;
        const char *message;
    } cases[] = {
        {-EFBIG, -ENAMETOOLONG, "the request's URL is too long"},
        {-EILSEQ, -EINVAL, "a key that no URL can hold: it has a lone surrogate"},
        {-EINVAL, -EINVAL, "an entity's text or ETag that cannot be sent"},
        {-ENOMEM, -ENOMEM, "out of memory"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call = {0};
        assert_int_equal(request_url_fail(&call, cases[i].error), cases[i].expected);
        assert_string_equal(call.failure.message, cases[i].message);
        assert_int_equal(call.failure.operation, -1);
        assert_false(call.failure.is_ambiguous);
    }
}

static void expect_continued(const char *const values[TOKEN_PARTS], const char *expected)
{
    _cleanup_(continuation_destroyp) struct continuation *continuation = NULL;
    struct query query = {.range = RANGE_ALL, .top = 2};
    _cleanup_(buffer_finish) struct buffer token, text;
    bool is_widened;
    buffer_init(&token, 1000);
    buffer_init(&text, 1000);
    for (enum token_part part = 0; part < TOKEN_PARTS; part++) {
        if (values[part])
            assert_int_equal(token_append_part(&token, part, bytes_of(values[part])), 0);
    }
    assert_int_equal(continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), &continuation),
                     0);
    query.after = continuation;
    assert_int_equal(request_url_append_row_query(&text, &query, &is_widened), 0);
    assert_string_equal(buffer_string(&text), expected);
}

static void tokens_are_sent_back_as_they_came(void **state)
{
    (void)state;
    expect_continued((const char *const[]){"1!4!YQ--", NULL, NULL},
                     "$top=2&NextPartitionKey=1%214%21YQ--");
    expect_continued((const char *const[]){"a+/b==", "", NULL},
                     "$top=2&NextPartitionKey=a%2B%2Fb%3D%3D&NextRowKey=");
    expect_continued((const char *const[]){"", "", NULL}, "$top=2&NextPartitionKey=&NextRowKey=");
    expect_continued((const char *const[]){NULL, "r", NULL}, "$top=2&NextRowKey=r");
    expect_continued((const char *const[]){NULL, NULL, "tab&x=y"},
                     "$top=2&NextTableName=tab%26x%3Dy");
    assert_string_equal(token_header(TOKEN_NEXT_PARTITION_KEY),
                        "x-ms-continuation-NextPartitionKey");
    assert_string_equal(token_header(TOKEN_NEXT_ROW_KEY), "x-ms-continuation-NextRowKey");
    assert_string_equal(token_header(TOKEN_NEXT_TABLE_NAME), "x-ms-continuation-NextTableName");
}

static void a_foreign_token_is_refused(void **state)
{
    (void)state;
    static const struct bytes tokens[] = {B("X\0"), B("Pabc"), B("P\0R"), B("\0")};
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        _cleanup_(continuation_destroyp) struct continuation *continuation = NULL;
        _cleanup_(buffer_finish) struct buffer text;
        buffer_init(&text, 1000);
        assert_int_equal(continuation_create(tokens[i], BYTES_LITERAL(""), &continuation), 0);
        assert_int_equal(request_url_append_table_query(&text, NULL, continuation), -EILSEQ);
    }
}

static void tables_are_asked_for_by_name(void **state)
{
    (void)state;
    _cleanup_(continuation_destroyp) struct continuation *continuation = NULL;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 1000);
    assert_int_equal(request_url_append_table_query(&text, NULL, NULL), 0);
    assert_int_equal(text.size, 0);
    assert_int_equal(continuation_create(B("Tnext\0"), BYTES_LITERAL(""), &continuation), 0);
    assert_int_equal(request_url_append_table_query(&text, "o'b&c", continuation), 0);
    assert_string_equal(buffer_string(&text),
                        "$filter=TableName%20eq%20%27o%27%27b%26c%27&NextTableName=next");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_become_filters),
        cmocka_unit_test(filters_are_percent_encoded),
        cmocka_unit_test(filters_and_columns_of_the_caller_are_added),
        cmocka_unit_test(keys_that_are_no_text_are_refused),
        cmocka_unit_test(too_long_a_url_is_an_error),
        cmocka_unit_test(entity_paths_escape_keys),
        cmocka_unit_test(table_paths_cannot_be_left),
        cmocka_unit_test(what_could_not_be_written_has_a_reason),
        cmocka_unit_test(tokens_are_sent_back_as_they_came),
        cmocka_unit_test(a_foreign_token_is_refused),
        cmocka_unit_test(tables_are_asked_for_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
