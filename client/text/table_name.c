/* SPDX-License-Identifier: MIT */
#include "client/text/table_name.h"

#include <strings.h>

#define METRICS BYTES_LITERAL("$Metrics")

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool are_alphanumeric(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!is_letter(text.data[i]) && !(text.data[i] >= '0' && text.data[i] <= '9'))
            return false;
    return true;
}

bool table_name_is_legal(struct bytes name)
{
    return name.size >= 3 && name.size < TABLE_NAME_SIZE && is_letter(name.data[0]) &&
           are_alphanumeric(name);
}

bool table_name_is_reserved(struct bytes name)
{
    struct bytes reserved = BYTES_LITERAL("tables");
    return name.size == reserved.size && strncasecmp(name.data, reserved.data, name.size) == 0;
}

bool table_name_is_readable(struct bytes name)
{
    if (!bytes_start_with(name, METRICS))
        return table_name_is_legal(name);
    return name.size > METRICS.size && name.size < TABLE_NAME_SIZE &&
           are_alphanumeric(bytes_skip(name, METRICS.size));
}

bool table_name_is_shown(struct bytes name)
{
    return table_name_is_readable(name) ||
           (name.size > 0 && name.size < TABLE_NAME_SIZE && are_alphanumeric(name));
}
