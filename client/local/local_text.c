/* SPDX-License-Identifier: MIT */
#include "client/local/local_text.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "client/entity/entity_lines.h"
#include "client/entity/entity_merge.h"
#include "client/text/json_string.h"

#define KEYS_MAX_BYTES ((size_t)16 << 10)

/* In canonical form: a key contains no other character that needs an escape. */
static int append_character(struct buffer *ret, uint32_t character)
{
    if (UNICODE_IS_SURROGATE(character))
        return buffer_append_format(ret, "\\u%04x", character);
    if (character == '"')
        (void)buffer_append_char(ret, '\\');
    return utf8_append(ret, character);
}

static void append_key(struct buffer *ret, const char *name, struct bytes key)
{
    uint32_t character;
    (void)buffer_append_format(ret, "  \"%s\": \"", name);
    for (size_t n; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n))
        (void)append_character(ret, character);
    (void)buffer_append_char(ret, '"');
}

static bool has_keys(struct bytes text)
{
    struct entity_lines lines;
    struct entity_property property;
    entity_lines_init(&lines, text);
    return entity_lines_next(&lines, &property) > 0 && property.role == ENTITY_PARTITION_KEY &&
           entity_lines_next(&lines, &property) > 0 && property.role == ENTITY_ROW_KEY;
}

int local_text_complete(struct bytes position, struct bytes text, struct buffer *whole,
                        struct bytes *ret)
{
    _cleanup_(buffer_finish) struct buffer keys = {.max = KEYS_MAX_BYTES};
    if (has_keys(text)) {
        *ret = text;
        return 0;
    }
    (void)buffer_append_string(&keys, "{\n");
    append_key(&keys, "PartitionKey", position_partition_key(position));
    (void)buffer_append_string(&keys, ",\n");
    append_key(&keys, "RowKey", position_row_key(position));
    int r = buffer_append_string(&keys, "\n}\n");
    size_t begin = whole->size;
    if (r == 0)
        r = entity_merge_append(buffer_bytes(&keys), text, whole);
    if (r < 0)
        return r;
    *ret = bytes_skip(buffer_bytes(whole), begin);
    return 0;
}

static bool is_key_of(const struct entity_property *property, enum entity_role role,
                      struct bytes key)
{
    return property->role == role && property->value.token.kind == JSON_STRING &&
           json_string_compare_cesu8(property->value.token.text, key) == 0;
}

bool local_text_is_of(struct bytes position, struct bytes text)
{
    struct entity_lines lines;
    struct entity_property property;
    int r;
    entity_lines_init(&lines, text);
    if (!position_has_row(position) || entity_lines_next(&lines, &property) <= 0 ||
        !is_key_of(&property, ENTITY_PARTITION_KEY, position_partition_key(position)) ||
        entity_lines_next(&lines, &property) <= 0 ||
        !is_key_of(&property, ENTITY_ROW_KEY, position_row_key(position)))
        return false;
    while ((r = entity_lines_next(&lines, &property)) > 0)
        continue;
    return r == 0;
}
