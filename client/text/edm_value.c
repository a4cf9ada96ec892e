/* SPDX-License-Identifier: MIT */
#include "client/text/edm_value.h"
#include "client/base/unicode.h"
#include "client/text/base64.h"
#include "client/text/decimal.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

#include <math.h>
#include <strings.h>

static const struct bytes type_names[] = {
    [EDM_STRING] = BYTES_LITERAL("Edm.String"), [EDM_BOOLEAN] = BYTES_LITERAL("Edm.Boolean"),
    [EDM_INT32] = BYTES_LITERAL("Edm.Int32"),   [EDM_INT64] = BYTES_LITERAL("Edm.Int64"),
    [EDM_DOUBLE] = BYTES_LITERAL("Edm.Double"), [EDM_DATETIME] = BYTES_LITERAL("Edm.DateTime"),
    [EDM_GUID] = BYTES_LITERAL("Edm.Guid"),     [EDM_BINARY] = BYTES_LITERAL("Edm.Binary"),
};

static enum edm_type type_of_annotation(struct bytes annotation)
{
    for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
        if (bytes_equal(annotation, type_names[i]))
            return (enum edm_type)i;
    return EDM_OTHER;
}

struct bytes edm_type_name(enum edm_type type)
{
    return type_names[type];
}

enum edm_type edm_type_meant(struct bytes annotation)
{
    size_t prefix = strlen("Edm.");
    for (size_t i = 0; i < ARRAY_SIZE(type_names); i++) {
        struct bytes whole = type_names[i], bare = bytes_skip(whole, prefix);
        if ((annotation.size == whole.size &&
             strncasecmp(annotation.data, whole.data, whole.size) == 0) ||
            (annotation.size == bare.size &&
             strncasecmp(annotation.data, bare.data, bare.size) == 0))
            return (enum edm_type)i;
    }
    return EDM_OTHER;
}

static enum edm_type type_of_token(const struct json_token *token)
{
    if (token->kind == JSON_STRING)
        return EDM_STRING;
    if (token->kind != JSON_NUMBER)
        return EDM_BOOLEAN;
    return token->is_integer ? EDM_INT32 : EDM_DOUBLE;
}

/* An Int32 that does not fit: without its annotation it would become an Int64. */
static bool is_too_long(const struct json_token *token, enum edm_type type)
{
    int64_t integer;
    return type == EDM_INT32 && !edm_integer_parse(token->text, INT32_MIN, INT32_MAX, &integer);
}

struct edm_value edm_value_of(const struct json_token *token, struct bytes annotation)
{
    struct edm_value value = {.type = type_of_token(token), .token = *token};
    if (annotation.data) {
        enum edm_type annotated = type_of_annotation(annotation);
        if (annotated != value.type || is_too_long(token, annotated))
            value.annotation = annotation;
        value.type = annotated;
    }
    if (value.type == EDM_DOUBLE)
        value.annotation = type_names[EDM_DOUBLE];
    return value;
}

static bool is_in_name(uint32_t character, bool is_first)
{
    uint32_t lower = character | 0x20;
    if (character >= 0x80)
        return true;
    return (lower >= 'a' && lower <= 'z') || character == '_' ||
           (!is_first && character >= '0' && character <= '9');
}

size_t edm_name_size(struct bytes text)
{
    uint32_t character;
    size_t size = 0, n;
    while ((n = utf8_next(bytes_skip(text, size), &character)) > 0 &&
           is_in_name(character, size == 0))
        size += n;
    return size;
}

bool edm_name_is_too_long(struct bytes name)
{
    return json_string_units(name) > EDM_NAME_MAX_UNITS;
}

bool edm_integer_parse(struct bytes text, int64_t min, int64_t max, int64_t *ret)
{
    uint64_t magnitude;
    bool is_negative = bytes_start_with(text, BYTES_LITERAL("-"));
    uint64_t limit = is_negative ? -(uint64_t)min : (uint64_t)max;
    if (!bytes_parse_unsigned(bytes_skip(text, is_negative), limit, &magnitude))
        return false;
    *ret = (int64_t)(is_negative ? -magnitude : magnitude);
    return true;
}

static bool is_json_number(struct bytes text)
{
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, text, true);
    return json_reader_next(&reader, &token) == JSON_NUMBER && bytes_equal(token.text, text);
}

bool edm_double_parse(struct bytes text, double *ret)
{
    static const struct {
        struct bytes name;
        double value;
    } specials[] = {{BYTES_LITERAL("NaN"), (double)NAN},
                    {BYTES_LITERAL("Infinity"), (double)INFINITY},
                    {BYTES_LITERAL("-Infinity"), (double)-INFINITY}};
    for (size_t i = 0; i < ARRAY_SIZE(specials); i++) {
        if (bytes_equal(text, specials[i].name)) {
            *ret = specials[i].value;
            return true;
        }
    }
    char *end;
    if (!is_json_number(text))
        return false;
    double value = strtod(text.data, &end);
    if (end != text.data + text.size || isinf(value))
        return false;
    *ret = value;
    return true;
}

static const char guid_form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool edm_guid_parse(struct bytes text, unsigned char ret[EDM_GUID_BYTES])
{
    if (!bytes_have_form(text, guid_form))
        return false;
    size_t n = 0;
    for (size_t i = 0; i < text.size; i += 2) {
        i += text.data[i] == '-';
        ret[n++] = (unsigned char)hex_byte_value(text.data + i);
    }
    return true;
}

/* These change the text from `begin` to the end of `ret`, a string without its quotes. */

/* One that is no time stays as it is. */
static void respell_datetime(struct buffer *ret, size_t begin)
{
    int64_t ticks;
    if (!edm_datetime_parse(bytes_skip(buffer_bytes(ret), begin), &ticks))
        return;
    ret->size = begin;
    (void)edm_datetime_append(ret, ticks);
}

static void lower_guid(struct buffer *ret, size_t begin)
{
    if (!bytes_have_form(bytes_skip(buffer_bytes(ret), begin), guid_form))
        return;
    for (size_t i = begin; i < ret->size; i++)
        if (ret->data[i] >= 'A' && ret->data[i] <= 'F')
            ret->data[i] = (char)(ret->data[i] | 0x20);
}

static void trim_int64(struct buffer *ret, size_t begin)
{
    int64_t integer;
    struct bytes text = bytes_skip(buffer_bytes(ret), begin);
    bool is_negative = bytes_start_with(text, BYTES_LITERAL("-"));
    if (!bytes_start_with(bytes_skip(text, is_negative), BYTES_LITERAL("0")) ||
        !edm_integer_parse(text, INT64_MIN, INT64_MAX, &integer))
        return;
    ret->size = begin;
    (void)buffer_append_format(ret, "%lld", (long long)integer);
}

static void finish_string(struct buffer *ret, size_t begin, enum edm_type type)
{
    if (type == EDM_DATETIME)
        respell_datetime(ret, begin);
    if (type == EDM_GUID)
        lower_guid(ret, begin);
    if (type == EDM_INT64)
        trim_int64(ret, begin);
    if (type == EDM_BINARY)
        base64_clear_unused(ret->data + begin, ret->size - begin);
}

static int append_string(struct buffer *ret, const struct edm_value *value)
{
    (void)buffer_append_char(ret, '"');
    size_t begin = ret->size;
    int r = value->token.has_escapes ? json_string_append_canonical(ret, value->token.text)
                                     : buffer_append(ret, value->token.text);
    if (r < 0)
        return r;
    finish_string(ret, begin, value->type);
    return buffer_append_char(ret, '"');
}

/* A number in a string: it stands without the quotes. */
static int append_double_string(struct buffer *ret, const struct edm_value *value)
{
    struct decimal decimal;
    size_t begin = ret->size;
    int r = append_string(ret, value);
    size_t end = ret->size;
    if (r < 0 || !is_json_number((struct bytes){ret->data + begin + 1, end - begin - 2}))
        return r;
    /* room first, because the digits are read from ret itself */
    if (!buffer_reserve(ret, end - begin + DECIMAL_MAX_GROWTH))
        return ret->error;
    if (!decimal_read((struct bytes){ret->data + begin + 1, end - begin - 2}, &decimal))
        return 0;
    r = decimal_append_double(ret, &decimal);
    memmove(ret->data + begin, ret->data + end, ret->size - end);
    ret->size -= end - begin;
    return r;
}

static int append_double(struct buffer *ret, const struct edm_value *value)
{
    struct decimal decimal;
    const struct json_token *token = &value->token;
    if (token->kind == JSON_STRING)
        return append_double_string(ret, value);
    if (token->kind != JSON_NUMBER || decimal_is_as_printed(token->text) ||
        !decimal_read(token->text, &decimal))
        return buffer_append(ret, token->text);
    return decimal_append_double(ret, &decimal);
}

/* A number that jq has written as 1e+16 is an integer, too. */
static int append_int64(struct buffer *ret, const struct edm_value *value)
{
    struct decimal decimal;
    if (!decimal_read(value->token.text, &decimal) || !decimal_is_integer(&decimal))
        return buffer_append(ret, value->token.text);
    (void)buffer_append_char(ret, '"');
    (void)decimal_append_integer(ret, &decimal);
    return buffer_append_char(ret, '"');
}

int edm_value_append(struct buffer *ret, const struct edm_value *value)
{
    const struct json_token *token = &value->token;
    if (value->type == EDM_DOUBLE)
        return append_double(ret, value);
    if (token->kind == JSON_STRING)
        return append_string(ret, value);
    if (value->type == EDM_INT64 && token->kind == JSON_NUMBER)
        return append_int64(ret, value);
    bool is_minus_zero = value->type == EDM_INT32 && bytes_equal(token->text, BYTES_LITERAL("-0"));
    return buffer_append(ret, bytes_skip(token->text, is_minus_zero));
}
