/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_lines.h"
#include "client/text/json_string.h"

static const struct bytes annotation_suffix = BYTES_LITERAL(ENTITY_ANNOTATION_SUFFIX);

static enum entity_role role_of(struct bytes name)
{
    if (bytes_equal(name, BYTES_LITERAL("PartitionKey")))
        return ENTITY_PARTITION_KEY;
    return bytes_equal(name, BYTES_LITERAL("RowKey")) ? ENTITY_ROW_KEY : ENTITY_PROPERTY;
}

int entity_property_compare(const struct entity_property *a, const struct entity_property *b)
{
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->has_escapes || b->has_escapes)
        return json_string_compare(a->name, b->name);
    return bytes_compare(a->name, b->name);
}

void entity_lines_init(struct entity_lines *lines, struct bytes text)
{
    *lines = (struct entity_lines){.text = text};
    json_reader_init(&lines->json);
    json_reader_feed(&lines->json, text, true);
}

/* Takes the next token, and checks the text between it and the last one. */
static bool take(struct entity_lines *lines, const struct json_token *token, struct bytes before)
{
    size_t quote = token->kind == JSON_NAME || token->kind == JSON_STRING;
    size_t begin = (size_t)(token->text.data - lines->text.data) - quote;
    struct bytes between = {lines->text.data + lines->end, begin - lines->end};
    lines->end = begin + token->text.size + 2 * quote;
    return bytes_equal(between, before);
}

static bool next_name(struct entity_lines *lines, struct json_token *ret)
{
    if (json_reader_next(&lines->json, ret) != JSON_NAME)
        return false;
    return take(lines, ret, lines->end == 1 ? BYTES_LITERAL("\n  ") : BYTES_LITERAL(",\n  "));
}

static bool next_value(struct entity_lines *lines, struct json_token *ret)
{
    enum json_kind kind = json_reader_next(&lines->json, ret);
    bool is_scalar = kind >= JSON_STRING && kind <= JSON_FALSE;
    return is_scalar && take(lines, ret, BYTES_LITERAL(": "));
}

/* Takes an annotation, whose name is in `name`, and then the property's name, which must follow,
 * and which replaces `name`. */
static bool take_annotation(struct entity_lines *lines, struct json_token *name, struct bytes *ret)
{
    struct json_token value, property;
    name->text.size -= annotation_suffix.size;
    if (!next_value(lines, &value) || value.kind != JSON_STRING || !next_name(lines, &property) ||
        !bytes_equal(property.text, name->text))
        return false;
    *name = property;
    *ret = value.text;
    return true;
}

/* Keys must be plain strings; Timestamp and the service's metadata must not be in the text. */
static bool is_legal(const struct entity_property *property)
{
    if (property->role != ENTITY_PROPERTY)
        return property->value.type == EDM_STRING && !property->value.annotation.data;
    return !bytes_equal(property->name, BYTES_LITERAL("Timestamp")) &&
           !bytes_start_with(property->name, BYTES_LITERAL("odata.")) &&
           !bytes_end_with(property->name, annotation_suffix);
}

/* After the first name. */
static bool read_property(struct entity_lines *lines, struct json_token *name,
                          struct entity_property *ret)
{
    struct json_token value;
    struct bytes annotation = {NULL, 0};
    const char *begin = name->text.data - 1;
    bool is_annotated = bytes_end_with(name->text, annotation_suffix);
    if (is_annotated && !take_annotation(lines, name, &annotation))
        return false;
    if (!next_value(lines, &value))
        return false;
    ret->role = role_of(name->text);
    ret->has_escapes = name->has_escapes;
    ret->name = name->text;
    ret->value = edm_value_of(&value, annotation);
    ret->lines = (struct bytes){begin, (size_t)(lines->text.data + lines->end - begin)};
    /* no redundant annotation, and none missing at a Double */
    return is_annotated == (ret->value.annotation.data != NULL) && is_legal(ret);
}

static bool begin(struct entity_lines *lines)
{
    struct json_token token;
    return json_reader_next(&lines->json, &token) == JSON_OBJECT_BEGIN &&
           take(lines, &token, BYTES_LITERAL(""));
}

/* Is only the end of the text left after the last value? */
static bool is_at_end(const struct entity_lines *lines)
{
    struct bytes rest = bytes_skip(lines->text, lines->end);
    return bytes_equal(rest, BYTES_LITERAL("\n}\n"));
}

int entity_lines_next(struct entity_lines *lines, struct entity_property *ret)
{
    struct json_token name;
    bool is_first = lines->end == 0;
    if (is_first && !begin(lines))
        return -EPROTO;
    if (is_at_end(lines))
        return 0;
    if (!next_name(lines, &name) || !read_property(lines, &name, ret))
        return -EPROTO;
    if (!is_first && entity_property_compare(&lines->last, ret) >= 0)
        return -EPROTO;
    lines->last = *ret;
    return 1;
}

int entity_lines_append(struct buffer *ret, size_t begin, struct bytes lines)
{
    (void)buffer_append_char(ret, ret->size == begin ? '{' : ',');
    (void)buffer_append(ret, BYTES_LITERAL("\n  "));
    return buffer_append(ret, lines);
}

int entity_lines_append_name(struct buffer *ret, size_t begin, struct bytes name,
                             struct bytes annotation)
{
    if (annotation.data) {
        (void)entity_lines_append(ret, begin, BYTES_LITERAL("\""));
        (void)buffer_append(ret, name);
        (void)buffer_append(ret, BYTES_LITERAL(ENTITY_ANNOTATION_SUFFIX "\": \""));
        (void)buffer_append(ret, annotation);
        (void)buffer_append_char(ret, '"');
    }
    (void)entity_lines_append(ret, begin, BYTES_LITERAL("\""));
    (void)buffer_append(ret, name);
    return buffer_append(ret, BYTES_LITERAL("\": "));
}

int entity_lines_append_end(struct buffer *ret, size_t begin)
{
    bool is_empty = ret->size == begin;
    return buffer_append(ret, is_empty ? BYTES_LITERAL("{\n}\n") : BYTES_LITERAL("\n}\n"));
}
