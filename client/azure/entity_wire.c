/* SPDX-License-Identifier: MIT */
#include "client/azure/entity_wire.h"
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "client/entity/entity_lines.h"

#define ESCAPE_BYTES ((size_t)6) /* of \u2028 */

static bool is_line_end(struct bytes text)
{
    return bytes_start_with(text, BYTES_LITERAL("\xE2\x80\xA8")) ||
           bytes_start_with(text, BYTES_LITERAL("\xE2\x80\xA9"));
}

/* The text between quotes in canonical text. All line ends but U+2028 and U+2029 are escaped
 * already. */
static void append_raw(struct buffer *ret, struct bytes raw)
{
    while (raw.size > 0) {
        const char *found = memchr(raw.data, 0xE2, raw.size);
        size_t n = found ? (size_t)(found - raw.data) : raw.size;
        (void)buffer_append(ret, bytes_first(raw, n));
        raw = bytes_skip(raw, n);
        if (is_line_end(raw)) {
            (void)buffer_append_string(ret, raw.data[2] == '\xA8' ? "\\u2028" : "\\u2029");
            raw = bytes_skip(raw, 3);
        } else if (raw.size > 0) {
            (void)buffer_append_char(ret, raw.data[0]);
            raw = bytes_skip(raw, 1);
        }
    }
}

/* What JSON demands, line ends, and lone surrogates, which UTF-8 cannot contain. */
static bool is_escaped(uint32_t character)
{
    return character < 0x20 || character == '"' || character == '\\' || character == 0x2028 ||
           character == 0x2029 || UNICODE_IS_SURROGATE(character);
}

static int append_key_character(struct buffer *ret, uint32_t character)
{
    return is_escaped(character) ? buffer_append_format(ret, "\\u%04x", character)
                                 : utf8_append(ret, character);
}

static int append_key(struct buffer *ret, const char *name, struct bytes key)
{
    (void)buffer_append_format(ret, "\"%s\":\"", name);
    while (key.size > 0) {
        uint32_t character;
        size_t n = cesu8_next(key, &character);
        if (n == 0)
            return -EINVAL;
        (void)append_key_character(ret, character);
        key = bytes_skip(key, n);
    }
    return buffer_append_char(ret, '"');
}

static void append_name(struct buffer *ret, struct bytes name, const char *suffix)
{
    (void)buffer_append_string(ret, ",\"");
    append_raw(ret, name);
    (void)buffer_append_string(ret, suffix);
    (void)buffer_append_string(ret, "\":");
}

static void append_string(struct buffer *ret, struct bytes raw)
{
    (void)buffer_append_char(ret, '"');
    append_raw(ret, raw);
    (void)buffer_append_char(ret, '"');
}

static void append_property(struct buffer *ret, const struct entity_property *property)
{
    const struct edm_value *value = &property->value;
    if (value->annotation.data) {
        append_name(ret, property->name, ENTITY_ANNOTATION_SUFFIX);
        append_string(ret, value->annotation);
    }
    append_name(ret, property->name, "");
    if (value->token.kind == JSON_STRING)
        append_string(ret, value->token.text);
    else
        (void)buffer_append(ret, value->token.text);
}

static int append_properties(struct buffer *ret, struct bytes text)
{
    struct entity_lines lines;
    struct entity_property property;
    int r;
    entity_lines_init(&lines, text);
    while ((r = entity_lines_next(&lines, &property)) > 0) {
        if (property.role == ENTITY_PROPERTY)
            append_property(ret, &property);
    }
    return r < 0 ? -EINVAL : ret->error;
}

int entity_wire_append(struct buffer *ret, struct bytes position, struct bytes text)
{
    (void)buffer_append_char(ret, '{');
    int r = append_key(ret, "PartitionKey", position_partition_key(position));
    if (r < 0)
        return r;
    (void)buffer_append_char(ret, ',');
    r = append_key(ret, "RowKey", position_row_key(position));
    if (r == 0)
        r = append_properties(ret, text);
    return r < 0 ? r : buffer_append_char(ret, '}');
}

static size_t key_size(struct bytes key)
{
    size_t size = 0, n;
    uint32_t character;
    for (; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n))
        size += is_escaped(character) ? ESCAPE_BYTES : MIN(n, UTF8_MAX_BYTES);
    return size;
}

/* A property is shorter here than its line of canonical text, but for the line ends in it. */
static size_t properties_size(struct bytes text)
{
    size_t size = text.size;
    const char *found;
    while (text.size > 0 && (found = memchr(text.data, 0xE2, text.size))) {
        text = bytes_skip(text, (size_t)(found - text.data));
        size += is_line_end(text) ? ESCAPE_BYTES - 3 : 0;
        text = bytes_skip(text, 1);
    }
    return size;
}

size_t entity_wire_size(struct bytes position, struct bytes text)
{
    return sizeof("{\"PartitionKey\":\"\",\"RowKey\":\"\"}") +
           key_size(position_partition_key(position)) + key_size(position_row_key(position)) +
           properties_size(text);
}
