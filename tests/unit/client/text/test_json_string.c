/* SPDX-License-Identifier: MIT */
#include "client/text/json_string.h"
#include "client/base/unicode.h"
#include "tests/unit/unit.h"

/* Every way to spell it: what stands between quotes, as CESU-8, UTF-8 (NULL: cannot be), and in
 * canonical spelling. */
#define NONE ((struct bytes){NULL, 0})
static const struct {
    struct bytes raw, cesu8, utf8, canonical;
} cases[] = {
    {B(""), B(""), B(""), B("")},
    {B("plain"), B("plain"), B("plain"), B("plain")},
    {B("\\\"\\\\\\/\\b\\f\\n\\r\\t"), B("\"\\/\b\f\n\r\t"), B("\"\\/\b\f\n\r\t"),
     B("\\\"\\\\/\\b\\f\\n\\r\\t")},
    {B("\\u0022\\u005C\\u002f\\u0008\\u000C\\u000a\\u000d\\u0009"), B("\"\\/\b\f\n\r\t"),
     B("\"\\/\b\f\n\r\t"), B("\\\"\\\\/\\b\\f\\n\\r\\t")},
    {B("a\\u0000b\\u001F\\u0001"), B("a\0b\x1f\x01"), B("a\0b\x1f\x01"),
     B("a\\u0000b\\u001f\\u0001")},
    {B("\\u007f\\u0080\\u009F"), B("\x7f\xC2\x80\xC2\x9F"), B("\x7f\xC2\x80\xC2\x9F"),
     B("\x7f\xC2\x80\xC2\x9F")},
    {B("\\u0041\xC3\xA9\\u00E9"), B("A\xC3\xA9\xC3\xA9"), B("A\xC3\xA9\xC3\xA9"),
     B("A\xC3\xA9\xC3\xA9")},
    {B("\\u2028\\uFFFF\\uFFFD"), B("\xE2\x80\xA8\xEF\xBF\xBF\xEF\xBF\xBD"),
     B("\xE2\x80\xA8\xEF\xBF\xBF\xEF\xBF\xBD"), B("\xE2\x80\xA8\xEF\xBF\xBF\xEF\xBF\xBD")},
    {B("\\ud83D\\uDe00!"), B("\xED\xA0\xBD\xED\xB8\x80!"), B("\xF0\x9F\x98\x80!"),
     B("\xF0\x9F\x98\x80!")},
    {B("\xF0\x9F\x98\x80!"), B("\xED\xA0\xBD\xED\xB8\x80!"), B("\xF0\x9F\x98\x80!"),
     B("\xF0\x9F\x98\x80!")},
    {B("\\uD83D"), B("\xED\xA0\xBD"), NONE, B("\\ud83d")},
    {B("\\uDE00x"), B("\xED\xB8\x80x"), NONE, B("\\ude00x")},
    {B("\\uDE00\\uD83D"), B("\xED\xB8\x80\xED\xA0\xBD"), NONE, B("\\ude00\\ud83d")},
    {B("\\uD83D\\uD83D\\uDE00"), B("\xED\xA0\xBD\xED\xA0\xBD\xED\xB8\x80"), NONE,
     B("\\ud83d\xF0\x9F\x98\x80")},
    {B("\\uD83D\\\\uDE00"), B("\xED\xA0\xBD\\uDE00"), NONE, B("\\ud83d\\\\uDE00")},
    {B("\\uD83D\xC3\xA9"), B("\xED\xA0\xBD\xC3\xA9"), NONE, B("\\ud83d\xC3\xA9")},
    {B("\\uD83D\\n"), B("\xED\xA0\xBD\n"), NONE, B("\\ud83d\\n")},
    {B("\\uDBFF\\uDFFF\\uD800\\uDC00"), B("\xED\xAF\xBF\xED\xBF\xBF\xED\xA0\x80\xED\xB0\x80"),
     B("\xF4\x8F\xBF\xBF\xF0\x90\x80\x80"), B("\xF4\x8F\xBF\xBF\xF0\x90\x80\x80")},
};

static void every_spelling_is_read(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 1000);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(json_string_append_cesu8(&out, cases[i].raw), 0);
        assert_bytes(buffer_bytes(&out), cases[i].cesu8);
        buffer_clear(&out);
        assert_int_equal(json_string_append_utf8(&out, cases[i].raw),
                         cases[i].utf8.data ? 0 : -EILSEQ);
        if (cases[i].utf8.data)
            assert_bytes(buffer_bytes(&out), cases[i].utf8);
        buffer_clear(&out);
    }
}

static void one_is_written(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 1000);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(json_string_append_canonical(&out, cases[i].raw), 0);
        assert_bytes(buffer_bytes(&out), cases[i].canonical);
        assert_true(out.size <= cases[i].raw.size);
        assert_int_equal(json_string_compare(cases[i].raw, buffer_bytes(&out)), 0);
        buffer_clear(&out);
        assert_int_equal(json_string_append_canonical(&out, cases[i].canonical), 0);
        assert_bytes(buffer_bytes(&out), cases[i].canonical);
        buffer_clear(&out);
    }
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 3);
    assert_int_equal(json_string_append_canonical(&out, B("ab\\u0001")), -EFBIG);
    buffer_clear(&out);
    assert_int_equal(json_string_append_utf8(&out, B("abcd")), -EFBIG);
    buffer_clear(&out);
    assert_int_equal(json_string_append_cesu8(&out, B("\xF0\x9F\x98\x80")), -EFBIG);
}

static void the_order_is_that_of_code_points(void **state)
{
    (void)state;
    /* ascending, each one in two spellings */
    static const struct bytes ascending[][2] = {
        {B(""), B("")},
        {B("\\u0000"), B("\\u0000")},
        {B("\\n"), B("\\u000a")},
        {B("A"), B("\\u0041")},
        {B("AB"), B("A\\u0042")},
        {B("A\\\\"), B("\\u0041\\u005c")},
        {B("a"), B("\\u0061")},
        {B("\xC3\xA9"), B("\\u00e9")},
        {B("\\ud83d"), B("\\uD83D")},
        {B("\xEE\x80\x80"), B("\\ue000")},
        {B("\xEF\xBF\xBF"), B("\\uffff")},
        {B("\xF0\x9F\x98\x80"), B("\\ud83d\\ude00")}, /* UTF-16 would have it before U+E000 */
    };
    for (size_t i = 0; i < ARRAY_SIZE(ascending); i++) {
        assert_int_equal(json_string_compare(ascending[i][0], ascending[i][1]), 0);
        for (size_t k = 0; k < i; k++) {
            assert_true(json_string_compare(ascending[k][0], ascending[i][1]) < 0);
            assert_true(json_string_compare(ascending[i][0], ascending[k][1]) > 0);
        }
    }
}

/* Against every other spelling, in the order of what they stand for. */
static void it_is_compared_with_cesu8(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(json_string_units(cases[i].raw), cesu8_units(cases[i].cesu8));
        for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
            int order = json_string_compare_cesu8(cases[i].raw, cases[k].cesu8);
            int expected = bytes_compare(cases[i].cesu8, cases[k].cesu8);
            assert_int_equal((order > 0) - (order < 0), (expected > 0) - (expected < 0));
        }
    }
}

static void the_order_is_that_of_utf16(void **state)
{
    (void)state;
    /* U+1F600 stands before U+E000, and a lone surrogate where it is a unit */
    assert_true(json_string_compare_cesu8(B("\xF0\x9F\x98\x80"), B("\xEE\x80\x80")) < 0);
    assert_true(json_string_compare_cesu8(B("\xEE\x80\x80"), B("\xED\xA0\xBD\xED\xB8\x80")) > 0);
    assert_true(json_string_compare_cesu8(B("\\ud83d\xEE\x80\x80"), B("\xED\xA0\xBD\xED\xB8\x80")) >
                0);
    assert_true(json_string_compare_cesu8(B("\\ud83dz"), B("\xED\xA0\xBD\xED\xB8\x80")) < 0);
    assert_true(json_string_compare_cesu8(B("\xC3\xA9"), B("\xC3\xA8")) > 0);
    assert_true(json_string_compare_cesu8(B("\xF0\x9F\x98\x80"), B("\xED\xA0\xBD")) > 0);
    assert_true(json_string_compare_cesu8(B("ab"), B("abc")) < 0);
    assert_true(json_string_compare_cesu8(B("abc"), B("ab")) > 0);
    assert_int_equal(json_string_compare_cesu8(NONE, NONE), 0);
    assert_true(json_string_compare_cesu8(B("a"), NONE) > 0);
    assert_true(json_string_is(B("\\u0061b"), "ab") && !json_string_is(B("\\u0061b"), "abc"));
}

static void a_key_is_written_in_the_same_form(void **state)
{
    (void)state;
    static const struct bytes keys[][2] = {
        {B(""), B("")},
        {B("a/\x7F\xC3\xA9"), B("a/\x7F\xC3\xA9")},
        {B("\"\\\n\x01\0"), B("\\\"\\\\\\n\\u0001\\u0000")},
        {B("\xED\xA0\xBD\xED\xB8\x80\xED\xB8\x80"), B("\xF0\x9F\x98\x80\\ude00")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, 100);
        assert_int_equal(json_string_append_of_cesu8(&out, keys[i][0]), 0);
        assert_bytes(buffer_bytes(&out), keys[i][1]);
    }
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 100);
    assert_int_equal(json_string_append_of_utf8(&out, B("a \"\\\n\x01\0\xF0\x9F\x98\x80")), 0);
    assert_bytes(buffer_bytes(&out), B("a \\\"\\\\\\n\\u0001\\u0000\xF0\x9F\x98\x80"));
    assert_int_equal(json_string_append_of_cesu8(&out, B("a\xFF")), -EILSEQ);
    assert_int_equal(json_string_append_of_cesu8(&out, B("\xF0\x9F\x98\x80")), -EILSEQ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_written_in_the_same_form),
        cmocka_unit_test(every_spelling_is_read),
        cmocka_unit_test(one_is_written),
        cmocka_unit_test(a_full_buffer_is_an_error),
        cmocka_unit_test(the_order_is_that_of_code_points),
        cmocka_unit_test(it_is_compared_with_cesu8),
        cmocka_unit_test(the_order_is_that_of_utf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
