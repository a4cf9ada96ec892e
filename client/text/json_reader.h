#ifndef CLIENT_TEXT_JSON_READER_H
#define CLIENT_TEXT_JSON_READER_H
/* JSON tokens (RFC 8259, strict), pulled from a text that may arrive in pieces. No recursion and
 * no allocation: all state is in the struct, so a reader can stop after any byte and go on when
 * more has come. Pure, one thread.
 *
 *     json_reader_init(&reader);
 *     json_reader_feed(&reader, text, true);
 *     while ((kind = json_reader_next(&reader, &token)) >= JSON_OBJECT_BEGIN) ...
 *
 * A text in pieces is fed as everything so far, and asked until JSON_NEED_MORE or JSON_END. An
 * error is found at the first byte after which no continuation can be JSON, whatever the pieces
 * were. */
#include "client/bytes.h"

#define JSON_MAX_DEPTH 32

enum json_kind {
    JSON_NEED_MORE, /* could still become a value */
    JSON_END,   /* one value, and nothing but blanks behind it so far; more may make it an error */
    JSON_ERROR, /* can never become one value; sticks */
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_NAME, /* of a member; its value comes next */
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

struct json_token {
    enum json_kind kind;
    bool has_escapes;  /* names and strings: json_string.h reads them */
    bool is_integer;   /* numbers: neither a point nor an exponent */
    struct bytes text; /* a view of what was fed last; names and strings without their quotes */
};

struct json_reader { /* private to json_reader.c */
    struct bytes text;
    size_t at, token_begin;
    const char *problem;
    uint32_t objects; /* a bit for each open level: is it an object */
    uint8_t depth;
    uint8_t expected;    /* enum expected: what the grammar allows next */
    uint8_t inside;      /* enum json_kind of the name or scalar that is being read, 0: none */
    uint8_t part;        /* where in it: enum string_part, enum number_part, or letters read */
    uint8_t missing;     /* bytes of this character or escape */
    uint8_t least, most; /* bounds of a character's next byte */
    bool is_whole, has_escapes;
};

void json_reader_init(struct json_reader *reader);
/* `text`: everything from the first byte on, what was fed before and perhaps more; it may have
 * moved, and stays the caller's, unchanged while tokens are read. `is_whole`: nothing will
 * follow, so JSON_NEED_MORE becomes JSON_ERROR. */
void json_reader_feed(struct json_reader *reader, struct bytes text, bool is_whole);
/* ret is written when a token is answered: JSON_OBJECT_BEGIN and above. */
enum json_kind json_reader_next(struct json_reader *reader, struct json_token *ret);
/* Reads the one value that comes next, nested ones with all they hold. Its last token's kind.
 * For whole texts. */
enum json_kind json_reader_skip(struct json_reader *reader);
/* Reads the value that comes next if it is of this kind; of an object or array its begin alone.
 * Else skips it, and answers false. For whole texts. */
bool json_reader_take(struct json_reader *reader, enum json_kind kind, struct json_token *ret);

/* Makes the last token an error, for who expected another: the reader answers JSON_ERROR from
 * now on. */
void json_reader_reject(struct json_reader *reader, const char *problem);
/* Of JSON_ERROR: why, a static text, and where: the bytes before the wrong one. */
const char *json_reader_problem(const struct json_reader *reader);
size_t json_reader_offset(const struct json_reader *reader);
size_t json_reader_left(const struct json_reader *reader); /* bytes that were fed and not read */

#endif
