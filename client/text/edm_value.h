#ifndef CLIENT_TEXT_EDM_VALUE_H
#define CLIENT_TEXT_EDM_VALUE_H
/* The values of a property: eight EDM types in the JSON of the service, and the one way in which
 * each is written here. Nothing is judged: a value that its type does not allow is copied as it
 * came. Pure.
 *
 * Without an annotation a string is Edm.String, true and false Edm.Boolean, an integer
 * Edm.Int32, any other number Edm.Double. Digits are copied, never printed again from a double,
 * which would round them or turn 3.0 into 3. */
#include "client/text/json_reader.h"

enum edm_type {
    EDM_STRING,
    EDM_BOOLEAN,
    EDM_INT32,
    EDM_INT64,
    EDM_DOUBLE,
    EDM_DATETIME,
    EDM_GUID,
    EDM_BINARY,
    EDM_OTHER, /* a type that we do not know */
};

struct edm_value {
    enum edm_type type;
    struct json_token token; /* a scalar, not null */
    struct bytes annotation; /* in canonical spelling; data NULL: the token alone says the type */
};

/* `annotation`: of X@odata.type, in canonical spelling; data NULL: none. One that says what the
 * token says by itself is left out of the value; a Double without one gets it. Views of both
 * stay in the value. */
struct edm_value edm_value_of(const struct json_token *token, struct bytes annotation);

#define EDM_NAME_MAX_BYTES 255
/* How many bytes at the begin of `text` can be a property's name: ASCII letters, digits and
 * underscores, the first no digit. */
size_t edm_name_size(struct bytes text);

/* The value in canonical form: JSON as json_string.h spells it, a DateTime without zeros at the
 * end of its fraction, a Guid in lower case, an Int64 as a string. */
int edm_value_append(struct buffer *ret, const struct edm_value *value);

/* `YYYY-MM-DDThh:mm:ss[.1 to 7 digits]Z`, 1601 to 9999, in 100 ns since 1970. Strict: false for
 * anything else. */
bool edm_datetime_parse(struct bytes text, int64_t *ret);
/* Decimal digits, a minus before them or not; false for anything else, and outside min..max. */
bool edm_integer_parse(struct bytes text, int64_t min, int64_t max, int64_t *ret);
/* A number in JSON's form that a double can hold, or NaN, Infinity, -Infinity. The byte behind the
 * text is read: a NUL, a quote, a blank, whatever cannot go on with a number. */
bool edm_double_parse(struct bytes text, double *ret);
#define EDM_GUID_BYTES 16
/* 8-4-4-4-12 hexadecimal digits, in their order. */
bool edm_guid_parse(struct bytes text, unsigned char ret[EDM_GUID_BYTES]);

#endif
