/* SPDX-License-Identifier: MIT */
#include "client/text/base64.h"

#include <openssl/evp.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_digit(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

static size_t padding_of(struct bytes base64)
{
    size_t n = 0;
    while (n < 2 && n < base64.size && base64.data[base64.size - 1 - n] == '=')
        n++;
    return n;
}

bool base64_decoded_size(struct bytes base64, size_t *ret)
{
    size_t padding = padding_of(base64);
    if (base64.size % 4 != 0)
        return false;
    for (size_t i = 0; i < base64.size - padding; i++)
        if (!is_digit(base64.data[i]))
            return false;
    *ret = base64.size / 4 * 3 - padding;
    return true;
}

/* EVP_DecodeBlock alone would skip blanks and take "=" anywhere: base64_decoded_size has refused
 * both. It counts padding as zero bytes. */
size_t base64_decode(struct bytes base64, unsigned char *ret)
{
    if (base64.size == 0)
        return 0;
    int n = EVP_DecodeBlock(ret, (const unsigned char *)base64.data, (int)base64.size);
    return n < 0 ? 0 : (size_t)n - padding_of(base64);
}

void base64_clear_unused(char *base64, size_t size)
{
    size_t decoded, padding = padding_of((struct bytes){base64, size});
    if (padding == 0 || padding == size || !is_digit(base64[size - padding - 1]))
        return;
    char *last = &base64[size - padding - 1];
    size_t value = (size_t)(strchr(digits, *last) - digits);
    size_t unused = value & (padding == 1 ? 0x03 : 0x0F);
    /* the whole text is checked only if something is to be changed */
    if (unused != 0 && base64_decoded_size((struct bytes){base64, size}, &decoded))
        *last = digits[value - unused];
}

int base64url_append_decoded(struct buffer *ret, struct bytes text)
{
    _cleanup_(buffer_wipe) struct buffer base64;
    size_t size;
    buffer_init(&base64, text.size + 4); /* and a NUL */
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '+' || c == '/' || c == '=')
            return -EINVAL;
        (void)buffer_append_char(&base64, (char)(c == '-' ? '+' : c == '_' ? '/' : c));
    }
    while (base64.size % 4 != 0 && base64.error == 0)
        (void)buffer_append_char(&base64, '=');
    if (base64.error < 0)
        return base64.error;
    if (!base64_decoded_size(buffer_bytes(&base64), &size))
        return -EINVAL;
    char *room = buffer_reserve(ret, base64.size / 4 * 3);
    if (!room)
        return ret->error;
    ret->size += base64_decode(buffer_bytes(&base64), (unsigned char *)room);
    return 0;
}

int base64url_append(struct buffer *ret, struct bytes input)
{
    char *text = buffer_reserve(ret, (input.size + 2) / 3 * 4 + 1); /* and a NUL */
    if (!text)
        return ret->error;
    int size =
        EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)input.data, (int)input.size);
    while (size > 0 && text[size - 1] == '=')
        size--;
    for (int i = 0; i < size; i++)
        text[i] = (char)(text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i]);
    ret->size += (size_t)size;
    return 0;
}
