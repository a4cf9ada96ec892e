/* SPDX-License-Identifier: MIT */
#include "client/text/small_json.h"
#include "client/text/json_reader.h"

/* cJSON takes an escape that is not hexadecimal for U+0000, and ends a string there. */
static bool is_nul_escape(struct bytes text)
{
    if (!bytes_start_with(text, BYTES_LITERAL("\\u")))
        return false;
    if (text.size < 6)
        return true;
    int high = hex_byte_value(text.data + 2), low = hex_byte_value(text.data + 4);
    return high < 0 || low < 0 || high + low == 0;
}

/* Can cJSON read the text, if it is JSON, without cutting a string and without deep recursion? */
static bool is_fit(struct bytes text)
{
    bool is_string = false;
    size_t depth = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '\0' || is_nul_escape(bytes_skip(text, i)))
            return false;
        if (c == '"')
            is_string = !is_string;
        else if (c == '\\')
            i++; /* the next character is no quote */
        else if (!is_string && (c == '{' || c == '['))
            depth++;
        else if (!is_string && (c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > SMALL_JSON_MAX_DEPTH)
            return false;
    }
    return true;
}

int small_json_parse(struct bytes text, cJSON **ret)
{
    const char *end = NULL;
    if (text.size > SMALL_JSON_MAX_BYTES || !is_fit(text))
        return -EPROTO;
    errno = 0; /* of cJSON's failures only one sets ENOMEM */
    _cleanup_(cJSON_Deletep) cJSON *tree =
        cJSON_ParseWithLengthOpts(text.data, text.size, &end, false);
    if (!tree)
        return errno == ENOMEM ? -ENOMEM : -EPROTO;
    struct bytes rest = bytes_skip(text, (size_t)(end - text.data));
    if (json_count_blanks(rest) != rest.size)
        return -EPROTO;
    *ret = TAKE_PTR(tree);
    return 0;
}

struct bytes small_json_string(const cJSON *object, const char *name)
{
    const char *string = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return string ? bytes_of(string) : (struct bytes){0};
}
