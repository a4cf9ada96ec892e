/* SPDX-License-Identifier: MIT */
#include "client/text/decimal.h"

#define MAX_EXPONENT       999999999
#define MAX_INTEGER_DIGITS 19
/* Between these a double is printed without an exponent, as JavaScript does. */
#define LEAST_POINT (-5)
#define MOST_POINT  21

/* The text after the `e`. */
static bool read_exponent(struct bytes text, int64_t *ret)
{
    uint64_t magnitude;
    bool is_negative = bytes_start_with(text, BYTES_LITERAL("-"));
    bool has_sign = is_negative || bytes_start_with(text, BYTES_LITERAL("+"));
    if (!bytes_parse_unsigned(bytes_skip(text, has_sign), MAX_EXPONENT, &magnitude))
        return false;
    *ret = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static bool is_zero_or_point(char c)
{
    return c == '0' || c == '.';
}

static void read_mantissa(struct bytes text, struct decimal *ret)
{
    const char *found = text.size > 0 ? memchr(text.data, '.', text.size) : NULL;
    size_t point = found ? (size_t)(found - text.data) : text.size;
    size_t begin = 0, end = text.size;
    while (begin < end && is_zero_or_point(text.data[begin]))
        begin++;
    while (end > begin && is_zero_or_point(text.data[end - 1]))
        end--;
    ret->digits = (struct bytes){text.data + begin, end - begin};
    ret->count = end - begin - (begin < point && point < end);
    ret->point = (int64_t)point - (int64_t)begin + (begin > point);
}

bool decimal_read(struct bytes number, struct decimal *ret)
{
    int64_t exponent = 0;
    bool is_negative = bytes_start_with(number, BYTES_LITERAL("-"));
    struct bytes mantissa = bytes_skip(number, is_negative);
    size_t n = 0;
    while (n < mantissa.size && (mantissa.data[n] | 0x20) != 'e')
        n++;
    if (n < mantissa.size && !read_exponent(bytes_skip(mantissa, n + 1), &exponent))
        return false;
    ret->is_negative = is_negative;
    read_mantissa(bytes_first(mantissa, n), ret);
    ret->point += exponent;
    return true;
}

/* Moves the first n digits from `digits` to ret, and leaves the point out. */
static void take_digits(struct buffer *ret, struct bytes *digits, size_t n)
{
    while (n > 0) {
        const char *point = memchr(digits->data, '.', MIN(n, digits->size));
        size_t span = point ? (size_t)(point - digits->data) : n;
        (void)buffer_append(ret, bytes_first(*digits, span));
        *digits = bytes_skip(*digits, span + (point != NULL));
        n -= span;
    }
}

/* n <= MOST_POINT */
static void append_zeros(struct buffer *ret, int64_t n)
{
    static const char zeros[] = "000000000000000000000";
    (void)buffer_append(ret, (struct bytes){zeros, (size_t)n});
}

static int append_with_exponent(struct buffer *ret, const struct decimal *decimal)
{
    struct bytes digits = decimal->digits;
    take_digits(ret, &digits, 1);
    if (decimal->count > 1)
        (void)buffer_append_char(ret, '.');
    take_digits(ret, &digits, decimal->count - 1);
    return buffer_append_format(ret, "e%+lld", (long long)(decimal->point - 1));
}

int decimal_append_double(struct buffer *ret, const struct decimal *decimal)
{
    struct bytes digits = decimal->digits;
    if (decimal->is_negative)
        (void)buffer_append_char(ret, '-');
    if (decimal->count == 0)
        return buffer_append(ret, BYTES_LITERAL("0.0"));
    if (decimal->point < LEAST_POINT || decimal->point > MOST_POINT)
        return append_with_exponent(ret, decimal);
    if (decimal->point <= 0) {
        (void)buffer_append(ret, BYTES_LITERAL("0."));
        append_zeros(ret, -decimal->point);
        take_digits(ret, &digits, decimal->count);
        return ret->error;
    }
    size_t point = (size_t)decimal->point, before = MIN(decimal->count, point);
    take_digits(ret, &digits, before);
    append_zeros(ret, (int64_t)(point - before));
    (void)buffer_append_char(ret, '.');
    take_digits(ret, &digits, decimal->count - before);
    return decimal->count > before ? ret->error : buffer_append_char(ret, '0');
}

bool decimal_is_as_printed(struct bytes number)
{
    struct bytes text = bytes_skip(number, bytes_start_with(number, BYTES_LITERAL("-")));
    const char *point = memchr(text.data, '.', MIN(text.size, MOST_POINT + 1));
    if (!point || memchr(point, 'e', (size_t)(text.data + text.size - point)) ||
        memchr(point, 'E', (size_t)(text.data + text.size - point)))
        return false;
    bool ends_in_zero = text.data[text.size - 1] == '0' && &text.data[text.size - 2] != point;
    return !ends_in_zero && !bytes_start_with(text, BYTES_LITERAL("0.000000"));
}

bool decimal_is_integer(const struct decimal *decimal)
{
    return decimal->count == 0 ||
           (decimal->point >= (int64_t)decimal->count && decimal->point <= MAX_INTEGER_DIGITS);
}

int decimal_append_integer(struct buffer *ret, const struct decimal *decimal)
{
    struct bytes digits = decimal->digits;
    if (decimal->count == 0)
        return buffer_append_char(ret, '0');
    if (decimal->is_negative)
        (void)buffer_append_char(ret, '-');
    take_digits(ret, &digits, decimal->count);
    append_zeros(ret, decimal->point - (int64_t)decimal->count);
    return ret->error;
}
