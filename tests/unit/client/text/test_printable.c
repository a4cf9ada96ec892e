/* SPDX-License-Identifier: MIT */
#include "client/text/printable.h"
#include "tests/unit/unit.h"

static void assert_shown(struct bytes text, const char *shown)
{
    char copy[100];
    assert_true(text.size <= sizeof(copy));
    memcpy(copy, text.data, text.size);
    size_t size = printable_replace(copy, text.size);
    assert_bytes(((struct bytes){copy, size}), bytes_of(shown));
    assert_int_equal(printable_replace(copy, size), size); /* once is enough */
    assert_bytes(((struct bytes){copy, size}), bytes_of(shown));
}

static void what_is_printable_stays(void **state)
{
    static const char *const texts[] = {
        "",
        "a ~",
        "\xC2\xA0\xC3\xA4",
        "\xD8\x9B\xD8\x9D",         /* U+061B, U+061D */
        "\xE2\x80\x8D\xE2\x80\x90", /* U+200D, U+2010 */
        "\xE2\x80\xA7\xE2\x80\xAF\xE2\x81\x9F\xE2\x81\xB0",
        "\xEF\xBF\xBD", /* U+2027... */
        "\xF0\x9F\x98\x80",
        "\xF4\x8F\xBF\xBF",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        assert_shown(bytes_of(texts[i]), texts[i]);
}

static void what_controls_is_replaced(void **state)
{
    (void)state;
    assert_shown(B("a\0b\x1b[31m\x07\r\n\t\x7f"), "a?b?[31m?????");
    for (uint32_t c = 0x80; c <= 0x9F; c++)
        assert_shown(((struct bytes){(char[]){'\xC2', (char)c}, 2}), "?");
    assert_shown(B("\xD8\x9C|\xE2\x80\x8B|\xE2\x80\x8E|\xE2\x80\x8F"), "?|?|?|?");
    assert_shown(B("\xEF\xBB\xBF|\xEF\xBB\xBE|\xEF\xBC\x80"), "?|\xEF\xBB\xBE|\xEF\xBC\x80");
    for (uint32_t c = 0xA8; c <= 0xAE; c++) /* U+2028 to U+202E */
        assert_shown(((struct bytes){(char[]){'\xE2', '\x80', (char)c}, 3}), "?");
    for (uint32_t c = 0xA0; c <= 0xAF; c++) /* U+2060 to U+206F */
        assert_shown(((struct bytes){(char[]){'\xE2', '\x81', (char)c}, 3}), "?");
}

static void what_is_no_utf8_is_replaced(void **state)
{
    (void)state;
    assert_shown(B("a\x9b"
                   "b"),
                 "a?b"); /* the raw byte of C1 */
    assert_shown(B("\xC3"), "?");
    assert_shown(B("x\xE2\x82"), "x??");
    assert_shown(B("\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xFF"), "??????????");
    assert_shown(B("\xC3\xC3\xA4"), "?\xC3\xA4");
}

static void a_string_and_a_part_of_a_buffer_are_made_so(void **state)
{
    (void)state;
    char text[] = "\x1bx\xE2\x80\xAE";
    printable_replace_string(text);
    assert_string_equal(text, "?x?");
    _cleanup_(buffer_finish) struct buffer buffer;
    buffer_init(&buffer, 8);
    printable_replace_from(&buffer, 0);
    (void)buffer_append_string(&buffer, "\n\xE2\x80\xAE\n");
    printable_replace_from(&buffer, 1);
    assert_bytes(buffer_bytes(&buffer), B("\n??"));
    assert_int_equal(buffer_append_string(&buffer, "too long for it"), -EFBIG);
    printable_replace_from(&buffer, 1);
    assert_bytes(buffer_bytes(&buffer), B("\n??"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printable_stays),
        cmocka_unit_test(what_controls_is_replaced),
        cmocka_unit_test(what_is_no_utf8_is_replaced),
        cmocka_unit_test(a_string_and_a_part_of_a_buffer_are_made_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
