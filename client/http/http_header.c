/* SPDX-License-Identifier: MIT */
#include "client/http/http_header.h"

#include <strings.h>

bool http_header_is_value(struct bytes value)
{
    for (size_t i = 0; i < value.size; i++) {
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7F)
            return false;
    }
    return true;
}

int http_header_append(struct buffer *ret, const char *name, struct bytes value)
{
    (void)buffer_append_string(ret, name);
    (void)buffer_append_string(ret, ": ");
    (void)buffer_append(ret, value);
    return buffer_append_string(ret, "\r\n");
}

struct bytes http_header_take_line(struct bytes *text)
{
    struct bytes line = bytes_take_until(text, '\n');
    if (bytes_end_with(line, BYTES_LITERAL("\r")))
        line.size--;
    return line;
}

/* The value, if the text is NAME, the separator and a value. */
static bool take_named(struct bytes text, const char *name, char separator, struct bytes *ret)
{
    size_t n = strlen(name);
    if (text.size <= n || text.data[n] != separator || strncasecmp(text.data, name, n) != 0)
        return false;
    *ret = bytes_trim(bytes_skip(text, n + 1));
    return true;
}

bool http_header_find(struct bytes lines, const char *name, struct bytes *ret)
{
    bool is_found = false;
    while (lines.size > 0)
        is_found |= take_named(http_header_take_line(&lines), name, ':', ret);
    return is_found;
}

bool http_header_parameter(struct bytes value, const char *name, struct bytes *ret)
{
    (void)bytes_take_until(&value, ';');
    while (value.size > 0) {
        struct bytes found;
        if (!take_named(bytes_trim(bytes_take_until(&value, ';')), name, '=', &found))
            continue;
        if (bytes_start_with(found, BYTES_LITERAL("\""))) {
            found = bytes_skip(found, 1);
            found = bytes_take_until(&found, '"');
        }
        *ret = found;
        return true;
    }
    return false;
}
