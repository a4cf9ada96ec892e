/* SPDX-License-Identifier: MIT */
#include "client/base/unicode.h"

/* Adds the bits of n continuation bytes to those of the first byte; false: one is missing. */
static bool take_continuation(struct bytes bytes, size_t n, uint32_t *value)
{
    if (bytes.size <= n)
        return false;
    for (size_t i = 1; i <= n; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        if ((byte & 0xC0) != 0x80)
            return false;
        *value = *value << 6 | (byte & 0x3F);
    }
    return true;
}

/* One sequence in shortest form, surrogates included. */
static size_t sequence_next(struct bytes bytes, uint32_t *ret)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t min;
    } forms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};

    if (bytes.size == 0)
        return 0;
    unsigned char first = (unsigned char)bytes.data[0];
    for (size_t n = 0; n < ARRAY_SIZE(forms); n++) {
        if ((first & forms[n].mask) != forms[n].lead)
            continue;
        uint32_t value = first & (unsigned char)~forms[n].mask;
        if (!take_continuation(bytes, n, &value) || value < forms[n].min || value > 0x10FFFF)
            return 0;
        *ret = value;
        return n + 1;
    }
    return 0;
}

size_t utf8_next(struct bytes utf8, uint32_t *ret)
{
    uint32_t character;
    size_t n = sequence_next(utf8, &character);
    if (n == 0 || UNICODE_IS_SURROGATE(character))
        return 0;
    *ret = character;
    return n;
}

size_t cesu8_next(struct bytes cesu8, uint32_t *ret)
{
    uint32_t high, low;
    size_t n = sequence_next(cesu8, &high);
    if (n == 0 || n == 4)
        return 0;
    if (high >= 0xD800 && high <= 0xDBFF && sequence_next(bytes_skip(cesu8, n), &low) == 3 &&
        low >= 0xDC00 && low <= 0xDFFF) {
        *ret = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
        return 6;
    }
    *ret = high;
    return n;
}

static size_t sequence_encode(uint32_t value, char *ret)
{
    size_t n = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1;) {
        ret[i] = (char)(0x80 | (value & 0x3F));
        value >>= 6;
    }
    ret[0] = (char)(leads[n] | value);
    return n;
}

size_t utf8_encode(uint32_t character, char ret[UTF8_MAX_BYTES])
{
    return UNICODE_IS_SURROGATE(character) ? 0 : sequence_encode(character, ret);
}

struct bytes utf8_first(struct bytes utf8, size_t n)
{
    n = MIN(n, utf8.size);
    while (n > 0 && n < utf8.size && ((unsigned char)utf8.data[n] & 0xC0) == 0x80)
        n--;
    return bytes_first(utf8, n);
}

int utf8_append(struct buffer *ret, uint32_t character)
{
    char text[UTF8_MAX_BYTES];
    size_t n = utf8_encode(character, text);
    return n == 0 ? -EILSEQ : buffer_append(ret, (struct bytes){text, n});
}

size_t cesu8_encode(uint32_t character, char ret[CESU8_MAX_BYTES])
{
    if (character < 0x10000)
        return sequence_encode(character, ret);
    (void)sequence_encode(0xD800 + ((character - 0x10000) >> 10), ret);
    return 3 + sequence_encode(0xDC00 + ((character - 0x10000) & 0x3FF), ret + 3);
}

int cesu8_append(struct buffer *ret, uint32_t character)
{
    char text[CESU8_MAX_BYTES];
    size_t n = cesu8_encode(character, text);
    return buffer_append(ret, (struct bytes){text, n});
}

int utf8_append_cesu8(struct buffer *ret_utf8, struct bytes cesu8)
{
    while (cesu8.size > 0) {
        uint32_t character;
        size_t n = cesu8_next(cesu8, &character);
        if (n == 0)
            return -EILSEQ;
        int r = utf8_append(ret_utf8, character);
        if (r < 0)
            return r;
        cesu8 = bytes_skip(cesu8, n);
    }
    return ret_utf8->error;
}

int cesu8_append_utf8(struct buffer *ret_cesu8, struct bytes utf8)
{
    while (utf8.size > 0) {
        uint32_t character;
        size_t n = utf8_next(utf8, &character);
        if (n == 0)
            return -EILSEQ;
        int r = cesu8_append(ret_cesu8, character);
        if (r < 0)
            return r;
        utf8 = bytes_skip(utf8, n);
    }
    return ret_cesu8->error;
}

size_t cesu8_units(struct bytes cesu8)
{
    size_t units = 0;
    for (size_t i = 0; i < cesu8.size; i++)
        units += ((unsigned char)cesu8.data[i] & 0xC0) != 0x80; /* each unit has one lead byte */
    return units;
}
