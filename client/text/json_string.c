/* SPDX-License-Identifier: MIT */
#include "client/text/json_string.h"
#include "client/base/unicode.h"

/* The one-letter escapes, and their characters. */
static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";

/* Reads a \uXXXX at the start. */
static bool unit_escape(struct bytes raw, uint32_t *ret)
{
    if (raw.size < 6 || raw.data[0] != '\\' || raw.data[1] != 'u')
        return false;
    *ret = 0;
    for (size_t i = 2; i < 6; i++)
        *ret = *ret << 4 | (uint32_t)hex_digit_value(raw.data[i]);
    return true;
}

size_t json_string_next(struct bytes raw, uint32_t *ret)
{
    uint32_t unit, low;
    if (raw.size == 0 || raw.data[0] != '\\')
        return utf8_next(raw, ret);
    if (!unit_escape(raw, &unit)) {
        *ret = (uint32_t)characters[strchr(letters, raw.data[1]) - letters];
        return 2;
    }
    if (unit >= 0xD800 && unit <= 0xDBFF && unit_escape(bytes_skip(raw, 6), &low) &&
        low >= 0xDC00 && low <= 0xDFFF) {
        *ret = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        return 12;
    }
    *ret = unit;
    return 6;
}

/* Appends the text before the first backslash or byte >= first_other. Returns its size. */
static size_t append_span(struct buffer *ret, struct bytes raw, unsigned char first_other)
{
    size_t n = 0;
    while (n < raw.size && raw.data[n] != '\\' && (unsigned char)raw.data[n] < first_other)
        n++;
    (void)buffer_append(ret, bytes_first(raw, n));
    return n;
}

static int append_canonical(struct buffer *ret, uint32_t character)
{
    if (UNICODE_IS_SURROGATE(character))
        return buffer_append_format(ret, "\\u%04x", character);
    if (character >= 0x20 && character != '"' && character != '\\')
        return utf8_append(ret, character);
    const char *found = character ? strchr(characters, (int)character) : NULL;
    if (!found)
        return buffer_append_format(ret, "\\u%04x", character);
    (void)buffer_append_char(ret, '\\');
    return buffer_append_char(ret, letters[found - characters]);
}

#define FOUR_BYTES                                                                                 \
    0xF0             /* the least first byte of a four-byte character, which has six in CESU-8     \
                      */
#define NO_BYTE 0xFF /* does not occur in UTF-8 */

static int append_string(struct buffer *ret, struct bytes raw, unsigned char first_other,
                         int (*append)(struct buffer *ret, uint32_t character))
{
    for (;;) {
        uint32_t character;
        raw = bytes_skip(raw, append_span(ret, raw, first_other));
        size_t n = json_string_next(raw, &character);
        if (n == 0)
            return ret->error;
        int r = append(ret, character);
        if (r < 0)
            return r;
        raw = bytes_skip(raw, n);
    }
}

int json_string_append_cesu8(struct buffer *ret, struct bytes raw)
{
    return append_string(ret, raw, FOUR_BYTES, cesu8_append);
}

int json_string_append_utf8(struct buffer *ret, struct bytes raw)
{
    return append_string(ret, raw, NO_BYTE, utf8_append);
}

int json_string_append_canonical(struct buffer *ret, struct bytes raw)
{
    return append_string(ret, raw, NO_BYTE, append_canonical);
}

int json_string_append_of_cesu8(struct buffer *ret, struct bytes cesu8)
{
    while (cesu8.size > 0) {
        uint32_t character;
        size_t n = cesu8_next(cesu8, &character);
        if (n == 0)
            return -EILSEQ;
        (void)append_canonical(ret, character);
        cesu8 = bytes_skip(cesu8, n);
    }
    return ret->error;
}

int json_string_append_of_utf8(struct buffer *ret, struct bytes utf8)
{
    for (size_t begin = 0, i = 0;; i++) {
        bool is_end = i == utf8.size;
        unsigned char c = is_end ? 0 : (unsigned char)utf8.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        (void)buffer_append(ret, bytes_skip(bytes_first(utf8, i), begin));
        if (is_end)
            return ret->error;
        (void)append_canonical(ret, c);
        begin = i + 1;
    }
}

int json_string_compare(struct bytes a, struct bytes b)
{
    for (;;) {
        uint32_t character_a = 0, character_b = 0;
        size_t n_a = json_string_next(a, &character_a), n_b = json_string_next(b, &character_b);
        if (n_a == 0 || n_b == 0)
            return (n_a > 0) - (n_b > 0);
        if (character_a != character_b)
            return character_a < character_b ? -1 : 1;
        a = bytes_skip(a, n_a);
        b = bytes_skip(b, n_b);
    }
}

/* The length of the common begin of both that is ASCII without escapes. */
static size_t common_ascii(struct bytes raw, struct bytes cesu8)
{
    size_t n = 0, size = MIN(raw.size, cesu8.size);
    while (n < size && raw.data[n] == cesu8.data[n] && raw.data[n] != '\\' &&
           (unsigned char)raw.data[n] < 0x80)
        n++;
    return n;
}

bool json_string_is(struct bytes raw, const char *expected)
{
    return json_string_compare(raw, bytes_of(expected)) == 0;
}

int json_string_compare_cesu8(struct bytes raw, struct bytes cesu8)
{
    for (;;) {
        uint32_t character;
        char units[CESU8_MAX_BYTES];
        size_t n = common_ascii(raw, cesu8);
        raw = bytes_skip(raw, n);
        cesu8 = bytes_skip(cesu8, n);
        n = json_string_next(raw, &character);
        if (n == 0 || cesu8.size == 0)
            return (n > 0) - (cesu8.size > 0);
        size_t size = cesu8_encode(character, units);
        struct bytes first = bytes_first(cesu8, MIN(size, cesu8.size));
        int order = bytes_compare((struct bytes){units, size}, first);
        if (order != 0)
            return order;
        raw = bytes_skip(raw, n);
        cesu8 = bytes_skip(cesu8, size);
    }
}

size_t json_string_units(struct bytes raw)
{
    size_t units = 0;
    for (size_t i = 0; i < raw.size; i++) {
        unsigned char byte = (unsigned char)raw.data[i];
        if (byte == '\\') /* every escape is one unit */
            i += raw.data[i + 1] == 'u' ? 5 : 1;
        units += (byte & 0xC0) != 0x80;
        units += byte >= FOUR_BYTES;
    }
    return units;
}
