/* SPDX-License-Identifier: MIT */
#include "fs/base/say.h"
#include "client/text/printable.h"

void say_list(FILE *stream, const char *before, const char *format, va_list list)
{
    char text[SAY_MAX_BYTES];
    bool is_line = bytes_end_with(bytes_of(format), BYTES_LITERAL("\n"));
    (void)snprintf(text, sizeof(text), "%s", before);
    size_t size = strlen(text);
    (void)vsnprintf(text + size, sizeof(text) - size, format, list);
    size = strlen(text);
    if (is_line && size > 0 && text[size - 1] == '\n') /* else it was cut */
        size--;
    size = printable_replace(text, size);
    if (is_line)
        text[size++] = '\n';
    (void)fwrite(text, 1, size, stream);
}

void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_list(stderr, "", format, list);
    va_end(list);
}

void say_to(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_list(stream, "", format, list);
    va_end(list);
}
