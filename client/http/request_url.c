/* SPDX-License-Identifier: MIT */
#include "client/http/request_url.h"
#include "client/base/unicode.h"
#include "client/http/http_header.h"

#define KEY_MAX_BYTES ((size_t)16 << 10) /* of one key in UTF-8; the service allows 2 KiB */

static const struct {
    const char *header, *parameter;
    char letter;
} token_parts[TOKEN_PARTS] = {
    [TOKEN_NEXT_PARTITION_KEY] = {"x-ms-continuation-NextPartitionKey", "NextPartitionKey", 'P'},
    [TOKEN_NEXT_ROW_KEY] = {"x-ms-continuation-NextRowKey", "NextRowKey", 'R'},
    [TOKEN_NEXT_TABLE_NAME] = {"x-ms-continuation-NextTableName", "NextTableName", 'T'},
};

static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int request_url_append_encoded(struct buffer *ret, struct bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        char escape[] = {'%', digits[byte >> 4], digits[byte & 15]};
        (void)buffer_append(ret, is_unreserved(text.data[i]) ? (struct bytes){text.data + i, 1}
                                                             : (struct bytes){escape, 3});
    }
    return ret->error;
}

/* The text between the quotes of an OData literal. */
static int append_literal(struct buffer *ret, struct bytes utf8)
{
    for (size_t i = 0; i < utf8.size; i++) {
        if (utf8.data[i] == '\'')
            (void)buffer_append_string(ret, "%27");
        (void)request_url_append_encoded(ret, (struct bytes){utf8.data + i, 1});
    }
    return ret->error;
}

static int append_key(struct buffer *ret, struct bytes key)
{
    _cleanup_(buffer_finish) struct buffer utf8;
    buffer_init(&utf8, KEY_MAX_BYTES);
    int r = utf8_append_cesu8(&utf8, key);
    return r < 0 ? r : append_literal(ret, buffer_bytes(&utf8));
}

int request_url_append_insert(struct buffer *ret, const char *table)
{
    (void)buffer_append_char(ret, '/');
    return request_url_append_encoded(ret, bytes_of(table));
}

int request_url_append_rows(struct buffer *ret, const char *table)
{
    (void)request_url_append_insert(ret, table);
    return buffer_append_string(ret, "()");
}

int request_url_append_tables(struct buffer *ret)
{
    return buffer_append_string(ret, "/Tables");
}

int request_url_append_table(struct buffer *ret, const char *table)
{
    (void)request_url_append_tables(ret);
    (void)buffer_append_string(ret, "('");
    (void)append_literal(ret, bytes_of(table));
    return buffer_append_string(ret, "')");
}

int request_url_append_entity(struct buffer *ret, const char *table, struct bytes position)
{
    (void)request_url_append_insert(ret, table);
    (void)buffer_append_string(ret, "(PartitionKey='");
    int r = append_key(ret, position_partition_key(position));
    if (r < 0)
        return r;
    (void)buffer_append_string(ret, "',RowKey='");
    r = append_key(ret, position_row_key(position));
    return r < 0 ? r : buffer_append_string(ret, "')");
}

static size_t key_size(struct bytes key)
{
    size_t size = 0, n;
    uint32_t character;
    for (; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n)) {
        if (character < 0x80 && is_unreserved((char)character))
            size++;
        else
            size += character == '\'' ? 6 : 3 * MIN(n, UTF8_MAX_BYTES);
    }
    return size;
}

size_t request_url_keys_size(struct bytes position)
{
    return key_size(position_partition_key(position)) + key_size(position_row_key(position));
}

/* One comparison of a filter: the property, "ge" etc., the key in CESU-8. */
struct comparison {
    const char *property, *operation;
    struct bytes key;
};

struct filter {
    struct buffer *text; /* percent-encoded */
    bool is_widened, is_begun;
};

/* The offset of a key's first lone surrogate, which is returned in ret_unit. The key's size: it
 * has none, or is not well-formed, which is detected when it is written. */
static size_t find_lone_surrogate(struct bytes key, uint32_t *ret_unit)
{
    size_t n;
    for (size_t i = 0; i < key.size; i += n) {
        uint32_t character;
        n = cesu8_next(bytes_skip(key, i), &character);
        if (n == 0)
            break;
        if (UNICODE_IS_SURROGATE(character)) {
            *ret_unit = character;
            return i;
        }
    }
    return key.size;
}

/* In UTF-16 order U+D7FF comes before the supplementary characters, which begin with the units
 * D800 to DBFF, and U+E000 after them. A lone leading unit is between the characters of the
 * units before and after it; a lone trailing unit is after all of them. */
static uint32_t last_character_before(uint32_t unit)
{
    if (unit >= 0xDC00)
        return 0x10FFFF;
    return unit == 0xD800 ? 0xD7FF : 0x10000 + ((unit - 0xD800) << 10) - 1;
}

static uint32_t first_character_behind(uint32_t unit)
{
    return unit >= 0xDBFF ? 0xE000 : 0x10000 + ((unit - 0xD800 + 1) << 10);
}

static void begin_condition(struct filter *filter)
{
    if (filter->is_begun)
        (void)buffer_append_string(filter->text, "%20and%20");
    filter->is_begun = true;
}

static int append_comparison(struct filter *filter, struct comparison comparison)
{
    begin_condition(filter);
    (void)buffer_append_format(filter->text, "%s%%20%s%%20%%27", comparison.property,
                               comparison.operation);
    int r = append_key(filter->text, comparison.key);
    return r < 0 ? r : buffer_append_string(filter->text, "%27");
}

/* For a key with a lone surrogate: uses the nearest key that can be written, below it for ge and
 * gt, above it for lt and le. */
static int append_bound(struct filter *filter, struct comparison comparison)
{
    uint32_t unit = 0;
    size_t n = find_lone_surrogate(comparison.key, &unit);
    if (n == comparison.key.size)
        return append_comparison(filter, comparison);
    _cleanup_(buffer_finish) struct buffer key;
    buffer_init(&key, KEY_MAX_BYTES);
    bool is_low = comparison.operation[0] == 'g';
    (void)buffer_append(&key, bytes_first(comparison.key, n));
    int r = cesu8_append(&key, is_low ? last_character_before(unit) : first_character_behind(unit));
    if (r < 0)
        return r;
    filter->is_widened = true;
    return append_comparison(
        filter, (struct comparison){comparison.property, is_low ? "ge" : "lt", buffer_bytes(&key)});
}

/* No key holds a control character, so no request does. A range that starts after all keys with the
 * prefix "a~" starts at "a" and U+007F. The request starts after "a~" and U+FFFF instead: only keys
 * that start with this one lie between. */
#define DELETE             "\x7F"
#define LAST_BEFORE_DELETE "~\xEF\xBF\xBF"

static int append_behind_tilde(struct filter *filter, const char *property, struct bytes key)
{
    _cleanup_(buffer_finish) struct buffer last;
    buffer_init(&last, KEY_MAX_BYTES);
    (void)buffer_append(&last, bytes_first(key, key.size - strlen(DELETE)));
    int r = buffer_append_string(&last, LAST_BEFORE_DELETE);
    if (r < 0)
        return r;
    filter->is_widened = true;
    return append_bound(filter, (struct comparison){property, "gt", buffer_bytes(&last)});
}

/* The end of a range may have POSITION_AFTER: then it is after the key, else before it. */
static bool take_after(struct bytes *key)
{
    bool is_after = bytes_end_with(*key, BYTES_LITERAL(POSITION_AFTER));
    key->size -= is_after ? 1 : 0;
    return is_after;
}

static int append_low(struct filter *filter, const char *property, struct bytes key)
{
    if (key.size == 0)
        return 0;
    if (bytes_end_with(key, BYTES_LITERAL(DELETE)))
        return append_behind_tilde(filter, property, key);
    const char *operation = take_after(&key) ? "gt" : "ge";
    return append_bound(filter, (struct comparison){property, operation, key});
}

static int append_high(struct filter *filter, const char *property, struct bytes key)
{
    const char *operation = take_after(&key) ? "le" : "lt";
    return append_bound(filter, (struct comparison){property, operation, key});
}

/* For a key that cannot be written: requests a little more than the partition. */
static int append_partition(struct filter *filter, struct bytes key)
{
    uint32_t unit;
    if (find_lone_surrogate(key, &unit) == key.size)
        return append_comparison(filter, (struct comparison){"PartitionKey", "eq", key});
    int r = append_bound(filter, (struct comparison){"PartitionKey", "ge", key});
    return r < 0 ? r : append_bound(filter, (struct comparison){"PartitionKey", "le", key});
}

static int append_in_partition(struct filter *filter, struct range range)
{
    int r = append_partition(filter, position_partition_key(range.lo));
    if (r == 0)
        r = append_low(filter, "RowKey", position_row_key(range.lo));
    if (r == 0 && position_has_row(range.hi))
        r = append_high(filter, "RowKey", position_row_key(range.hi));
    return r;
}

static int append_across_partitions(struct filter *filter, struct range range)
{
    int r = append_low(filter, "PartitionKey", position_partition_key(range.lo));
    if (r == 0 && !bytes_equal(range.hi, BYTES_LITERAL(POSITION_END)))
        r = append_high(filter, "PartitionKey", position_partition_key(range.hi));
    return r;
}

/* Appends `name`, after "&" unless it is the first parameter. */
static void begin_parameter(struct buffer *ret, size_t begin, const char *name)
{
    if (ret->size > begin)
        (void)buffer_append_char(ret, '&');
    (void)buffer_append_string(ret, name);
    (void)buffer_append_char(ret, '=');
}

/* The user's filter, in parentheses, so that an "or" in it does not extend the range. */
static int append_condition(struct filter *filter, const char *condition)
{
    begin_condition(filter);
    (void)buffer_append_string(filter->text, "%28");
    (void)request_url_append_encoded(filter->text, bytes_of(condition));
    return buffer_append_string(filter->text, "%29");
}

static int append_filter(struct buffer *ret, const struct query *query, bool *ret_is_widened)
{
    struct filter filter = {.text = ret};
    size_t begin = ret->size;
    begin_parameter(ret, begin, "$filter");
    int r = range_is_in_partition(query->range) ? append_in_partition(&filter, query->range)
                                                : append_across_partitions(&filter, query->range);
    if (r == 0 && query->filter)
        r = append_condition(&filter, query->filter);
    if (r < 0)
        return r;
    if (!filter.is_begun)
        ret->size = begin; /* the whole table: no filter */
    *ret_is_widened = filter.is_widened;
    return ret->error;
}

#define ALWAYS_SELECTED "PartitionKey,RowKey,Timestamp"

static bool is_always_selected(struct bytes name)
{
    return bytes_equal(name, BYTES_LITERAL("PartitionKey")) ||
           bytes_equal(name, BYTES_LITERAL("RowKey")) ||
           bytes_equal(name, BYTES_LITERAL("Timestamp"));
}

/* The names of a comma list. Those that are always selected are not repeated. */
static int append_select(struct buffer *ret, size_t begin, const char *names)
{
    begin_parameter(ret, begin, "$select");
    (void)request_url_append_encoded(ret, BYTES_LITERAL(ALWAYS_SELECTED));
    while (*names) {
        size_t n = strcspn(names, ",");
        struct bytes name = bytes_trim((struct bytes){names, n});
        names += names[n] ? n + 1 : n;
        if (name.size == 0 || is_always_selected(name))
            continue;
        (void)request_url_append_encoded(ret, BYTES_LITERAL(","));
        (void)request_url_append_encoded(ret, name);
    }
    return ret->error;
}

const char *token_header(enum token_part part)
{
    return token_parts[part].header;
}

int token_append_part(struct buffer *ret, enum token_part part, struct bytes value)
{
    (void)buffer_append_char(ret, token_parts[part].letter);
    (void)buffer_append(ret, value);
    return buffer_append_char(ret, '\0');
}

int token_append_headers(struct buffer *ret, struct bytes headers)
{
    for (enum token_part part = 0; part < TOKEN_PARTS; part++) {
        struct bytes value;
        if (http_header_find(headers, token_header(part), &value))
            (void)token_append_part(ret, part, value);
    }
    return ret->error;
}

static const char *parameter_of(char letter)
{
    for (size_t i = 0; i < TOKEN_PARTS; i++) {
        if (token_parts[i].letter == letter)
            return token_parts[i].parameter;
    }
    return NULL;
}

static int append_token(struct buffer *ret, size_t begin, const struct continuation *after)
{
    struct bytes token = after ? continuation_token(after) : (struct bytes){0};
    while (token.size > 0) {
        const char *end = memchr(token.data, '\0', token.size);
        const char *parameter = parameter_of(token.data[0]);
        if (!end || !parameter)
            return -EILSEQ; /* not made by token_append_part */
        begin_parameter(ret, begin, parameter);
        size_t n = (size_t)(end - token.data);
        (void)request_url_append_encoded(ret, (struct bytes){token.data + 1, n - 1});
        token = bytes_skip(token, n + 1);
    }
    return ret->error;
}

int request_url_append_row_query(struct buffer *ret, const struct query *query,
                                 bool *ret_is_widened)
{
    size_t begin = ret->size;
    int r = append_filter(ret, query, ret_is_widened);
    if (r < 0)
        return r;
    if (query->keys_only || query->select)
        (void)append_select(ret, begin, query->keys_only ? "" : query->select);
    begin_parameter(ret, begin, "$top");
    (void)buffer_append_format(ret, "%d", query->top);
    return append_token(ret, begin, query->after);
}

int request_url_append_table_query(struct buffer *ret, const char *only,
                                   const struct continuation *after)
{
    size_t begin = ret->size;
    if (only) {
        begin_parameter(ret, begin, "$filter");
        (void)buffer_append_string(ret, "TableName%20eq%20%27");
        (void)append_literal(ret, bytes_of(only));
        (void)buffer_append_string(ret, "%27");
    }
    return append_token(ret, begin, after);
}

int request_url_fail(struct call *call, int error)
{
    if (error == -EFBIG)
        return call_fail(call, -ENAMETOOLONG, "the request's URL is too long");
    if (error == -EILSEQ)
        return call_fail(call, -EINVAL, "a key that no URL can hold: it has a lone surrogate");
    if (error == -EINVAL)
        return call_fail(call, -EINVAL, "an entity's text or ETag that cannot be sent");
    return call_fail(call, error,
                     error == -ENOMEM ? "out of memory" : "the request could not be made");
}
