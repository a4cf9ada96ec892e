/* SPDX-License-Identifier: MIT */
#include "tests/unit/unit.h"

static void compare_orders_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(bytes_compare(B("a"), B("b")) < 0);
    assert_true(bytes_compare(B("ab"), B("a")) > 0);
    assert_true(bytes_compare(B("a\0b"), B("a")) > 0);
    assert_true(bytes_compare(B("\xff"), B("a")) > 0);
    assert_int_equal(bytes_compare((struct bytes){NULL, 0}, B("")), 0);
}

static void parse_unsigned_takes_digits_alone(void **state)
{
    (void)state;
    uint64_t value = 7;
    assert_true(bytes_parse_unsigned(B("18446744073709551615"), UINT64_MAX, &value));
    assert_true(value == UINT64_MAX);
    assert_true(bytes_parse_unsigned(B("007"), 7, &value));
    assert_int_equal(value, 7);
    static const char *const bad[] = {
        "", "-1", "+1", " 1", "1 ", "1x", "0x1", "18446744073709551616", "99999999999999999999999"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(bytes_parse_unsigned(bytes_of(bad[i]), UINT64_MAX, &value));
    assert_false(bytes_parse_unsigned(B("8"), 7, &value));
    assert_false(bytes_parse_unsigned(B("10"), 9, &value));
    assert_int_equal(value, 7);
}

static void a_buffer_keeps_its_content_where_another_does_not_fit(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer buffer, other;
    buffer_init(&buffer, 5);
    buffer_init(&other, 9);
    assert_int_equal(buffer_append_string(&buffer, "abcdef"), -EFBIG);
    assert_int_equal(buffer_set(&buffer, B("abcde")), 0);
    assert_int_equal(buffer_set(&buffer, B("fghijk")), -EFBIG);
    assert_bytes(buffer_bytes(&buffer), B("abcde"));
    assert_int_equal(buffer.error, 0);
    assert_int_equal(buffer_set(&buffer, B("x")), 0);
    buffer_swap(&buffer, &other);
    assert_bytes(buffer_bytes(&buffer), B(""));
    assert_bytes(buffer_bytes(&other), B("x"));
    assert_int_equal(other.max, 5);
}

static void a_buffer_keeps_to_its_maximum_and_its_error_sticks(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer buffer;
    buffer_init(&buffer, 5);
    assert_int_equal(buffer_append(&buffer, B("abc")), 0);
    assert_int_equal(buffer_append_format(&buffer, "%d", 123), -EFBIG);
    assert_int_equal(buffer_append_char(&buffer, 'd'), -EFBIG);
    assert_bytes(buffer_bytes(&buffer), B("abc"));
    assert_null(buffer_string(&buffer));
    buffer_clear(&buffer);
    assert_int_equal(buffer_append_format(&buffer, "%s", "12345"), 0);
    assert_string_equal(buffer_string(&buffer), "12345");
    assert_int_equal(buffer_append_char(&buffer, 'x'), -EFBIG);
}

static void a_buffer_that_shrinks_keeps_its_content(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer buffer;
    buffer_init(&buffer, 1000);
    buffer_shrink(&buffer); /* nothing */
    assert_int_equal(buffer_ensure(&buffer, 900), 0);
    assert_int_equal(buffer_append(&buffer, B("abc")), 0);
    buffer_shrink(&buffer);
    assert_int_equal(buffer.capacity, 4);
    assert_string_equal(buffer_string(&buffer), "abc");
    buffer_shrink(&buffer);
    assert_int_equal(buffer_append(&buffer, B("de")), 0);
    assert_string_equal(buffer_string(&buffer), "abcde");
    buffer_clear(&buffer);
    buffer_shrink(&buffer);
    assert_int_equal(buffer.capacity, 1);
    assert_string_equal(buffer_string(&buffer), "");
}

static void trim_and_find(void **state)
{
    (void)state;
    assert_bytes(bytes_trim(B(" \ta b\t ")), B("a b"));
    assert_bytes(bytes_trim(B("\r\n a\r\nb \n\r\n")), B("a\r\nb"));
    assert_bytes(bytes_trim(B(" \r\n ")), B(""));
    struct bytes text = B("one two");
    assert_ptr_equal(bytes_find(text, B("two")), text.data + 4);
    assert_null(bytes_find(text, B("three")));
    assert_true(bytes_start_with(text, B("one")) && bytes_end_with(text, B("two")));
    assert_false(bytes_end_with(B("o"), B("two")));
}

static void hexadecimal_digits_have_values(void **state)
{
    (void)state;
    for (int c = -128; c < 128; c++) {
        const char *digits = "0123456789abcdef", *upper = "0123456789ABCDEF";
        const char *found = c > 0 ? strchr(digits, c) : NULL,
                   *found_upper = c > 0 ? strchr(upper, c) : NULL;
        int expected = found         ? (int)(found - digits)
                       : found_upper ? (int)(found_upper - upper)
                                     : -1;
        assert_int_equal(hex_digit_value((char)c), expected);
        const char first[2] = {(char)c, '7'}, second[2] = {'7', (char)c};
        assert_int_equal(hex_byte_value(first), expected < 0 ? -1 : expected * 16 + 7);
        assert_int_equal(hex_byte_value(second), expected < 0 ? -1 : 7 * 16 + expected);
    }
}

static void text_has_a_form(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        const char *form;
        bool fits;
    } cases[] = {
        {B(""), "", true},
        {{NULL, 0}, "", true},
        {{NULL, 0}, "0", false},
        {B("a"), "", false},
        {B("2024-09"), "0000-00", true},
        {B("2024-0"), "0000-00", false},
        {B("2024-090"), "0000-00", false},
        {B("2024/09"), "0000-00", false},
        {B("2024-0a"), "0000-00", false},
        {B("2024-0\xB9"), "0000-00", false},
        {B("9aF"), "0xx", true},
        {B("9ag"), "0xx", false},
        {B("9a\0"), "0xx", false},
        {B("9a\0"), "0x", false},
        {B("1:T"), "0:T", true},
        {B("1:t"), "0:T", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(bytes_have_form(cases[i].text, cases[i].form), cases[i].fits);
    for (int c = 0; c < 256; c++) {
        const char text[] = {(char)c};
        assert_int_equal(bytes_have_form((struct bytes){text, 1}, "0"), c >= '0' && c <= '9');
    }
}

static void text_is_taken_up_to_a_byte(void **state)
{
    (void)state;
    struct bytes rest = B("a=b==");
    assert_bytes(bytes_take_until(&rest, '='), B("a"));
    assert_bytes(rest, B("b=="));
    assert_bytes(bytes_take_until(&rest, '='), B("b"));
    assert_bytes(bytes_take_until(&rest, '='), B(""));
    assert_int_equal(rest.size, 0);
    rest = B("abc");
    assert_bytes(bytes_take_until(&rest, '='), B("abc"));
    assert_int_equal(rest.size, 0);
    assert_int_equal(bytes_take_until(&rest, '=').size, 0);
    rest = (struct bytes){NULL, 0};
    assert_null(bytes_take_until(&rest, '=').data);
    assert_null(rest.data);
}

static void a_hash_goes_on(void **state)
{
    (void)state;
    uint64_t whole = bytes_hash(BYTES_HASH_START, B("foobar"));
    assert_true(whole == 0x85944171f73967e8U); /* of the function's published vectors */
    assert_true(bytes_hash(bytes_hash(BYTES_HASH_START, B("foo")), B("bar")) == whole);
    assert_true(bytes_hash(whole, (struct bytes){0}) == whole);
    assert_true(bytes_hash(BYTES_HASH_START, B("\xff\0")) !=
                bytes_hash(BYTES_HASH_START, B("\xff")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compare_orders_by_bytes_then_length),
        cmocka_unit_test(parse_unsigned_takes_digits_alone),
        cmocka_unit_test(a_buffer_keeps_to_its_maximum_and_its_error_sticks),
        cmocka_unit_test(a_buffer_that_shrinks_keeps_its_content),
        cmocka_unit_test(trim_and_find),
        cmocka_unit_test(hexadecimal_digits_have_values),
        cmocka_unit_test(text_has_a_form),
        cmocka_unit_test(text_is_taken_up_to_a_byte),
        cmocka_unit_test(a_buffer_keeps_its_content_where_another_does_not_fit),
        cmocka_unit_test(a_hash_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
