/* SPDX-License-Identifier: MIT */
#include "client/text/json_reader.h"

#include <endian.h>

enum expected {
    EXPECT_VALUE,
    EXPECT_OBJECT,       /* the one value */
    EXPECT_VALUE_OR_END, /* after [ */
    EXPECT_NAME,
    EXPECT_NAME_OR_END, /* after { */
    EXPECT_COLON,
    EXPECT_COMMA_OR_END,
    EXPECT_BLANKS, /* after the one value */
};

enum string_part { STRING_PLAIN, STRING_CHARACTER, STRING_ESCAPE, STRING_HEX };

enum number_part {
    NUMBER_MINUS,
    NUMBER_ZERO, /* only a point or an exponent may follow a leading zero */
    NUMBER_INTEGER,
    NUMBER_POINT,
    NUMBER_FRACTION,
    NUMBER_E,
    NUMBER_SIGN,
    NUMBER_EXPONENT,
    NUMBER_OVER, /* the byte is after the number */
    NUMBER_WRONG,
};

void json_reader_init(struct json_reader *reader)
{
    *reader = (struct json_reader){.expected = EXPECT_VALUE};
}

void json_reader_init_object(struct json_reader *reader)
{
    *reader = (struct json_reader){.expected = EXPECT_OBJECT};
}

void json_reader_feed(struct json_reader *reader, struct bytes text, bool is_whole)
{
    reader->text = text;
    reader->is_whole = is_whole;
}

void json_reader_drop(struct json_reader *reader, size_t n)
{
    reader->at -= n;
    reader->token_begin -= MIN(n, reader->token_begin);
}

void json_reader_reject(struct json_reader *reader, const char *problem)
{
    if (reader->problem)
        return;
    reader->problem = problem;
    reader->at = reader->token_begin;
}

const char *json_reader_problem(const struct json_reader *reader)
{
    return reader->problem;
}

size_t json_reader_offset(const struct json_reader *reader)
{
    return reader->at;
}

size_t json_reader_left(const struct json_reader *reader)
{
    return reader->text.size - reader->at;
}

size_t json_reader_depth(const struct json_reader *reader)
{
    return reader->depth;
}

static enum json_kind fail(struct json_reader *reader, const char *problem)
{
    reader->problem = problem;
    return JSON_ERROR;
}

/* All text fed so far was read. */
static enum json_kind text_ended(struct json_reader *reader)
{
    if (reader->expected == EXPECT_BLANKS)
        return JSON_END;
    return reader->is_whole ? fail(reader, "the text ends too early") : JSON_NEED_MORE;
}

static void value_read(struct json_reader *reader)
{
    reader->expected = reader->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_BLANKS;
}

static bool is_in_object(const struct json_reader *reader)
{
    return reader->depth > 0 && (reader->objects & 1);
}

static bool is_value_expected(const struct json_reader *reader)
{
    return reader->expected == EXPECT_VALUE || reader->expected == EXPECT_VALUE_OR_END;
}

static enum json_kind open_level(struct json_reader *reader, bool is_object)
{
    if (!is_value_expected(reader) && reader->expected != EXPECT_OBJECT)
        return fail(reader, "an object or array where none can be");
    if (reader->depth == JSON_MAX_DEPTH)
        return fail(reader, "nested too deep");
    reader->objects = reader->objects << 1 | is_object;
    reader->depth++;
    reader->expected = is_object ? EXPECT_NAME_OR_END : EXPECT_VALUE_OR_END;
    reader->at++;
    return is_object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
}

/* May another member or element follow, but no bracket? */
static bool is_behind_comma(const struct json_reader *reader)
{
    return reader->expected == (is_in_object(reader) ? EXPECT_NAME : EXPECT_VALUE);
}

/* Only blanks stand after the comma, which may have been dropped. */
static enum json_kind fail_at_comma(struct json_reader *reader)
{
    do
        reader->at--;
    while (reader->at > 0 && reader->text.data[reader->at] != ',');
    return fail(reader, "a trailing comma");
}

static enum json_kind close_level(struct json_reader *reader, bool is_object)
{
    if (reader->depth > 0 && is_in_object(reader) == is_object && is_behind_comma(reader))
        return fail_at_comma(reader);
    bool may_end = reader->expected == EXPECT_COMMA_OR_END ||
                   reader->expected == EXPECT_NAME_OR_END ||
                   reader->expected == EXPECT_VALUE_OR_END;
    if (!may_end || is_in_object(reader) != is_object)
        return fail(reader, "a bracket that closes nothing");
    reader->objects >>= 1;
    reader->depth--;
    value_read(reader);
    reader->at++;
    return is_object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static bool take_separator(struct json_reader *reader, char c)
{
    if (reader->expected != (c == ',' ? EXPECT_COMMA_OR_END : EXPECT_COLON))
        return false;
    reader->expected = c == ',' && is_in_object(reader) ? EXPECT_NAME : EXPECT_VALUE;
    reader->at++;
    return true;
}

/* A byte order mark, with which some editors begin a text. False: its first byte is followed by
 * another one. */
static bool skip_mark(struct json_reader *reader)
{
    static const char mark[] = JSON_BYTE_ORDER_MARK;
    const size_t size = sizeof(mark) - 1;
    struct bytes text = reader->text;
    if (reader->at >= size || text.size == 0 || text.data[0] != mark[0])
        return true;
    while (reader->at < MIN(size, text.size) && text.data[reader->at] == mark[reader->at])
        reader->at++;
    return reader->at == MIN(size, text.size);
}

size_t json_count_blanks(struct bytes text)
{
    size_t n = 0;
    for (; n < text.size; n++) {
        char c = text.data[n];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            break;
    }
    return n;
}

static enum json_kind scalar_kind(char c)
{
    switch (c) {
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_ERROR;
    }
}

static uint8_t first_part(enum json_kind kind, char c)
{
    if (kind == JSON_STRING)
        return STRING_PLAIN;
    if (kind != JSON_NUMBER)
        return 1; /* letter of true, false or null */
    return c == '-' ? NUMBER_MINUS : c == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
}

/* Takes the first byte of a name or scalar. Returns JSON_NEED_MORE and sets reader->inside. */
static enum json_kind begin_scalar(struct json_reader *reader, char c)
{
    enum json_kind kind = scalar_kind(c);
    bool is_name = reader->expected == EXPECT_NAME || reader->expected == EXPECT_NAME_OR_END;
    if (is_name && kind != JSON_STRING)
        return fail(reader, "a property name is expected here");
    if (kind == JSON_ERROR)
        return fail(reader, "no JSON value begins so");
    if (!is_name && !is_value_expected(reader))
        return fail(reader, "a value where none can be");
    reader->inside = is_name ? JSON_NAME : (uint8_t)kind;
    reader->part = first_part(kind, c);
    reader->has_escapes = false;
    reader->at++;
    return JSON_NEED_MORE;
}

/* Reads up to a bracket, or into a name or scalar; then returns JSON_NEED_MORE and sets
 * reader->inside. */
static enum json_kind read_outside(struct json_reader *reader)
{
    if (!skip_mark(reader))
        return fail(reader, "no JSON value begins so");
    for (;;) {
        reader->at += json_count_blanks(bytes_skip(reader->text, reader->at));
        if (reader->at == reader->text.size)
            return text_ended(reader);
        reader->token_begin = reader->at;
        char c = reader->text.data[reader->at];
        if (reader->expected == EXPECT_OBJECT && c != '{')
            return fail(reader, "not a JSON object");
        switch (c) {
        case ',':
        case ':':
            if (!take_separator(reader, c))
                return fail(reader, "a separator where none can be");
            break;
        case '{':
        case '[':
            return open_level(reader, c == '{');
        case '}':
        case ']':
            return close_level(reader, c == '}');
        default:
            return begin_scalar(reader, c);
        }
    }
}

/* Takes the first byte of a UTF-8 character. Sets how many bytes follow, and the bounds of the
 * next one, which exclude overlong forms, surrogates and characters above U+10FFFF. */
static const char *begin_character(struct json_reader *reader, unsigned char c)
{
    if (c < 0xC2 || c > 0xF4)
        return "not UTF-8";
    reader->part = STRING_CHARACTER;
    reader->missing = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    reader->least = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    reader->most = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return NULL;
}

static void take_missing(struct json_reader *reader)
{
    if (--reader->missing == 0)
        reader->part = STRING_PLAIN;
}

static const char *continue_character(struct json_reader *reader, unsigned char c)
{
    if (c < reader->least || c > reader->most)
        return "not UTF-8";
    reader->least = 0x80;
    reader->most = 0xBF;
    take_missing(reader);
    return NULL;
}

static const char *take_escape(struct json_reader *reader, unsigned char c)
{
    if (c == 0 || !strchr("\"\\/bfnrtu", c))
        return "no such escape";
    reader->part = c == 'u' ? STRING_HEX : STRING_PLAIN;
    reader->missing = 4;
    return NULL;
}

static const char *take_hex(struct json_reader *reader, unsigned char c)
{
    unsigned char letter = c | 0x20;
    if (!(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'f'))
        return "not a hexadecimal digit";
    take_missing(reader);
    return NULL;
}

/* Takes a byte of a string that is neither plain nor its end. */
static const char *take_string_byte(struct json_reader *reader, unsigned char c)
{
    switch ((enum string_part)reader->part) {
    case STRING_CHARACTER:
        return continue_character(reader, c);
    case STRING_ESCAPE:
        return take_escape(reader, c);
    case STRING_HEX:
        return take_hex(reader, c);
    case STRING_PLAIN:
    default:
        break;
    }
    if (c < 0x20)
        return "a control character in a string";
    if (c != '\\')
        return begin_character(reader, c);
    reader->part = STRING_ESCAPE;
    reader->has_escapes = true;
    return NULL;
}

/* Marks each of eight bytes that is not a plain character of a string; the first byte has the
 * lowest bits. Marks after the first one may be wrong. */
static uint64_t other_bytes(const char *data)
{
    static const uint64_t ones = 0x0101010101010101;
    uint64_t word;
    memcpy(&word, data, sizeof(word));
    word = le64toh(word);
    uint64_t is_control = word - ones * 0x20;
    uint64_t is_quote = (word ^ ones * '"') - ones;
    uint64_t is_backslash = (word ^ ones * '\\') - ones;
    return (is_control | is_quote | is_backslash | word) & ones * 0x80;
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* The offset after the plain characters from `at` on. Reads eight bytes at once, because most of a
 * text is strings. */
static size_t skip_plain(struct bytes text, size_t at)
{
    while (text.size - at >= 8) {
        uint64_t others = other_bytes(text.data + at);
        if (others)
            return at + (size_t)__builtin_ctzll(others) / 8;
        at += 8;
    }
    while (at < text.size && is_plain(text.data[at]))
        at++;
    return at;
}

static enum json_kind read_string(struct json_reader *reader)
{
    for (;; reader->at++) {
        if (reader->part == STRING_PLAIN)
            reader->at = skip_plain(reader->text, reader->at);
        if (reader->at == reader->text.size)
            return text_ended(reader);
        unsigned char c = (unsigned char)reader->text.data[reader->at];
        if (c == '"' && reader->part == STRING_PLAIN)
            break;
        const char *problem = take_string_byte(reader, c);
        if (problem)
            return fail(reader, problem);
    }
    reader->at++;
    return reader->inside;
}

static enum number_part after_integer(unsigned char c)
{
    return c == '.' ? NUMBER_POINT : (c | 0x20) == 'e' ? NUMBER_E : NUMBER_OVER;
}

static enum number_part number_step(enum number_part part, unsigned char c)
{
    bool is_digit = c >= '0' && c <= '9';
    switch (part) {
    case NUMBER_MINUS:
        return c == '0' ? NUMBER_ZERO : is_digit ? NUMBER_INTEGER : NUMBER_WRONG;
    case NUMBER_ZERO:
        return after_integer(c);
    case NUMBER_INTEGER:
        return is_digit ? NUMBER_INTEGER : after_integer(c);
    case NUMBER_POINT:
        return is_digit ? NUMBER_FRACTION : NUMBER_WRONG;
    case NUMBER_FRACTION:
        return is_digit ? NUMBER_FRACTION : (c | 0x20) == 'e' ? NUMBER_E : NUMBER_OVER;
    case NUMBER_E:
        if (c == '+' || c == '-')
            return NUMBER_SIGN;
        return is_digit ? NUMBER_EXPONENT : NUMBER_WRONG;
    case NUMBER_SIGN:
        return is_digit ? NUMBER_EXPONENT : NUMBER_WRONG;
    case NUMBER_EXPONENT:
        return is_digit ? NUMBER_EXPONENT : NUMBER_OVER;
    case NUMBER_OVER:
    case NUMBER_WRONG:
    default:
        return NUMBER_WRONG;
    }
}

static enum json_kind read_number(struct json_reader *reader)
{
    for (; reader->at < reader->text.size; reader->at++) {
        unsigned char c = (unsigned char)reader->text.data[reader->at];
        enum number_part next = number_step(reader->part, c);
        if (next == NUMBER_OVER)
            return JSON_NUMBER;
        if (next == NUMBER_WRONG)
            return fail(reader, "not a number");
        reader->part = (uint8_t)next;
    }
    /* could a blank end the number here? */
    bool may_end = reader->is_whole && number_step(reader->part, ' ') == NUMBER_OVER;
    return may_end ? JSON_NUMBER : text_ended(reader);
}

static enum json_kind read_literal(struct json_reader *reader)
{
    const char *literal = reader->inside == JSON_TRUE    ? "true"
                          : reader->inside == JSON_FALSE ? "false"
                                                         : "null";
    for (; literal[reader->part] != '\0'; reader->part++) {
        if (reader->at == reader->text.size)
            return text_ended(reader);
        if (reader->text.data[reader->at] != literal[reader->part])
            return fail(reader, "neither true, false nor null");
        reader->at++;
    }
    return reader->inside;
}

static enum json_kind read_inside(struct json_reader *reader)
{
    enum json_kind kind = reader->inside == JSON_NAME || reader->inside == JSON_STRING
                              ? read_string(reader)
                          : reader->inside == JSON_NUMBER ? read_number(reader)
                                                          : read_literal(reader);
    if (kind < JSON_OBJECT_BEGIN)
        return kind;
    reader->inside = 0;
    if (kind == JSON_NAME)
        reader->expected = EXPECT_COLON;
    else
        value_read(reader);
    return kind;
}

static void fill_token(const struct json_reader *reader, enum json_kind kind,
                       struct json_token *ret)
{
    size_t quote = kind == JSON_NAME || kind == JSON_STRING;
    ret->kind = kind;
    ret->has_escapes = quote && reader->has_escapes;
    ret->is_integer =
        kind == JSON_NUMBER && (reader->part == NUMBER_ZERO || reader->part == NUMBER_INTEGER);
    ret->text.data = reader->text.data + reader->token_begin + quote;
    ret->text.size = reader->at - reader->token_begin - 2 * quote;
}

enum json_kind json_reader_next(struct json_reader *reader, struct json_token *ret)
{
    if (reader->problem)
        return JSON_ERROR;
    enum json_kind kind = JSON_NEED_MORE;
    if (!reader->inside)
        kind = read_outside(reader);
    if (kind == JSON_NEED_MORE && reader->inside)
        kind = read_inside(reader);
    if (kind >= JSON_OBJECT_BEGIN)
        fill_token(reader, kind, ret);
    return kind;
}

enum json_kind json_reader_skip_rest(struct json_reader *reader)
{
    struct json_token token;
    enum json_kind kind;
    uint8_t depth = reader->depth;
    do
        kind = json_reader_next(reader, &token);
    while (kind >= JSON_OBJECT_BEGIN && reader->depth >= depth);
    return kind;
}

enum json_kind json_reader_skip(struct json_reader *reader)
{
    struct json_token token;
    enum json_kind kind = json_reader_next(reader, &token);
    bool is_nested = kind == JSON_OBJECT_BEGIN || kind == JSON_ARRAY_BEGIN;
    return is_nested ? json_reader_skip_rest(reader) : kind;
}

bool json_breaks_off(struct bytes text)
{
    struct json_reader reader;
    struct json_token token;
    enum json_kind kind;
    json_reader_init_object(&reader);
    json_reader_feed(&reader, text, true);
    do {
        kind = json_reader_next(&reader, &token);
    } while (kind != JSON_ERROR && kind != JSON_END);
    return kind == JSON_ERROR && bytes_trim(text).size > 0 && json_reader_left(&reader) == 0;
}
