#include "client/text/edm_value.h"
#include "client/clock.h"
#include "client/text/base64.h"
#include "client/text/decimal.h"
#include "client/text/json_string.h"

#include <math.h>

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

static enum edm_type type_of_token(const struct json_token *token)
{
    if (token->kind == JSON_STRING)
        return EDM_STRING;
    if (token->kind != JSON_NUMBER)
        return EDM_BOOLEAN;
    return token->is_integer ? EDM_INT32 : EDM_DOUBLE;
}

struct edm_value edm_value_of(const struct json_token *token, struct bytes annotation)
{
    struct edm_value value = {.type = type_of_token(token), .token = *token};
    if (annotation.data) {
        enum edm_type annotated = type_of_annotation(annotation);
        if (annotated != value.type)
            value.annotation = annotation;
        value.type = annotated;
    }
    if (value.type == EDM_DOUBLE)
        value.annotation = type_names[EDM_DOUBLE];
    return value;
}

size_t edm_name_size(struct bytes text)
{
    size_t n = 0;
    for (; n < text.size; n++) {
        char c = text.data[n], lower = (char)(c | 0x20);
        bool is_letter = (lower >= 'a' && lower <= 'z') || c == '_';
        if (!is_letter && (n == 0 || c < '0' || c > '9'))
            break;
    }
    return n;
}

static const char seconds_form[] = "0000-00-00T00:00:00";
#define SECONDS_SIZE (sizeof(seconds_form) - 1)

/* The number that n digits stand for. */
static int number_at(struct bytes text, size_t begin, size_t n)
{
    int value = 0;
    for (size_t i = begin; i < begin + n; i++)
        value = value * 10 + (text.data[i] - '0');
    return value;
}

/* Seconds since 1970 of a text of seconds_form; false: there is no such time. */
static bool parse_seconds(struct bytes text, int64_t *ret)
{
    struct tm utc = {.tm_year = number_at(text, 0, 4) - 1900,
                     .tm_mon = number_at(text, 5, 2) - 1,
                     .tm_mday = number_at(text, 8, 2),
                     .tm_hour = number_at(text, 11, 2),
                     .tm_min = number_at(text, 14, 2),
                     .tm_sec = number_at(text, 17, 2)};
    const struct tm given = utc;
    *ret = timegm(&utc);
    /* timegm converts a field out of range: 31 June becomes 1 July */
    return given.tm_year >= 1601 - 1900 && utc.tm_mon == given.tm_mon &&
           utc.tm_mday == given.tm_mday && utc.tm_hour == given.tm_hour &&
           utc.tm_min == given.tm_min && utc.tm_sec == given.tm_sec;
}

/* The text after the seconds, `Z` or `.1234567Z` with 1 to 7 digits, in ticks. */
static bool parse_fraction(struct bytes text, int64_t *ret)
{
    uint64_t ticks = 0;
    if (text.size == 0 || text.size > 9 || text.data[text.size - 1] != 'Z')
        return false;
    if (text.size > 1) {
        struct bytes after_point = bytes_skip(bytes_first(text, text.size - 1), 1);
        if (text.data[0] != '.' || !bytes_parse_unsigned(after_point, TICKS_PER_SEC - 1, &ticks))
            return false;
        for (size_t n = after_point.size; n < 7; n++)
            ticks *= 10;
    }
    *ret = (int64_t)ticks;
    return true;
}

bool edm_datetime_parse(struct bytes text, int64_t *ret)
{
    int64_t seconds, fraction;
    if (text.size <= SECONDS_SIZE ||
        !bytes_have_form(bytes_first(text, SECONDS_SIZE), seconds_form) ||
        !parse_fraction(bytes_skip(text, SECONDS_SIZE), &fraction) ||
        !parse_seconds(text, &seconds))
        return false;
    *ret = seconds * TICKS_PER_SEC + fraction;
    return true;
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

static void trim_datetime(struct buffer *ret, size_t begin)
{
    int64_t ticks;
    struct bytes text = bytes_skip(buffer_bytes(ret), begin);
    if (!edm_datetime_parse(text, &ticks) || text.size == SECONDS_SIZE + 1)
        return;
    do
        ret->size--; /* the Z, then zeros */
    while (ret->data[ret->size - 1] == '0');
    if (ret->data[ret->size - 1] == '.')
        ret->size--;
    ret->data[ret->size++] = 'Z';
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
        trim_datetime(ret, begin);
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
