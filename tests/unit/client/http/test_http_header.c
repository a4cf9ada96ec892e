/* SPDX-License-Identifier: MIT */
#include "client/http/http_header.h"
#include "tests/unit/unit.h"

static void lines_are_taken_one_by_one(void **state)
{
    (void)state;
    struct bytes text = B("one\r\ntwo\n\r\n\rx\r\r\nend");
    assert_bytes(http_header_take_line(&text), B("one"));
    assert_bytes(http_header_take_line(&text), B("two"));
    assert_bytes(http_header_take_line(&text), B(""));
    assert_bytes(http_header_take_line(&text), B("\rx\r"));
    assert_bytes(http_header_take_line(&text), B("end"));
    assert_int_equal(text.size, 0);
    assert_bytes(http_header_take_line(&text), B(""));
}

static void a_header_is_found_in_any_case(void **state)
{
    (void)state;
    const struct bytes lines =
        B("HTTP/1.1 200 OK\r\nETag: W/\"a: b\"\r\nEmpty:\r\nblank: \t \ntwice: 1\r\nTwice:2\r\n");
    struct bytes value = B("untouched");
    assert_false(http_header_find(lines, "Tag", &value));
    assert_false(http_header_find(lines, "ETa", &value));
    assert_false(http_header_find(lines, "HTTP/1.1 200", &value));
    assert_false(http_header_find(B(""), "ETag", &value));
    assert_false(http_header_find(B("ETag"), "ETag", &value));
    assert_bytes(value, B("untouched"));
    assert_true(http_header_find(lines, "etag", &value));
    assert_bytes(value, B("W/\"a: b\""));
    assert_true(http_header_find(lines, "EMPTY", &value));
    assert_bytes(value, B(""));
    assert_true(http_header_find(lines, "Blank", &value));
    assert_bytes(value, B(""));
    assert_true(http_header_find(lines, "Twice", &value));
    assert_bytes(value, B("2"));
}

static void a_parameter_may_be_quoted(void **state)
{
    (void)state;
    static const struct {
        struct bytes value;
        const char *expected; /* NULL: none */
    } cases[] = {
        {B("multipart/mixed; boundary=batchresponse_1"), "batchresponse_1"},
        {B("multipart/mixed;boundary=\"a b\""), "a b"},
        {B("multipart/mixed; charset=x ; Boundary = y"), NULL},
        {B("multipart/mixed; charset=x ; BOUNDARY=y ; boundary=z"), "y"},
        {B("multipart/mixed; boundary="), ""},
        {B("multipart/mixed; boundary=\""), ""},
        {B("multipart/mixed; boundary=\"open"), "open"},
        {B("multipart/mixed; boundary"), NULL},
        {B("multipart/mixed; xboundary=1"), NULL},
        {B("boundary=1"), NULL},
        {B(""), NULL},
        {B(";;boundary=1;"), "1"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bytes value = B("untouched");
        assert_int_equal(http_header_parameter(cases[i].value, "boundary", &value),
                         cases[i].expected != NULL);
        assert_bytes(value, bytes_of(cases[i].expected ? cases[i].expected : "untouched"));
    }
}

static void a_header_is_appended_as_a_line(void **state)
{
    (void)state;
    struct buffer text;
    buffer_init(&text, 20);
    assert_int_equal(http_header_append(&text, "If-Match", B("*")), 0);
    assert_bytes(buffer_bytes(&text), B("If-Match: *\r\n"));
    assert_int_equal(http_header_append(&text, "Prefer", B("much")), -EFBIG);
    buffer_finish(&text);
    assert_true(http_header_is_value(B("W/\"\xC3\xBC\" x")));
    assert_true(http_header_is_value(B("")));
    assert_false(http_header_is_value(B("a\r\nb: c")));
    assert_false(http_header_is_value(B("a\0")));
    assert_false(http_header_is_value(B("\x7F")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_taken_one_by_one),
        cmocka_unit_test(a_header_is_found_in_any_case),
        cmocka_unit_test(a_parameter_may_be_quoted),
        cmocka_unit_test(a_header_is_appended_as_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
