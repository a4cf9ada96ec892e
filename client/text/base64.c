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
    /* all of the text is looked at only if something is to be changed */
    if (unused != 0 && base64_decoded_size((struct bytes){base64, size}, &decoded))
        *last = digits[value - unused];
}
