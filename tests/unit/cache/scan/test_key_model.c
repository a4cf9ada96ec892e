/* SPDX-License-Identifier: MIT */
#include "cache/scan/key_model.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "tests/scan/rows.h"
#include "tests/unit/unit.h"

static struct key_model *learn(const char *const *keys, size_t count)
{
    struct key_model *model;
    struct bytes previous = B("");
    assert_int_equal(key_model_create(&model), 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(key_model_learn(model, previous, bytes_of(keys[i])), 0);
        previous = bytes_of(keys[i]);
    }
    return model;
}

static void assert_key(const struct key_model *model, struct bytes common, double place,
                       double tolerance, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = 1000};
    assert_int_equal(key_model_append_key(model, common, place, tolerance, &key), 0);
    assert_bytes(buffer_bytes(&key), expected);
}

static void seen_digits_are_spread_evenly(void **state)
{
    (void)state;
    static const char *const keys[] = {"0000", "0001", "0500", "1000", "2000", "3000", "4000",
                                       "5000", "6000", "7000", "8000", "9000", "9999"};
    struct key_model *model = learn(keys, ARRAY_SIZE(keys));
    assert_key(model, B(""), 0.5, 0.05, B("5"));
    assert_true(key_model_place(model, B("5"), 0) > 0.45);
    assert_true(key_model_place(model, B("5"), 0) < 0.55);
    assert_true(key_model_place(model, B("50"), 1) < 0.001);
    key_model_destroy(model);
}

static void an_alphabet_is_completed(void **state)
{
    (void)state;
    static const char *const hexadecimal[] = {"0aa", "0ab", "0f9"};
    struct key_model *model = learn(hexadecimal, ARRAY_SIZE(hexadecimal));
    assert_key(model, B(""), 0.99, 0.05, B("f"));
    key_model_destroy(model);
    static const char *const words[] = {"a", "ba", "xylo"};
    model = learn(words, ARRAY_SIZE(words));
    assert_key(model, B(""), 0.99, 0.05, B("z"));
    key_model_destroy(model);
}

/* One page of ideographs shows a fraction of the block; the whole of it can be split. */
static void a_script_is_an_alphabet(void **state)
{
    (void)state;
    static const char *const keys[] = {"\xE4\xB8\x80\xE9\xBE\x9C", "\xE4\xB8\x81\xE5\x80\x80",
                                       "\xE4\xB8\x82\xE7\xA9\xBF", "\xE4\xB8\x83\xE8\x99\x8E",
                                       "\xE4\xB8\x84\xE6\xB0\xB4", "\xE4\xB8\x85\xE4\xBA\x94"};
    struct key_model *model = learn(keys, ARRAY_SIZE(keys));
    _cleanup_(buffer_finish) struct buffer key = {.max = 100};
    double last = 0;
    for (int i = 6; i < 10; i++) { /* after what was seen: other lead bytes, in order */
        buffer_clear(&key);
        assert_int_equal(key_model_append_key(model, B(""), i / 10.0, 0.02, &key), 0);
        assert_int_equal(key.size % 3, 0);
        double place = key_model_place(model, buffer_bytes(&key), 0);
        assert_true(place > last);
        last = place;
    }
    assert_int_equal((unsigned char)key.data[0], 0xE9);
    key_model_destroy(model);
}

static void keys_share_what_is_expected(void **state)
{
    (void)state;
    static const char *const keys[] = {"evt-10", "evt-20", "evt-30", "evt-40", "evt-50"};
    struct key_model *model = learn(keys, ARRAY_SIZE(keys));
    assert_false(key_model_expects(model, B("evt-10"), 4));
    /* seen once, as if by chance: other letters may follow as well */
    assert_false(key_model_expects(model, B("evt-10"), 0));
    assert_true(key_model_expects(model, B("evt-10"), 3));
    key_model_destroy(model);
}

static struct bytes random_key(uint64_t *seed, struct buffer *key)
{
    static const uint32_t ranges[][2] = {{0x20, 0x7E},     {'0', '9'},         {'a', 'f'},
                                         {0xA0, 0x7FF},    {0x4E00, 0x9FFF},   {0xD000, 0xD7FF},
                                         {0xE000, 0xFFFF}, {0x10000, 0x10FFFF}};
    buffer_clear(key);
    size_t kinds = 1 + random_below(seed, ARRAY_SIZE(ranges));
    for (uint64_t n = random_below(seed, 12); n > 0; n--) {
        const uint32_t *range = ranges[random_below(seed, kinds)];
        uint32_t character = range[0] + (uint32_t)random_below(seed, range[1] - range[0] + 1);
        if (position_is_legal_in_key(character))
            (void)cesu8_append(key, character);
    }
    return buffer_bytes(key);
}

static void assert_legal(struct bytes key)
{
    while (key.size > 0) {
        uint32_t character;
        size_t size = cesu8_next(key, &character);
        assert_true(size > 0);
        assert_true(position_is_legal_in_key(character));
        assert_false(UNICODE_IS_SURROGATE(character));
        key = bytes_skip(key, size);
    }
}

static void split_keys_are_legal_short_and_in_order(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer key = {.max = 1000}, common = {.max = 1000};
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        struct key_model *model;
        assert_int_equal(key_model_create(&model), 0);
        for (uint64_t n = random_below(&seed, 40); n > 0; n--)
            assert_int_equal(key_model_learn(model, B(""), random_key(&seed, &key)), 0);
        for (int n = 0; n < 20; n++) {
            double place = (double)random_below(&seed, 1000) / 1000;
            double tolerance = (double)random_below(&seed, 100) / 1000;
            (void)random_key(&seed, &common);
            buffer_clear(&key);
            assert_int_equal(
                key_model_append_key(model, buffer_bytes(&common), place, tolerance, &key), 0);
            assert_legal(buffer_bytes(&key));
            assert_true(key.size <= common.size + 30);
            assert_true(bytes_start_with(buffer_bytes(&key), buffer_bytes(&common)));
        }
        key_model_destroy(model);
    }
}

static void places_are_in_key_order(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer a = {.max = 1000}, b = {.max = 1000};
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t seed = i;
        struct key_model *model;
        assert_int_equal(key_model_create(&model), 0);
        for (uint64_t n = random_below(&seed, 40); n > 0; n--)
            assert_int_equal(key_model_learn(model, B(""), random_key(&seed, &a)), 0);
        for (int n = 0; n < 20; n++) {
            struct bytes x = random_key(&seed, &a), y = random_key(&seed, &b);
            double place_x = key_model_place(model, x, 0), place_y = key_model_place(model, y, 0);
            assert_true(place_x >= 0 && place_x <= 1);
            assert_true(bytes_compare(x, y) < 0 ? place_x <= place_y + 1e-12
                                                : place_y <= place_x + 1e-12);
        }
        key_model_destroy(model);
    }
}

static void an_empty_model_splits_nothing(void **state)
{
    (void)state;
    struct key_model *model = learn(NULL, 0);
    assert_true(key_model_place(model, B("a"), 0) <= 0);
    assert_key(model, B("p"), 0.5, 0.1, B("p"));
    assert_false(key_model_expects(model, B("a"), 0));
    key_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seen_digits_are_spread_evenly),
        cmocka_unit_test(an_alphabet_is_completed),
        cmocka_unit_test(a_script_is_an_alphabet),
        cmocka_unit_test(keys_share_what_is_expected),
        cmocka_unit_test(split_keys_are_legal_short_and_in_order),
        cmocka_unit_test(places_are_in_key_order),
        cmocka_unit_test(an_empty_model_splits_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
