/* SPDX-License-Identifier: MIT */
#include "client/text/decimal.h"
#include "tests/unit/unit.h"

static void assert_double(struct bytes number, struct bytes expected)
{
    struct decimal decimal;
    _cleanup_(buffer_finish) struct buffer out;
    buffer_init(&out, 2000);
    assert_true(decimal_read(number, &decimal));
    assert_int_equal(decimal_append_double(&out, &decimal), 0);
    assert_bytes(buffer_bytes(&out), expected);
    assert_true(out.size <= number.size + DECIMAL_MAX_GROWTH);
    if (decimal_is_as_printed(number))
        assert_bytes(number, expected);
}

static void doubles_of_one_value_and_digits_are_one_text(void **state)
{
    (void)state;
    static const struct {
        struct bytes expected, spellings[8];
    } cases[] = {
        {B("0.0"), {B("0"), B("0.0"), B("0e5"), B("0.000E-3"), B("0e-999999999")}},
        {B("-0.0"), {B("-0"), B("-0.0"), B("-0e0")}},
        {B("3.0"), {B("3"), B("3.0"), B("3.000"), B("3e0"), B("30e-1"), B("0.3E1"), B("0.03e+02")}},
        {B("-1.5"), {B("-1.5"), B("-1.50"), B("-15e-1"), B("-0.15E1")}},
        {B("100.0"), {B("100"), B("1e2"), B("1E+02"), B("100.00"), B("0.001e5")}},
        {B("100.25"), {B("100.25"), B("10025e-2"), B("1.0025e2"), B("0.10025e3")}},
        {B("1.0025"), {B("1.0025"), B("10025e-4")}},
        {B("1e+300"), {B("1E+300"), B("1e300"), B("1e+300"), B("10e299"), B("0.1e301")}},
        {B("-1.5e-300"), {B("-1.5e-300"), B("-15E-301"), B("-1.50e-0300")}},
        {B("100000000000000000000.0"), {B("1e20"), B("1E+20"), B("100000000000000000000")}},
        {B("123456789012345680000.0"), {B("1.2345678901234568E+20"), B("123456789012345680000")}},
        {B("1e+21"), {B("1e21"), B("1000000000000000000000"), B("1000000000000000000000.0")}},
        {B("1.5e+21"), {B("1.5e21"), B("1500000000000000000000")}},
        {B("0.000001"), {B("1e-6"), B("0.000001"), B("1E-06"), B("0.0000010")}},
        {B("0.0000015"), {B("1.5e-6"), B("0.0000015")}},
        {B("1e-7"), {B("1e-7"), B("1E-07"), B("0.0000001")}},
        {B("0.1"), {B("0.1"), B("1e-1")}},
        {B("0.00001"), {B("1e-5"), B("1e-05"), B("0.00001")}},
        {B("4.94065645841247e-324"), {B("4.94065645841247E-324")}},
        {B("1.7976931348623157e+308"), {B("1.7976931348623157E+308")}},
        {B("0.1000000000000000055511151231257827"), {B("0.1000000000000000055511151231257827")}},
        {B("1e+999999999"), {B("1e999999999")}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_double(cases[i].expected, cases[i].expected);
        for (size_t k = 0; k < 8 && cases[i].spellings[k].data; k++)
            assert_double(cases[i].spellings[k], cases[i].expected);
    }
}

/* Every double that %.*g prints reads back as the same double, with the same digits. */
static void nothing_is_rounded(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int i = 0; i < 100000; i++) {
        double value, again;
        char text[64];
        struct decimal decimal, canonical;
        struct buffer out;
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        memcpy(&value, &seed, sizeof(value));
        if (value != value || value - value != 0)
            continue;
        (void)snprintf(text, sizeof(text), "%.17g", value);
        buffer_init(&out, 100);
        assert_true(decimal_read(bytes_of(text), &decimal));
        assert_int_equal(decimal_append_double(&out, &decimal), 0);
        again = strtod(buffer_string(&out), NULL);
        assert_memory_equal(&value, &again, sizeof(value));
        assert_true(decimal_read(buffer_bytes(&out), &canonical));
        assert_int_equal(canonical.count, decimal.count);
        assert_true(canonical.point == decimal.point);
        buffer_finish(&out);
    }
}

static void integers_may_have_an_exponent(void **state)
{
    (void)state;
    static const struct bytes integers[][2] = {
        {B("0"), B("0")},
        {B("-0"), B("0")},
        {B("0.0e5"), B("0")},
        {B("007"), B("7")},
        {B("-12"), B("-12")},
        {B("5.0"), B("5")},
        {B("1e+16"), B("10000000000000000")},
        {B("1.25e2"), B("125")},
        {B("9223372036854775807"), B("9223372036854775807")},
        {B("1e18"), B("1000000000000000000")},
    };
    static const struct bytes others[] = {B("0.5"), B("1e-1"), B("1.25e1"), B("1e19"),
                                          B("12345678901234567890")};
    struct decimal decimal;
    for (size_t i = 0; i < ARRAY_SIZE(integers); i++) {
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, 100);
        assert_true(decimal_read(integers[i][0], &decimal));
        assert_true(decimal_is_integer(&decimal));
        assert_int_equal(decimal_append_integer(&out, &decimal), 0);
        assert_bytes(buffer_bytes(&out), integers[i][1]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_true(decimal_read(others[i], &decimal));
        assert_false(decimal_is_integer(&decimal));
    }
}

static void usual_doubles_are_as_printed(void **state)
{
    (void)state;
    static const struct bytes usual[] = {
        B("0.0"),  B("-0.0"), B("3.0"),      B("-1.5"), B("100000000000000000000.0"),
        B("10.0"), B("0.1"),  B("0.000001"), B("1.05"), B("12345678901.000001")};
    static const struct bytes others[] = {
        B("0"),   B("-3"),    B("3.00"),      B("1.50"), B("1.5e3"),
        B("1e5"), B("1.5E3"), B("0.0000001"), B("0.00"), B("1000000000000000000000.0")};
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
        assert_true(decimal_is_as_printed(usual[i]));
        assert_double(usual[i], usual[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(decimal_is_as_printed(others[i]));
}

static void an_exponent_has_nine_digits(void **state)
{
    (void)state;
    struct decimal decimal;
    assert_false(decimal_read(B("1e1000000000"), &decimal));
    assert_false(decimal_read(B("1e-99999999999999999999"), &decimal));
    assert_true(decimal_read(B("1e-999999999"), &decimal));
    assert_true(decimal_read(B("1e000000000000000000001"), &decimal));
    assert_true(decimal.point == 2);
    assert_double(B("10e999999999"), B("1e+1000000000"));
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    static const struct bytes numbers[] = {B("0"),    B("-3"),       B("1e2"), B("1.5"),
                                           B("1e-3"), B("-1.25e30"), B("12.5")};
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        struct decimal decimal;
        struct buffer out;
        buffer_init(&out, 100);
        assert_true(decimal_read(numbers[i], &decimal));
        assert_int_equal(decimal_append_double(&out, &decimal), 0);
        size_t size = out.size;
        buffer_finish(&out);
        for (size_t max = 0; max < size; max++) {
            buffer_init(&out, max);
            assert_int_equal(decimal_append_double(&out, &decimal), -EFBIG);
            buffer_finish(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_of_one_value_and_digits_are_one_text),
        cmocka_unit_test(nothing_is_rounded),
        cmocka_unit_test(integers_may_have_an_exponent),
        cmocka_unit_test(usual_doubles_are_as_printed),
        cmocka_unit_test(an_exponent_has_nine_digits),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
