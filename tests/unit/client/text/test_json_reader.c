/* SPDX-License-Identifier: MIT */
#include "client/text/json_reader.h"
#include "tests/unit/unit.h"

/* Tokens as text: brackets stand for themselves, n(name) s(string) i(integer) d(other number) t
 * f z(null), a `\` after the letter for escapes; at last `.` for the end, `~` for "need more",
 * `!offset problem`. */

static void show(struct buffer *ret, const struct json_token *token)
{
    static const char letters[] = {
        [JSON_OBJECT_BEGIN] = '{', [JSON_OBJECT_END] = '}', [JSON_ARRAY_BEGIN] = '[',
        [JSON_ARRAY_END] = ']',    [JSON_NAME] = 'n',       [JSON_STRING] = 's',
        [JSON_NUMBER] = 'd',       [JSON_TRUE] = 't',       [JSON_FALSE] = 'f',
        [JSON_NULL] = 'z',
    };
    (void)buffer_append_char(ret, (char)(token->is_integer ? 'i' : letters[token->kind]));
    if (token->has_escapes)
        (void)buffer_append_char(ret, '\\');
    if (token->kind < JSON_NAME || token->kind > JSON_NUMBER)
        return;
    (void)buffer_append_char(ret, '(');
    (void)buffer_append(ret, token->text);
    (void)buffer_append_char(ret, ')');
}

static enum json_kind show_tokens(struct json_reader *reader, struct buffer *ret)
{
    struct json_token token;
    enum json_kind kind;
    while ((kind = json_reader_next(reader, &token)) >= JSON_OBJECT_BEGIN)
        show(ret, &token);
    return kind;
}

static void show_end(const struct json_reader *reader, enum json_kind kind, struct buffer *ret)
{
    if (kind == JSON_ERROR)
        (void)buffer_append_format(ret, "!%zu %s", json_reader_offset(reader),
                                   json_reader_problem(reader));
    else
        (void)buffer_append_char(ret, kind == JSON_END ? '.' : '~');
}

/* Feeds the first n bytes in memory of their own, so that a read after them or through an old
 * view is seen. */
static enum json_kind feed(struct json_reader *reader, struct bytes text, size_t n, bool is_whole,
                           struct buffer *ret)
{
    char *piece = n > 0 ? malloc(n) : NULL;
    if (n > 0)
        memcpy(piece, text.data, n);
    json_reader_feed(reader, (struct bytes){piece, n}, is_whole);
    enum json_kind kind = show_tokens(reader, ret);
    free(piece);
    return kind;
}

static void assert_shown(struct bytes text, const char *expected, struct buffer *shown)
{
    if (strcmp(buffer_string(shown), expected) != 0)
        print_error("of %.*s\n", (int)text.size, text.data);
    assert_string_equal(buffer_string(shown), expected);
    buffer_clear(shown);
}

/* The same in one piece, byte by byte, and in two pieces however they are cut. */
static void assert_tokens(struct bytes text, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer shown;
    struct json_reader reader;
    buffer_init(&shown, 1 << 16);
    for (size_t cut = 0; cut <= text.size; cut++) {
        json_reader_init(&reader);
        (void)feed(&reader, text, cut, false, &shown);
        show_end(&reader, feed(&reader, text, text.size, true, &shown), &shown);
        assert_shown(text, expected, &shown);
    }
    json_reader_init(&reader);
    for (size_t n = 0; n < text.size; n++)
        (void)feed(&reader, text, n, false, &shown);
    show_end(&reader, feed(&reader, text, text.size, true, &shown), &shown);
    assert_shown(text, expected, &shown);
}

#define TOKENS(text, expected) assert_tokens(B(text), (expected))

static void every_kind_of_value_is_a_token(void **state)
{
    (void)state;
    TOKENS("{}", "{}.");
    TOKENS("[]", "[].");
    TOKENS("[[],{}]", "[[]{}].");
    TOKENS("{\"a\":{\"b\":[1,{}]},\"c\":\"d\"}", "{n(a){n(b)[i(1){}]}n(c)s(d)}.");
    TOKENS(" \t\r\n[ true , false\n,null ] \n", "[tfz].");
    TOKENS("{ \"\" : \"\" }", "{n()s()}.");
    TOKENS("null", "z.");
    TOKENS("\"a\"", "s(a).");
}

static void numbers_are_their_source_text(void **state)
{
    (void)state;
    TOKENS("[0,-0,7,-10,2147483648,123456789012345678901234567890]",
           "[i(0)i(-0)i(7)i(-10)i(2147483648)i(123456789012345678901234567890)].");
    TOKENS("[3.0,-0.0,1e300,1E+3,1e-3,0.5e10,0e0]",
           "[d(3.0)d(-0.0)d(1e300)d(1E+3)d(1e-3)d(0.5e10)d(0e0)].");
    TOKENS("12", "i(12).");
    TOKENS("-1.5e+3", "d(-1.5e+3).");
    TOKENS("[01]", "[i(0)!2 a value where none can be");
    TOKENS("[-]", "[!2 not a number");
    TOKENS("[-a]", "[!2 not a number");
    TOKENS("[1.]", "[!3 not a number");
    TOKENS("[.5]", "[!1 no JSON value begins so");
    TOKENS("[+1]", "[!1 no JSON value begins so");
    TOKENS("[1e]", "[!3 not a number");
    TOKENS("[1e+]", "[!4 not a number");
    TOKENS("[1.5.5]", "[d(1.5)!4 no JSON value begins so");
    TOKENS("[0x10]", "[i(0)!2 no JSON value begins so");
    TOKENS("[NaN]", "[!1 no JSON value begins so");
    TOKENS("[Infinity]", "[!1 no JSON value begins so");
    TOKENS("-", "!1 the text ends too early");
    TOKENS("1.", "!2 the text ends too early");
}

static void strings_are_raw_and_say_whether_they_hold_escapes(void **state)
{
    (void)state;
    TOKENS("[\"a "
           "b\",\"\\\"\\\\\\/"
           "\\b\\f\\n\\r\\t\",\"\\u00e9\",\"\\uD83d\\ude00\",\"\\ud800\",\"\\u0000\"]",
           "[s(a "
           "b)s\\(\\\"\\\\\\/"
           "\\b\\f\\n\\r\\t)s\\(\\u00e9)s\\(\\uD83d\\ude00)s\\(\\ud800)s\\(\\u0000)].");
    TOKENS("{\"a\\n\":\"b\"}", "{n\\(a\\n)s(b)}.");
    TOKENS("[\"\\q\"]", "[!3 no such escape");
    TOKENS("[\"\\\0\"]", "[!3 no such escape");
    TOKENS("[\"\\U0041\"]", "[!3 no such escape");
    TOKENS("[\"\\u00g0\"]", "[!6 not a hexadecimal digit");
    TOKENS("[\"\\u12\"]", "[!6 not a hexadecimal digit");
    TOKENS("[\"a\nb\"]", "[!3 a control character in a string");
    TOKENS("[\"01234567\x1f\"]", "[!10 a control character in a string");
    TOKENS("[\"a\0b\"]", "[!3 a control character in a string");
    TOKENS("[\"\x7f\"]", "[s(\x7f)].");
    TOKENS("['a']", "[!1 no JSON value begins so");
}

static void strings_are_utf8(void **state)
{
    (void)state;
    TOKENS("\"\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF "
           "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF\"",
           "s(\xC2\x80 \xDF\xBF \xE0\xA0\x80 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBF "
           "\xF0\x90\x80\x80 \xF4\x8F\xBF\xBF).");
    TOKENS("\"\x80\"", "!1 not UTF-8");
    TOKENS("\"\xC0\x80\"", "!1 not UTF-8");
    TOKENS("\"\xC1\xBF\"", "!1 not UTF-8");
    TOKENS("\"\xC3\"", "!2 not UTF-8");
    TOKENS("\"\xE0\x9F\xBF\"", "!2 not UTF-8");
    TOKENS("\"\xE2\x82\"", "!3 not UTF-8");
    TOKENS("\"\xED\xA0\x80\"", "!2 not UTF-8"); /* a surrogate */
    TOKENS("\"\xF0\x8F\xBF\xBF\"", "!2 not UTF-8");
    TOKENS("\"\xF0\x90\x80\"", "!4 not UTF-8");
    TOKENS("\"\xF4\x90\x80\x80\"", "!2 not UTF-8");
    TOKENS("\"\xF5\x80\x80\x80\"", "!1 not UTF-8");
    TOKENS("\"\xFF\"", "!1 not UTF-8");
    TOKENS("{\"\xC3\xA9\":1}", "{n(\xC3\xA9)i(1)}.");
}

static void the_grammar_is_strict(void **state)
{
    (void)state;
    TOKENS("", "!0 the text ends too early");
    TOKENS(" ", "!1 the text ends too early");
    TOKENS("{} {}", "{}!3 an object or array where none can be");
    TOKENS("{}x", "{}!2 no JSON value begins so");
    TOKENS("{}1", "{}!2 a value where none can be");
    TOKENS("{},", "{}!2 a separator where none can be");
    TOKENS("1 2", "i(1)!2 a value where none can be");
    TOKENS("[1 2]", "[i(1)!3 a value where none can be");
    TOKENS("[1,}", "[i(1)!3 a bracket that closes nothing");
    TOKENS("[,1]", "[!1 a separator where none can be");
    TOKENS("[1,,2]", "[i(1)!3 a separator where none can be");
    TOKENS("[1:2]", "[i(1)!2 a separator where none can be");
    TOKENS("[}", "[!1 a bracket that closes nothing");
    TOKENS("{]", "{!1 a bracket that closes nothing");
    TOKENS("]", "!0 a bracket that closes nothing");
    TOKENS("{\"a\"}", "{n(a)!4 a bracket that closes nothing");
    TOKENS("{\"a\":}", "{n(a)!5 a bracket that closes nothing");
    TOKENS("{\"a\",1}", "{n(a)!4 a separator where none can be");
    TOKENS("{\"a\" 1}", "{n(a)!5 a value where none can be");
    TOKENS("{\"a\"\"b\"}", "{n(a)!4 a value where none can be");
    TOKENS("{\"a\":1,]", "{n(a)i(1)!7 a bracket that closes nothing");
    TOKENS("{\"a\":1,,}", "{n(a)i(1)!7 a separator where none can be");
    TOKENS("{\"a\":1 \"b\":2}", "{n(a)i(1)!7 a value where none can be");
    TOKENS("{a:1}", "{!1 a property name is expected here");
    TOKENS("{1:1}", "{!1 a property name is expected here");
    TOKENS("{null:1}", "{!1 a property name is expected here");
    TOKENS("{[]:1}", "{!1 an object or array where none can be");
    TOKENS("[tru]", "[!4 neither true, false nor null");
    TOKENS("[truee]", "[t!5 no JSON value begins so");
    TOKENS("[nulll]", "[z!5 no JSON value begins so");
    TOKENS("[True]", "[!1 no JSON value begins so");
    TOKENS("fals", "!4 the text ends too early");
    TOKENS("[1]//", "[i(1)]!3 no JSON value begins so");
    TOKENS("[1\v]", "[i(1)!2 no JSON value begins so");
    TOKENS("[1\xC2\xA0]", "[i(1)!2 no JSON value begins so");
    TOKENS("{}\0", "{}!2 no JSON value begins so");
}

/* The place is the comma's. */
static void a_trailing_comma_is_called_so(void **state)
{
    (void)state;
    TOKENS("[1,]", "[i(1)!2 a trailing comma");
    TOKENS("{\"a\":1,}", "{n(a)i(1)!6 a trailing comma");
    TOKENS("{\"a\":\",\",\n \t\r}", "{n(a)s(,)!8 a trailing comma");
    TOKENS("{\"a\":{\"b\":[],}}", "{n(a){n(b)[]!12 a trailing comma");
    TOKENS("{\"a\":[{},  ],\"b\":1}", "{n(a)[{}!8 a trailing comma");
    TOKENS("\xEF\xBB\xBF{\"a\":1,}", "{n(a)i(1)!9 a trailing comma");
    TOKENS("[,]", "[!1 a separator where none can be");
    TOKENS("{,}", "{!1 a separator where none can be");
    TOKENS("{},", "{}!2 a separator where none can be");
    TOKENS("{\"a\":1,", "{n(a)i(1)!7 the text ends too early");
}

static void a_byte_order_mark_at_the_begin_is_skipped(void **state)
{
    (void)state;
    TOKENS("\xEF\xBB\xBF{}", "{}.");
    TOKENS("\xEF\xBB\xBF \n[1]", "[i(1)].");
    TOKENS("\xEF\xBB\xBF\"\xEF\xBB\xBF\"", "s(\xEF\xBB\xBF).");
    TOKENS("\xEF\xBB\xBF", "!3 the text ends too early");
    TOKENS("\xEF\xBB", "!2 the text ends too early");
    TOKENS("\xEF", "!1 the text ends too early");
    TOKENS("\xEF{}", "!1 no JSON value begins so");
    TOKENS("\xEF\xBB{}", "!2 no JSON value begins so");
    TOKENS("\xEF\xBB {}", "!2 no JSON value begins so");
    TOKENS("\xEF\xBF\xBF{}", "!1 no JSON value begins so");
    TOKENS("\xEF\xBB\xBF\xEF\xBB\xBF{}", "!3 no JSON value begins so");
    TOKENS(" \xEF\xBB\xBF{}", "!1 no JSON value begins so");
    TOKENS(" \xBB\xBF{}", "!1 no JSON value begins so");
    TOKENS("{}\xEF\xBB\xBF", "{}!2 no JSON value begins so");
    TOKENS("\xFE\xFF\0{\0}", "!0 no JSON value begins so"); /* UTF-16 */
}

/* Feeds the text in two pieces, cut anywhere. */
static void assert_no_object(struct bytes text, size_t offset)
{
    struct json_token token;
    for (size_t cut = 0; cut <= text.size; cut++) {
        struct json_reader reader;
        json_reader_init_object(&reader);
        json_reader_feed(&reader, bytes_first(text, cut), false);
        assert_int_equal(json_reader_next(&reader, &token),
                         cut <= offset ? JSON_NEED_MORE : JSON_ERROR);
        json_reader_feed(&reader, text, false);
        assert_int_equal(json_reader_next(&reader, &token), JSON_ERROR);
        assert_string_equal(json_reader_problem(&reader), "not a JSON object");
        assert_int_equal(json_reader_offset(&reader), offset);
    }
}

static void another_value_than_the_object_is_wrong_with_its_first_byte(void **state)
{
    (void)state;
    static const char *const others[] = {"[]", "1", "-", "\"", "t", "x", ",", ":", "}", "\x01"};
    char text[10];
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_no_object(bytes_of(others[i]), 0);
        (void)snprintf(text, sizeof(text), "\xEF\xBB\xBF\n%s", others[i]);
        assert_no_object(bytes_of(text), 4);
    }
    struct json_reader reader;
    struct json_token token;
    json_reader_init_object(&reader);
    json_reader_feed(&reader, B("\xEF\xBB\xBF {\"a\":[1]} "), true);
    assert_int_equal(json_reader_next(&reader, &token), JSON_OBJECT_BEGIN);
    assert_int_equal(json_reader_next(&reader, &token), JSON_NAME);
    assert_int_equal(json_reader_skip(&reader), JSON_ARRAY_END);
    assert_int_equal(json_reader_next(&reader, &token), JSON_OBJECT_END);
    assert_int_equal(json_reader_next(&reader, &token), JSON_END);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    char text[2 * JSON_MAX_DEPTH + 2], expected[4 * JSON_MAX_DEPTH];
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    (void)snprintf(expected, sizeof(expected), "%.*s.", 2 * JSON_MAX_DEPTH, text);
    assert_tokens((struct bytes){text, sizeof(text) - 2}, expected);
    memset(text, '[', sizeof(text));
    (void)snprintf(expected, sizeof(expected), "%.*s!%d nested too deep", JSON_MAX_DEPTH, text,
                   JSON_MAX_DEPTH);
    assert_tokens((struct bytes){text, sizeof(text)}, expected);

    struct json_reader reader; /* a bomb costs nothing either */
    _cleanup_(buffer_finish) struct buffer bomb, shown;
    buffer_init(&bomb, 6 << 20);
    buffer_init(&shown, 1000);
    for (int i = 0; i < 1 << 20; i++)
        (void)buffer_append_string(&bomb, "{\"a\":");
    json_reader_init(&reader);
    assert_int_equal(feed(&reader, buffer_bytes(&bomb), bomb.size, true, &shown), JSON_ERROR);
    assert_int_equal(json_reader_offset(&reader), JSON_MAX_DEPTH * 5);
}

static const char sample[] =
    "{\"odata.etag\":\"W/\\\"datetime'2017'\\\"\",\"K\":\"\xC3\xA9\xF0\x9F\x98\x80\\ud83d\\u0000\","
    "\"N\":[-12.5e+3,0,true,false,null,{}],\"Z\":{\"a\":[[]]}}";

static void a_text_cut_anywhere_needs_more_and_is_an_error_when_whole(void **state)
{
    (void)state;
    struct bytes text = B(sample);
    struct buffer shown;
    buffer_init(&shown, 1000);
    for (size_t n = 0; n < text.size; n++) {
        struct json_reader reader;
        json_reader_init(&reader);
        assert_int_equal(feed(&reader, text, n, false, &shown), JSON_NEED_MORE);
        assert_int_equal(feed(&reader, text, n, false, &shown), JSON_NEED_MORE);
        assert_null(json_reader_problem(&reader));
        assert_int_equal(feed(&reader, text, n, true, &shown), JSON_ERROR);
        assert_string_equal(json_reader_problem(&reader), "the text ends too early");
        assert_int_equal(json_reader_offset(&reader), n);
        buffer_clear(&shown);
    }
    buffer_finish(&shown);
    assert_tokens(
        text,
        "{n(odata.etag)s\\(W/\\\"datetime'2017'\\\")n(K)s\\(\xC3\xA9\xF0\x9F\x98\x80\\ud83d\\u0000)"
        "n(N)[d(-12.5e+3)i(0)tfz{}]n(Z){n(a)[[]]}}.");
}

/* fs/text/draft feeds the text of a file so, after each write. */
static void an_object_is_complete_or_impossible_with_the_byte_that_makes_it_so(void **state)
{
    (void)state;
    struct json_reader reader;
    _cleanup_(buffer_finish) struct buffer shown;
    buffer_init(&shown, 1000);
    json_reader_init(&reader);
    struct bytes text = B("{\"a\": 1}\n \n{");
    assert_int_equal(feed(&reader, text, 0, false, &shown), JSON_NEED_MORE);
    assert_int_equal(feed(&reader, text, 7, false, &shown), JSON_NEED_MORE);
    assert_int_equal(feed(&reader, text, 8, false, &shown), JSON_END);
    assert_int_equal(feed(&reader, text, 11, false, &shown), JSON_END);
    assert_int_equal(feed(&reader, text, 12, false, &shown), JSON_ERROR);
    assert_int_equal(feed(&reader, text, 11, false, &shown), JSON_ERROR);
    assert_int_equal(json_reader_offset(&reader), 11);

    json_reader_init(&reader);
    assert_int_equal(feed(&reader, B("hello"), 1, false, &shown), JSON_ERROR);
    json_reader_init(&reader);
    assert_int_equal(feed(&reader, B("{\"a\": tx"), 7, false, &shown), JSON_NEED_MORE);
    assert_int_equal(feed(&reader, B("{\"a\": tx"), 8, false, &shown), JSON_ERROR);
    json_reader_init(&reader);
    assert_int_equal(feed(&reader, B("1"), 1, false, &shown), JSON_NEED_MORE); /* 10, perhaps */
    assert_int_equal(feed(&reader, B("1 "), 2, false, &shown), JSON_END);
}

static void begin(struct json_reader *reader, struct bytes text)
{
    json_reader_init(reader);
    json_reader_feed(reader, text, true);
}

static void skip_reads_one_value(void **state)
{
    (void)state;
    struct json_reader reader;
    struct json_token token;
    begin(&reader, B("[{\"a\":[1,{\"b\":2}]},[[]],\"s\",7]"));
    assert_int_equal(json_reader_next(&reader, &token), JSON_ARRAY_BEGIN);
    assert_int_equal(json_reader_skip(&reader), JSON_OBJECT_END);
    assert_int_equal(json_reader_skip(&reader), JSON_ARRAY_END);
    assert_int_equal(json_reader_skip(&reader), JSON_STRING);
    assert_int_equal(json_reader_left(&reader), 3);
    assert_int_equal(json_reader_next(&reader, &token), JSON_NUMBER);
    assert_int_equal(json_reader_skip(&reader), JSON_ARRAY_END);
    assert_int_equal(json_reader_skip(&reader), JSON_END);

    begin(&reader, B("{\"a\":[1,}"));
    assert_int_equal(json_reader_next(&reader, &token), JSON_OBJECT_BEGIN);
    assert_int_equal(json_reader_next(&reader, &token), JSON_NAME);
    assert_int_equal(json_reader_skip(&reader), JSON_ERROR);
}

static void a_rejected_token_is_an_error_at_its_begin(void **state)
{
    (void)state;
    struct json_reader reader;
    struct json_token token;
    begin(&reader, B("[1, \"two\", 3]"));
    for (int i = 0; i < 3; i++)
        (void)json_reader_next(&reader, &token);
    json_reader_reject(&reader, "not wanted");
    json_reader_reject(&reader, "the first problem stays");
    assert_int_equal(json_reader_next(&reader, &token), JSON_ERROR);
    assert_string_equal(json_reader_problem(&reader), "not wanted");
    assert_int_equal(json_reader_offset(&reader), 4);
}

/* So that a text of several values can be read one by one. */
static void the_depth_tells_where_a_value_ends(void **state)
{
    (void)state;
    static const size_t depths[] = {1, 1, 2, 2, 1, 1, 1, 0};
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, BYTES_LITERAL("{\"a\": [1], \"b\": 2} {"), false);
    assert_int_equal(json_reader_depth(&reader), 0);
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        assert_true(json_reader_next(&reader, &token) >= JSON_OBJECT_BEGIN);
        assert_int_equal(json_reader_depth(&reader), depths[i]);
    }
    assert_int_equal(json_reader_offset(&reader), strlen("{\"a\": [1], \"b\": 2}"));
}

static void an_object_that_was_cut_breaks_off(void **state)
{
    (void)state;
    struct bytes whole = B("{\"value\": [{\"a\\u0041\": -1.5e3}, true], \"b\": null}");
    for (size_t n = 1; n < whole.size; n++)
        assert_true(json_breaks_off(bytes_first(whole, n)));
    static const struct bytes others[] = {B(""),   B("<html>"), B("[1,"), B("{\"a\": 1}x"),
                                          B("{,"), B("{}")};
    assert_false(json_breaks_off(whole));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(json_breaks_off(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_that_was_cut_breaks_off),
        cmocka_unit_test(every_kind_of_value_is_a_token),
        cmocka_unit_test(numbers_are_their_source_text),
        cmocka_unit_test(strings_are_raw_and_say_whether_they_hold_escapes),
        cmocka_unit_test(strings_are_utf8),
        cmocka_unit_test(the_grammar_is_strict),
        cmocka_unit_test(a_trailing_comma_is_called_so),
        cmocka_unit_test(a_byte_order_mark_at_the_begin_is_skipped),
        cmocka_unit_test(another_value_than_the_object_is_wrong_with_its_first_byte),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_text_cut_anywhere_needs_more_and_is_an_error_when_whole),
        cmocka_unit_test(an_object_is_complete_or_impossible_with_the_byte_that_makes_it_so),
        cmocka_unit_test(skip_reads_one_value),
        cmocka_unit_test(a_rejected_token_is_an_error_at_its_begin),
        cmocka_unit_test(the_depth_tells_where_a_value_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
