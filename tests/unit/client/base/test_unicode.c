/* SPDX-License-Identifier: MIT */
#include "client/base/unicode.h"
#include "tests/unit/unit.h"

static void every_character_goes_there_and_back(void **state)
{
    (void)state;
    struct buffer utf8, cesu8, again;
    buffer_init(&utf8, 8);
    buffer_init(&cesu8, 8);
    buffer_init(&again, 8);
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        uint32_t read;
        buffer_clear(&cesu8);
        assert_int_equal(cesu8_append(&cesu8, c), 0);
        assert_int_equal(cesu8_next(buffer_bytes(&cesu8), &read), cesu8.size);
        assert_int_equal(read, c);
        assert_int_equal(cesu8_units(buffer_bytes(&cesu8)), c > 0xFFFF ? 2 : 1);
        buffer_clear(&utf8);
        if (UNICODE_IS_SURROGATE(c)) {
            assert_int_equal(utf8_append(&utf8, c), -EILSEQ);
            continue;
        }
        assert_int_equal(utf8_append(&utf8, c), 0);
        assert_int_equal(utf8_next(buffer_bytes(&utf8), &read), utf8.size);
        assert_int_equal(read, c);
        buffer_clear(&again);
        assert_int_equal(cesu8_append_utf8(&again, buffer_bytes(&utf8)), 0);
        assert_bytes(buffer_bytes(&again), buffer_bytes(&cesu8));
        buffer_clear(&again);
        assert_int_equal(utf8_append_cesu8(&again, buffer_bytes(&cesu8)), 0);
        assert_bytes(buffer_bytes(&again), buffer_bytes(&utf8));
    }
    buffer_finish(&utf8);
    buffer_finish(&cesu8);
    buffer_finish(&again);
}

static void what_is_not_well_formed_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x80\x80",
                                      "\xED\xA0\x80",
                                      "\xF4\x90\x80\x80",
                                      "\xF8\x88",
                                      "\xE2\x82",
                                      "\xF0\x9F\x98",
                                      "\xFF",
                                      ""};
    uint32_t character;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(utf8_next(bytes_of(bad[i]), &character), 0);
    assert_int_equal(cesu8_next(B("\xF0\x9F\x98\x80"), &character),
                     0); /* four bytes are not CESU-8 */
    /* a lone surrogate is, and a pair the wrong way round is two */
    assert_int_equal(cesu8_next(B("\xED\xB8\x80\xED\xA0\xBD"), &character), 3);
    assert_int_equal(character, 0xDE00);
    _cleanup_(buffer_finish) struct buffer utf8;
    buffer_init(&utf8, 16);
    assert_int_equal(utf8_append_cesu8(&utf8, B("a\xED\xA0\xBD")), -EILSEQ);
}

static void a_text_is_cut_at_whole_characters(void **state)
{
    (void)state;
    struct bytes text = B("a\xC3\xA9\xF0\x9F\x98\x80");
    static const size_t expected[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
    for (size_t n = 0; n < ARRAY_SIZE(expected); n++)
        assert_bytes(utf8_first(text, n), bytes_first(text, expected[n]));
    assert_int_equal(utf8_first(B("\x80\x80\x80"), 2).size, 0); /* not well-formed */
    assert_int_equal(utf8_first(B(""), 2).size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_goes_there_and_back),
        cmocka_unit_test(what_is_not_well_formed_is_refused),
        cmocka_unit_test(a_text_is_cut_at_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
