/* SPDX-License-Identifier: MIT */
#include "client/text/base64.h"
#include "tests/unit/unit.h"

static void assert_decoded(struct bytes base64, struct bytes expected)
{
    size_t size = 42, n = 0;
    unsigned char whole[64], group[3];
    assert_true(base64_decoded_size(base64, &size));
    assert_int_equal(size, expected.size);
    assert_true(base64.size <= sizeof(whole));
    assert_int_equal(base64_decode(base64, whole), size);
    if (size > 0)
        assert_memory_equal(whole, expected.data, size);
    for (; base64.size > 0; base64 = bytes_skip(base64, 4)) {
        size_t k = base64_decode(bytes_first(base64, 4), group);
        assert_true(k >= 1 && n + k <= size);
        assert_memory_equal(group, expected.data + n, k);
        n += k;
    }
    assert_int_equal(n, size);
}

static void texts_are_decoded_whole_and_by_groups(void **state)
{
    (void)state;
    assert_decoded((struct bytes){NULL, 0}, B(""));
    assert_decoded(B("AA=="), B("\0"));
    assert_decoded(B("AAE="), B("\0\1"));
    assert_decoded(B("AAEC"), B("\0\1\2"));
    assert_decoded(B("+/8="), B("\xFB\xFF"));
    assert_decoded(B("Zm9vYmFyIQ=="), B("foobar!"));
}

static void unused_bits_of_the_last_digit_are_ignored(void **state)
{
    (void)state;
    assert_decoded(B("AB=="), B("\0"));
    assert_decoded(B("AP=="), B("\0"));
    assert_decoded(B("+/9="), B("\xFB\xFF"));
}

static void every_byte_is_a_digit_or_refused(void **state)
{
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int c = 0; c < 256; c++) {
        for (size_t at = 0; at < 4; at++) {
            char text[] = "AAAA";
            size_t size = 42;
            text[at] = (char)c;
            bool is_digit = c != 0 && strchr(digits, c) != NULL;
            bool is_padding = c == '=' && at == 3;
            assert_int_equal(base64_decoded_size((struct bytes){text, 4}, &size),
                             is_digit || is_padding);
            assert_int_equal(size, is_digit ? 3 : is_padding ? 2 : 42);
        }
    }
    for (unsigned value = 0; value < 64; value++) {
        char text[] = {digits[value], 'A', 'A', 'A'};
        unsigned char bytes[3];
        assert_int_equal(base64_decode((struct bytes){text, 4}, bytes), 3);
        assert_int_equal(bytes[0], value << 2);
    }
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const struct bytes bad[] = {
        B("A"),        B("AA"),    B("AAA"),   B("AAAAA"),    B("===="),     B("A==="),
        B("A=A="),     B("AA=A"),  B("==AA"),  B("=AAA"),     B("AA==AAAA"), B("AAA=AAAA"),
        B("AAAA===="), B("AA-_"),  B("AA A"),  B(" AAAA"),    B("AAAA    "), B("    AAAA"),
        B("AAA\n"),    B("AAA\0"), B("A\0=="), B("\0\0\0\0"), B("AAA\xC3"),
    };
    size_t size = 42;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(base64_decoded_size(bad[i], &size));
    assert_int_equal(size, 42);
}

static void unused_bits_are_cleared(void **state)
{
    (void)state;
    static const struct bytes cases[][2] = {
        {B(""), B("")},
        {B("AAEC"), B("AAEC")},
        {B("/w=="), B("/w==")},
        {B("/+=="), B("/w==")},
        {B("AB=="), B("AA==")},
        {B("//=="), B("/w==")},
        {B("AAB="), B("AAA=")},
        {B("///="), B("//8=")},
        {B("AAAA///="), B("AAAA//8=")},
        /* not base64 */
        {B("="), B("=")},
        {B("=="), B("==")},
        {B("//="), B("//=")},
        {B("/ /="), B("/ /=")},
        {B("\0\0\0="), B("\0\0\0=")},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[16];
        memcpy(text, cases[i][0].data, cases[i][0].size);
        base64_clear_unused(text, cases[i][0].size);
        assert_memory_equal(text, cases[i][1].data, cases[i][1].size);
    }
}

static void the_form_for_urls_has_other_digits_and_no_padding(void **state)
{
    (void)state;
    static const struct bytes cases[][2] = {
        {B(""), B("")},
        {B("\0"), B("AA")},
        {B("\xFB\xFF"), B("-_8")},
        {B("\xFB\xFF\xFE"), B("-__-")},
        {B("foobar!"), B("Zm9vYmFyIQ")},
    };
    static const struct bytes others[] = {B("A"),    B("AA=="),  B("+_8"),  B("-/8"),
                                          B("AA A"), B("AAA\0"), B("AAAAA")};
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 100);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        buffer_clear(&out);
        assert_int_equal(base64url_append(&out, cases[i][0]), 0);
        assert_bytes(buffer_bytes(&out), cases[i][1]);
        buffer_clear(&out);
        assert_int_equal(base64url_append_decoded(&out, cases[i][1]), 0);
        assert_bytes(buffer_bytes(&out), cases[i][0]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_int_equal(base64url_append_decoded(&out, others[i]), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unused_bits_are_cleared),
        cmocka_unit_test(texts_are_decoded_whole_and_by_groups),
        cmocka_unit_test(unused_bits_of_the_last_digit_are_ignored),
        cmocka_unit_test(every_byte_is_a_digit_or_refused),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(the_form_for_urls_has_other_digits_and_no_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
