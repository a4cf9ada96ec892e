/* SPDX-License-Identifier: MIT */
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "tests/unit/unit.h"

/* The reference: UTF-16 units, compared one by one. */
struct utf16 {
    uint16_t units[16];
    size_t n;
};

static int utf16_compare(const struct utf16 *a, const struct utf16 *b)
{
    for (size_t i = 0; i < MIN(a->n, b->n); i++)
        if (a->units[i] != b->units[i])
            return a->units[i] < b->units[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

static const uint32_t characters[] = {0x20,   0x2B,   0x2F,    0x41,    0x7E,    0xA0,   0x7FF,
                                      0x800,  0xD7FF, 0xD800,  0xDBFF,  0xDC00,  0xDFFF, 0xE000,
                                      0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF};

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 16) % n;
}

static void random_key(struct utf16 *utf16, struct buffer *cesu8)
{
    utf16->n = 0;
    buffer_clear(cesu8);
    for (uint32_t left = random_below(4); left > 0; left--) {
        uint32_t c = characters[random_below(ARRAY_SIZE(characters))];
        (void)cesu8_append(cesu8, c);
        if (c > 0xFFFF) {
            utf16->units[utf16->n++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            utf16->units[utf16->n++] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            utf16->units[utf16->n++] = (uint16_t)c;
        }
    }
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void positions_order_as_utf16_keys_do(void **state)
{
    (void)state;
    struct utf16 pk[2], rk[2];
    struct buffer pk_bytes[2], rk_bytes[2], position[2];
    for (int i = 0; i < 2; i++) {
        buffer_init(&pk_bytes[i], 64);
        buffer_init(&rk_bytes[i], 64);
        buffer_init(&position[i], 128);
    }
    for (int round = 0; round < 200000; round++) {
        for (int i = 0; i < 2; i++) {
            random_key(&pk[i], &pk_bytes[i]);
            random_key(&rk[i], &rk_bytes[i]);
            buffer_clear(&position[i]);
            assert_int_equal(position_append(&position[i], buffer_bytes(&pk_bytes[i]),
                                             buffer_bytes(&rk_bytes[i])),
                             0);
            assert_bytes(position_partition_key(buffer_bytes(&position[i])),
                         buffer_bytes(&pk_bytes[i]));
            assert_bytes(position_row_key(buffer_bytes(&position[i])), buffer_bytes(&rk_bytes[i]));
        }
        int expected = utf16_compare(&pk[0], &pk[1]);
        if (expected == 0)
            expected = utf16_compare(&rk[0], &rk[1]);
        assert_int_equal(
            sign(bytes_compare(buffer_bytes(&position[0]), buffer_bytes(&position[1]))), expected);
    }
    for (int i = 0; i < 2; i++) {
        buffer_finish(&pk_bytes[i]);
        buffer_finish(&rk_bytes[i]);
        buffer_finish(&position[i]);
    }
}

static void a_key_with_nul_is_refused(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer position;
    buffer_init(&position, 16);
    assert_int_equal(position_append(&position, B("a\0"), B("b")), -EPROTO);
    assert_int_equal(position_append(&position, B("a"), B("\0")), -EPROTO);
    assert_int_equal(position.size, 0);
}

static void assert_successor(struct bytes prefix, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer successor;
    buffer_init(&successor, 64);
    assert_int_equal(prefix_append_successor(&successor, prefix, B("END")), 0);
    assert_bytes(buffer_bytes(&successor), expected);
}

static void assert_end(struct bytes prefix, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer end;
    buffer_init(&end, 64);
    assert_int_equal(prefix_append_end(&end, prefix, B("END")), 0);
    assert_bytes(buffer_bytes(&end), expected);
}

static void ends_skip_no_character(void **state)
{
    (void)state;
    assert_end(B("D"), B("E"));
    assert_end(B("a."), B("a/"));
    assert_end(B("\""), B("#"));
    assert_end(B(">"), B("?"));
    assert_end(B("["), B("\\"));
    assert_end(B("a~"), B("a\x7F"));
    assert_end(B("a\xED\x9F\xBF"), B("a\xED\xA0\x80\xED\xB0\x80")); /* U+D7FF, U+10000 */
    assert_end(B("a\xEF\xBF\xBF"), B("b"));
    assert_end(B(""), B("END"));
}

static void successors_skip_what_no_key_can_hold(void **state)
{
    (void)state;
    assert_successor(B("D"), B("E"));
    assert_successor(B("a."), B("a0"));
    assert_successor(B("\""), B("$"));
    assert_successor(B(">"), B("@"));
    assert_successor(B("["), B("]"));
    assert_successor(B("~"), B("\xC2\xA0"));
    assert_successor(B("\xED\x9F\xBF"), B("\xED\xA0\x80\xED\xB0\x80")); /* U+D7FF, U+10000 */
    assert_successor(B("\xED\xAF\xBF\xED\xBF\xBF"), B("\xEE\x80\x80")); /* U+10FFFF, U+E000 */
    assert_successor(B("\xED\xA0\x80\xED\xBF\xBF"),
                     B("\xED\xA0\x81\xED\xB0\x80")); /* U+103FF, U+10400 */
    assert_successor(B("a\xEF\xBF\xBF"), B("b"));
    assert_successor(B("\xEF\xBF\xBF\xEF\xBF\xBF"), B("END"));
    assert_successor(B(""), B("END"));
}

static void prefixes_that_a_level_may_show(void **state)
{
    (void)state;
    char long_one[PREFIX_MAX_BYTES + 1];
    memset(long_one, 'k', sizeof(long_one));
    assert_true(prefix_is_showable((struct bytes){long_one, PREFIX_MAX_BYTES}));
    assert_false(prefix_is_showable((struct bytes){long_one, PREFIX_MAX_BYTES + 1}));
    assert_true(prefix_is_showable(B("+.")));
    assert_true(prefix_is_showable(B("\xED\xA0\xBD")));
    assert_true(prefix_is_showable(B("\xEF\xBF\xBF")));
    assert_false(prefix_is_showable(B("")));
    assert_false(prefix_is_showable(B("a/")));
    assert_false(prefix_is_showable(B("\x7F")));
    assert_false(prefix_is_showable(B("a\0")));
    assert_false(prefix_is_showable(B("\xED\xA0")));
}

/* The length is that of the name, in UTF-8: a character of 4 bytes there has 6 in CESU-8. */
static void a_prefix_has_children_while_they_can_be_shown(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer prefix;
    buffer_init(&prefix, 1000);
    assert_true(prefix_has_children(buffer_bytes(&prefix)));
    for (size_t size = 4; size <= PREFIX_MAX_BYTES + 4; size += 4) {
        assert_int_equal(cesu8_append(&prefix, 0x1F600), 0);
        assert_int_equal(prefix_is_showable(buffer_bytes(&prefix)), size <= PREFIX_MAX_BYTES);
        assert_int_equal(prefix_has_children(buffer_bytes(&prefix)), size < PREFIX_MAX_BYTES);
    }
    prefix.size = (size_t)(PREFIX_MAX_BYTES - 4) / 4 * 6;
    for (size_t size = PREFIX_MAX_BYTES - 4; size <= PREFIX_MAX_BYTES + 1; size++) {
        assert_int_equal(prefix_has_children(buffer_bytes(&prefix)), size < PREFIX_MAX_BYTES);
        assert_int_equal(buffer_append_char(&prefix, 'k'), 0);
    }
    assert_true(prefix_has_children(B("\xED\xA0\xBD")));
    assert_false(prefix_has_children(B("a/")));
    assert_false(prefix_has_children(B("a\0")));
    assert_false(prefix_has_children(B("\xED\xA0")));
}

static void ranges_know_which_one_query_can_ask(void **state)
{
    (void)state;
    static const struct {
        struct bytes lo, hi;
        bool is_askable, is_in_partition;
    } cases[] = {
        {B(""), B("\xff"), true, false},        {B("a"), B("b"), true, false},
        {B("p\0"), B("p\x01"), true, true},     {B("p\0r"), B("p\x01"), true, true},
        {B("p\0r\x01"), B("p\0s"), true, true}, {B("p\0"), B("q\0"), true, false},
        {B("p\0r"), B("q\0"), false, false},    {B("p\0r"), B("\xff"), false, false},
        {B("o"), B("p\0r"), false, false},      {B("p\x01"), B("\xff"), true, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct range range = {cases[i].lo, cases[i].hi};
        assert_int_equal(range_is_expressible(range), cases[i].is_askable);
        assert_int_equal(range_is_in_partition(range), cases[i].is_in_partition);
    }
    struct range partition = {B("p\0"), B("p\x01")};
    assert_true(range_holds(partition, B("p\0")) && range_holds(partition, B("p\0\xff")));
    assert_false(range_holds(partition, B("p \0a")) || range_holds(partition, B("o\0z")));
}

static void the_range_of_one_ends_behind_it(void **state)
{
    (void)state;
    struct position end;
    struct range row = range_of_one(B("p\0r"), &end);
    assert_true(bytes_equal(row.lo, B("p\0r")) && bytes_equal(row.hi, B("p\0r\x01")));
    assert_true(bytes_equal(range_of_one(B(""), &end).hi, B("\x01")));
    static char longest[sizeof(end.data)];
    memset(longest, 'k', sizeof(longest));
    struct bytes fits = {longest, sizeof(longest) - 1}, too_long = {longest, sizeof(longest)};
    struct range range = range_of_one(fits, &end);
    assert_int_equal(range.hi.size, sizeof(end.data));
    assert_true(bytes_start_with(range.hi, fits) && range.hi.data[fits.size] == '\x01');
    assert_true(range_is_empty(range_of_one(too_long, &end)));
    assert_true(bytes_equal(position_behind(too_long, &end), B(POSITION_END)));
}

static void a_position_is_cut_where_no_row_can_be(void **state)
{
    (void)state;
    struct position position;
    static char text[10000];
    memset(text, 'k', sizeof(text));
    position_set(&position, (struct bytes){text, sizeof(text)});
    assert_int_equal(position.size, POSITION_ROW_MAX_BYTES + 1);
    position_set(&position, (struct bytes){position.data + 8000, 100}); /* a view of itself */
    assert_true(bytes_equal(position_bytes(&position), (struct bytes){text, 100}));
    position_set(&position, (struct bytes){0});
    assert_int_equal(position_bytes(&position).size, 0);
}

static void a_range_holds_those_within_its_bounds(void **state)
{
    (void)state;
    static const struct {
        struct bytes lo, hi;
        bool is_held;
    } cases[] = {
        {B("p\0"), B("p\x01"), true},     {B(""), B("\xff"), true},     {B("p"), B("q"), true},
        {B("p\0a"), B("p\x01"), false},   {B("p\0"), B("p\0z"), false}, {B("q"), B("r"), false},
        {B("p\0a"), B("p\0\x62"), false}, {B("o"), B("p"), false},      {B("p\x01"), B("q"), false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct range range = {cases[i].lo, cases[i].hi};
        assert_int_equal(range_holds_range(range, (struct range){B("p\0"), B("p\x01")}),
                         cases[i].is_held);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_order_as_utf16_keys_do),
        cmocka_unit_test(a_key_with_nul_is_refused),
        cmocka_unit_test(successors_skip_what_no_key_can_hold),
        cmocka_unit_test(ends_skip_no_character),
        cmocka_unit_test(prefixes_that_a_level_may_show),
        cmocka_unit_test(a_prefix_has_children_while_they_can_be_shown),
        cmocka_unit_test(ranges_know_which_one_query_can_ask),
        cmocka_unit_test(a_range_holds_those_within_its_bounds),
        cmocka_unit_test(the_range_of_one_ends_behind_it),
        cmocka_unit_test(a_position_is_cut_where_no_row_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
