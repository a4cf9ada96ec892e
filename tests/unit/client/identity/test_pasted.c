/* SPDX-License-Identifier: MIT */
#include "client/identity/pasted.h"
#include "tests/unit/unit.h"

static void what_surrounds_a_value_is_cut_off(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cleaned;
    } cases[] = {
        {"", ""},
        {"\r\n", ""},
        {"value", "value"},
        {"value\r\n", "value"},
        {" \t value \n\n\r", "value"},
        {"\xEF\xBB\xBF"
         "value\r\n",
         "value"},
        {"\r\n\xEF\xBB\xBF \"", NULL},
        {"a b\r\nc", "a b\r\nc"},
        {"it's", "it's"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct call call = {0};
        struct bytes cleaned = BYTES_LITERAL("untouched");
        int r = pasted_clean("VALUE", bytes_of(cases[i].text), &call, &cleaned);
        assert_int_equal(r, cases[i].cleaned ? 0 : -EINVAL);
        const char *expected = cases[i].cleaned ? cases[i].cleaned : "untouched";
        assert_int_equal(cleaned.size, strlen(expected));
        assert_memory_equal(cleaned.data, expected, cleaned.size);
    }
}

static void quotation_marks_are_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\"SECRET\"",     "'SECRET'",           "SECRET'",
        "\"SECRET",       "`SECRET`",           "\"",
        " 'SECRET' \r\n", "\u201CSECRET\u201D", "\u2018SECRET",
        "SECRET\u2019",   "\u201ESECRET\u201C",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct call call = {0};
        struct bytes cleaned;
        assert_int_equal(pasted_clean("VALUE", bytes_of(texts[i]), &call, &cleaned), -EINVAL);
        assert_string_equal(call.failure.message,
                            "VALUE begins or ends with a quotation mark: remove it");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_surrounds_a_value_is_cut_off),
        cmocka_unit_test(quotation_marks_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
