/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_JSON_READER_H
#define CLIENT_TEXT_JSON_READER_H
/* Reads JSON tokens (RFC 8259, strict) from a text that may arrive in pieces. A byte order mark at
 * its start is skipped. No recursion and no allocation: all state is in the struct, so a reader can
 * stop after any byte, and resume when more text has arrived. Pure, one thread.
 *
 *     json_reader_init(&reader);
 *     json_reader_feed(&reader, text, true);
 *     while ((kind = json_reader_next(&reader, &token)) >= JSON_OBJECT_BEGIN) ...
 *
 * For a text in pieces, feed everything received so far, and read until JSON_NEED_MORE or JSON_END.
 * An error is found at the first byte after which the text cannot become JSON, independent of the
 * pieces. */
#include "client/base/bytes.h"

#define JSON_MAX_DEPTH 32

#define JSON_BYTE_ORDER_MARK "\xEF\xBB\xBF" /* U+FEFF */

enum json_kind {
    JSON_NEED_MORE, /* the text so far is the beginning of a value */
    JSON_END,       /* the text is one value and blanks; more text may be an error */
    JSON_ERROR,     /* the text cannot become a value; every further call returns this */
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_NAME, /* of a member; its value follows */
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json_token {
    enum json_kind kind;
    bool has_escapes;  /* of a name or string: json_string.h decodes them */
    bool is_integer;   /* of a number: it has no point and no exponent */
    struct bytes text; /* a view of the last fed text; a name or string without its quotes */
};

struct json_reader { /* private to json_reader.c */
    struct bytes text;
    size_t at, token_begin;
    const char *problem;
    uint32_t objects; /* a bit for each open level: 1: an object, 0: an array */
    uint8_t depth;
    uint8_t expected;    /* enum expected: what the grammar allows next */
    uint8_t inside;      /* enum json_kind of the name or scalar that is being read, 0: none */
    uint8_t part;        /* where in it: enum string_part, enum number_part, or letters read */
    uint8_t missing;     /* bytes of this character or escape */
    uint8_t least, most; /* bounds of a character's next byte */
    bool is_whole, has_escapes;
};

void json_reader_init(struct json_reader *reader);
/* For a text that must be one object: its first byte is an error if it begins another value. */
void json_reader_init_object(struct json_reader *reader);
/* `text`: the whole text so far, from its first byte; its address may have changed. The caller
 * keeps it unchanged while tokens are read. `is_whole`: no more text will follow, so the reader
 * returns JSON_ERROR instead of JSON_NEED_MORE. */
void json_reader_feed(struct json_reader *reader, struct bytes text, bool is_whole);
/* From now on the text is fed without its first n bytes. They were read, and so were at least three
 * bytes after them. If a token begins in them, its view begins later. */
void json_reader_drop(struct json_reader *reader, size_t n);
/* ret is set if the result is a token: JSON_OBJECT_BEGIN or greater. */
enum json_kind json_reader_next(struct json_reader *reader, struct json_token *ret);
/* Skips the rest of the object or array whose begin was the last token. Returns the kind of its
 * last token. */
enum json_kind json_reader_skip_rest(struct json_reader *reader);
/* Skips the next value, with the content of an object or array. Returns the kind of its last token.
 * Only for whole texts. */
enum json_kind json_reader_skip(struct json_reader *reader);

/* For a caller that expected another token: makes the last token an error, so that every further
 * call returns JSON_ERROR. */
void json_reader_reject(struct json_reader *reader, const char *problem);
/* After JSON_ERROR: the reason, a static text. */
const char *json_reader_problem(const struct json_reader *reader);
/* After JSON_ERROR: the offset of the wrong byte (of a trailing comma: that of the comma, not of
 * the bracket after it). Before: the offset of the end of the last token. */
size_t json_reader_offset(const struct json_reader *reader);
size_t json_reader_left(const struct json_reader *reader); /* bytes fed but not read */
size_t json_count_blanks(struct bytes text); /* size of the JSON whitespace at its start */
/* How many objects and arrays are open: 0 after the last bracket of a value. So a caller can stop
 * there and read what follows as another value. */
size_t json_reader_depth(const struct json_reader *reader);

/* Is it the start of an object, as an answer that was cut on the way is? Not for blanks alone. */
bool json_breaks_off(struct bytes text);

#endif
