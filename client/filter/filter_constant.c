/* SPDX-License-Identifier: MIT */
#include "client/filter/filter_constant.h"
#include "client/base/unicode.h"
#include "client/text/base64.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

#include <math.h>

void filter_constant_finish(struct filter_constant *constant)
{
    buffer_finish(&constant->bytes);
}

/* Parsers of the text between quotes. -EINVAL: not a constant of the type. */

static int read_string(struct bytes text, struct filter_constant *ret)
{
    for (;;) {
        const char *quote = bytes_find(text, BYTES_LITERAL("'"));
        /* a doubled quote is copied once */
        size_t n = quote ? (size_t)(quote - text.data) + 1 : text.size;
        int r = cesu8_append_utf8(&ret->bytes, bytes_first(text, n));
        if (r < 0)
            return r == -EILSEQ ? -EINVAL : r;
        if (!quote)
            return 0;
        text = bytes_skip(text, n + 1);
    }
}

static int read_datetime(struct bytes text, struct filter_constant *ret)
{
    return edm_datetime_parse(text, &ret->integer) ? 0 : -EINVAL;
}

static int read_guid(struct bytes text, struct filter_constant *ret)
{
    unsigned char guid[EDM_GUID_BYTES];
    if (!edm_guid_parse(text, guid))
        return -EINVAL;
    return buffer_append(&ret->bytes, (struct bytes){(const char *)guid, sizeof(guid)});
}

static int read_binary(struct bytes text, struct filter_constant *ret)
{
    if (text.size % 2 != 0)
        return -EINVAL;
    for (size_t i = 0; i < text.size; i += 2) {
        int byte = hex_byte_value(text.data + i);
        if (byte < 0)
            return -EINVAL;
        (void)buffer_append_char(&ret->bytes, (char)byte);
    }
    return ret->bytes.error;
}

static const struct form {
    struct bytes begin;
    enum edm_type type;
    int (*read)(struct bytes text, struct filter_constant *ret);
    const char *problem;
} forms[] = {
    {BYTES_LITERAL("'"), EDM_STRING, read_string, "a string that is not UTF-8"},
    {BYTES_LITERAL("datetime'"), EDM_DATETIME, read_datetime,
     "no time such as datetime'2012-11-10T03:04:05.2Z' or datetime'2012-11-10'"},
    {BYTES_LITERAL("guid'"), EDM_GUID, read_guid,
     "no Guid of the form guid'c9da6455-213d-42c9-9a79-3e9149a57833'"},
    {BYTES_LITERAL("X'"), EDM_BINARY, read_binary, "not hexadecimal digits in pairs"},
    {BYTES_LITERAL("binary'"), EDM_BINARY, read_binary, "not hexadecimal digits in pairs"},
};

/* The size up to the closing quote, the first that is not doubled. False: there is none. */
static bool quoted_size(struct bytes text, size_t *ret)
{
    for (size_t i = 0; i < text.size; i++) {
        bool is_quote = text.data[i] == '\'';
        if (is_quote && (i + 1 == text.size || text.data[i + 1] != '\'')) {
            *ret = i;
            return true;
        }
        i += is_quote;
    }
    return false;
}

static int read_quoted(const struct form *form, struct bytes *text, struct filter_constant *ret,
                       const char **ret_problem)
{
    size_t size;
    struct bytes rest = bytes_skip(*text, form->begin.size);
    if (!quoted_size(rest, &size)) {
        *ret_problem = "a quote that is not closed";
        return -EINVAL;
    }
    ret->type = form->type;
    int r = form->read(bytes_first(rest, size), ret);
    if (r < 0) {
        *ret_problem = form->problem;
        return r;
    }
    *text = bytes_skip(rest, size + 1);
    return 1;
}

/* A number with all letters, digits, points and signs that follow it. */
static struct bytes number_span(struct bytes text)
{
    size_t n = 0;
    for (; n < text.size; n++) {
        char c = text.data[n], lower = (char)(c | 0x20);
        bool is_letter_or_digit = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!is_letter_or_digit && c != '.' && c != '-' && c != '+')
            break;
    }
    return bytes_first(text, n);
}

static bool is_integer(struct bytes text)
{
    size_t sign = text.data[0] == '-', n = sign;
    while (n < text.size && text.data[n] >= '0' && text.data[n] <= '9')
        n++;
    return n > sign && n == text.size;
}

static const char *parse_number(struct bytes text, struct filter_constant *ret)
{
    if (bytes_end_with(text, BYTES_LITERAL("L"))) {
        ret->type = EDM_INT64;
        text.size--;
        bool is_good = edm_integer_parse(text, INT64_MIN, INT64_MAX, &ret->integer);
        return is_good ? NULL : "no integer of 64 bits";
    }
    if (is_integer(text)) {
        ret->type = EDM_INT32;
        bool is_good = edm_integer_parse(text, INT32_MIN, INT32_MAX, &ret->integer);
        return is_good ? NULL : "an integer beyond 32 bits, which must end in L";
    }
    ret->type = EDM_DOUBLE;
    bool is_good = edm_double_parse(text, &ret->number) && isfinite(ret->number);
    return is_good ? NULL : "not a number";
}

static int read_number(struct bytes *text, struct filter_constant *ret, const char **ret_problem)
{
    struct bytes span = number_span(*text);
    const char *problem = parse_number(span, ret);
    if (problem) {
        *ret_problem = problem;
        return -EINVAL;
    }
    *text = bytes_skip(*text, span.size);
    return 1;
}

static bool read_boolean(struct bytes *text, struct filter_constant *ret)
{
    struct bytes word = bytes_first(*text, edm_name_size(*text));
    bool is_true = bytes_equal(word, BYTES_LITERAL("true"));
    if (!is_true && !bytes_equal(word, BYTES_LITERAL("false")))
        return false;
    ret->type = EDM_BOOLEAN;
    ret->integer = is_true;
    *text = bytes_skip(*text, word.size);
    return true;
}

static int read_any(struct bytes *text, struct filter_constant *ret, const char **ret_problem)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        if (bytes_start_with(*text, forms[i].begin))
            return read_quoted(&forms[i], text, ret, ret_problem);
    if (text->size > 0 && text->data[0] != '\0' && strchr("+-.0123456789", text->data[0]))
        return read_number(text, ret, ret_problem);
    return read_boolean(text, ret);
}

int filter_constant_read(struct bytes *text, struct filter_constant *ret, const char **ret_problem)
{
    _cleanup_(filter_constant_finish) struct filter_constant constant = {.type = EDM_OTHER};
    buffer_init(&constant.bytes, text->size * 2); /* CESU-8 takes six bytes for UTF-8's four */
    int r = read_any(text, &constant, ret_problem);
    if (r <= 0)
        return r;
    *ret = constant;
    buffer_init(&constant.bytes, 0);
    return 1;
}

static enum filter_order order_of(int64_t a, int64_t b)
{
    return a < b ? FILTER_LESS : a > b ? FILTER_GREATER : FILTER_EQUAL;
}

struct number {
    bool is_integer;
    int64_t integer;
    double real;
};

static enum filter_order order_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return FILTER_UNORDERED;
    return a < b ? FILTER_LESS : a > b ? FILTER_GREATER : FILTER_EQUAL;
}

/* Not compared as doubles, which cannot represent every integer above 2^53. */
static enum filter_order order_mixed(int64_t integer, double real)
{
    if (isnan(real))
        return FILTER_UNORDERED;
    static const double end = 9223372036854775808.0; /* 2^63: every integer is less */
    if (real >= end)
        return FILTER_LESS;
    if (real < -end)
        return FILTER_GREATER;
    int64_t whole = (int64_t)real;
    if (integer != whole)
        return order_of(integer, whole);
    return order_doubles((double)whole,
                         real); /* equal, or the double is small and has a fraction */
}

static enum filter_order reversed(enum filter_order order)
{
    return order == FILTER_LESS ? FILTER_GREATER : order == FILTER_GREATER ? FILTER_LESS : order;
}

static enum filter_order order_numbers(const struct number *a, const struct number *b)
{
    if (a->is_integer && b->is_integer)
        return order_of(a->integer, b->integer);
    if (a->is_integer)
        return order_mixed(a->integer, b->real);
    if (b->is_integer)
        return reversed(order_mixed(b->integer, a->real));
    return order_doubles(a->real, b->real);
}

static bool is_number(enum edm_type type)
{
    return type == EDM_INT32 || type == EDM_INT64 || type == EDM_DOUBLE;
}

static enum filter_order order_number(const struct filter_constant *constant,
                                      const struct edm_value *value)
{
    struct bytes text = value->token.text;
    struct number b = {constant->type != EDM_DOUBLE, constant->integer, constant->number};
    struct number a = {.is_integer = value->type != EDM_DOUBLE};
    bool is_good = a.is_integer ? edm_integer_parse(text, INT64_MIN, INT64_MAX, &a.integer)
                                : edm_double_parse(text, &a.real);
    return is_good ? order_numbers(&a, &b) : FILTER_OTHER_TYPE;
}

static enum filter_order order_guid(const struct filter_constant *constant, struct bytes text)
{
    unsigned char guid[EDM_GUID_BYTES];
    if (!edm_guid_parse(text, guid))
        return FILTER_OTHER_TYPE;
    return order_of(memcmp(guid, constant->bytes.data, sizeof(guid)), 0);
}

static enum filter_order order_binary(const struct filter_constant *constant, struct bytes base64)
{
    size_t size;
    struct bytes bytes = buffer_bytes(&constant->bytes);
    if (!base64_decoded_size(base64, &size))
        return FILTER_OTHER_TYPE;
    for (; base64.size > 0; base64 = bytes_skip(base64, 4)) {
        unsigned char group[3];
        size_t n = base64_decode(bytes_first(base64, 4), group), common = MIN(n, bytes.size);
        int order = common > 0 ? memcmp(group, bytes.data, common) : 0;
        if (order != 0 || common < n)
            return order < 0 ? FILTER_LESS : FILTER_GREATER;
        bytes = bytes_skip(bytes, n);
    }
    return bytes.size > 0 ? FILTER_LESS : FILTER_EQUAL;
}

/* For types whose values are strings in JSON. */
static enum filter_order order_text(const struct filter_constant *constant, struct bytes text)
{
    int64_t time;
    switch ((int)constant->type) {
    case EDM_STRING:
        return order_of(json_string_compare_cesu8(text, buffer_bytes(&constant->bytes)), 0);
    case EDM_DATETIME:
        return edm_datetime_parse(text, &time) ? order_of(time, constant->integer)
                                               : FILTER_OTHER_TYPE;
    case EDM_GUID:
        return order_guid(constant, text);
    default:
        return order_binary(constant, text);
    }
}

enum filter_order filter_constant_order(const struct filter_constant *constant,
                                        const struct edm_value *value)
{
    enum json_kind kind = value->token.kind;
    if (is_number(constant->type) && is_number(value->type))
        return order_number(constant, value);
    if (constant->type != value->type)
        return FILTER_OTHER_TYPE;
    if (constant->type == EDM_BOOLEAN && (kind == JSON_TRUE || kind == JSON_FALSE))
        return order_of(kind == JSON_TRUE, constant->integer);
    if (constant->type != EDM_BOOLEAN && kind == JSON_STRING)
        return order_text(constant, value->token.text);
    return FILTER_OTHER_TYPE;
}

enum filter_order filter_constant_order_key(const struct filter_constant *constant,
                                            struct bytes key)
{
    if (constant->type != EDM_STRING)
        return FILTER_OTHER_TYPE;
    return order_of(bytes_compare(key, buffer_bytes(&constant->bytes)), 0);
}

enum filter_order filter_constant_order_time(const struct filter_constant *constant, int64_t time)
{
    return constant->type == EDM_DATETIME ? order_of(time, constant->integer) : FILTER_OTHER_TYPE;
}
