/* SPDX-License-Identifier: MIT */
#include "client/text/printable.h"
#include "client/base/unicode.h"

static bool is_printable(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } others[] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200B, 0x200B},
                  {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        if (character >= others[i].first && character <= others[i].last)
            return false;
    }
    return true;
}

size_t printable_replace(char *text, size_t size)
{
    size_t done = 0;
    for (size_t at = 0, n; at < size; at += n) {
        uint32_t character;
        n = utf8_next((struct bytes){text + at, size - at}, &character);
        if (n > 0 && is_printable(character)) {
            memmove(text + done, text + at, n);
            done += n;
        } else {
            text[done++] = '?';
            n = MAX(n, 1);
        }
    }
    return done;
}

void printable_replace_string(char *text)
{
    text[printable_replace(text, strlen(text))] = '\0';
}

void printable_replace_from(struct buffer *buffer, size_t begin)
{
    if (buffer->size > begin)
        buffer->size = begin + printable_replace(buffer->data + begin, buffer->size - begin);
}
