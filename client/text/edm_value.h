/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_EDM_VALUE_H
#define CLIENT_TEXT_EDM_VALUE_H
/* The values of properties: eight EDM types as the service's JSON has them, and the canonical form
 * of each. Values are not validated: one that its type does not allow is copied unchanged. Pure.
 *
 * Without an annotation a string is Edm.String, true and false are Edm.Boolean, an integer is
 * Edm.Int32, any other number Edm.Double. The digits of numbers are copied: printing a parsed
 * double would round them or turn 3.0 into 3. Only their spelling is made one (decimal.h), because
 * services and tools differ in it: 1E+300, 1e+300 and 1e300 are the same text. */
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
    EDM_OTHER, /* an unknown type */
};

struct edm_value {
    enum edm_type type;
    struct json_token token; /* a scalar, not null */
    struct bytes annotation; /* in canonical form; data NULL: the token implies the type */
};

/* `annotation`: the value of X@odata.type in canonical form; data NULL: none. The result has no
 * annotation if the token implies the type, except that a Double always has one, and an Int32 that
 * is too long for its type. It has views of both arguments. */
struct edm_value edm_value_of(const struct json_token *token, struct bytes annotation);

/* The type that an annotation of another one means: Int64, int64 and edm.int64 mean EDM_INT64.
 * EDM_OTHER: it is near to none. */
enum edm_type edm_type_meant(struct bytes annotation);

/* "Edm.Int64" of EDM_INT64; not of EDM_OTHER. */
struct bytes edm_type_name(enum edm_type type);

#define EDM_NAME_MAX_UNITS 255 /* UTF-16 units */
/* The length in bytes of the property name at the begin of `text`, which is UTF-8. Of ASCII it has
 * letters, digits and underscores, the first character not a digit. Characters beyond ASCII are
 * left to the service, which documents C# identifiers and takes more. 0: there is none. */
size_t edm_name_size(struct bytes text);
bool edm_name_is_too_long(struct bytes name);

/* Appends the value in canonical form: strings as in json_string.h, a DateTime as in
 * edm_datetime.h, a Guid in lower case, a Binary without unused bits, an Int64 as a string of
 * digits, a Double as in decimal.h or as "NaN", "Infinity", "-Infinity". */
int edm_value_append(struct buffer *ret, const struct edm_value *value);

/* Decimal digits, perhaps after a minus; false for anything else, and outside min..max. */
bool edm_integer_parse(struct bytes text, int64_t min, int64_t max, int64_t *ret);
/* A JSON number in the range of a double, or NaN, Infinity, -Infinity. The byte after the text is
 * read, and must not continue a number: a NUL, a quote or a blank, for example. */
bool edm_double_parse(struct bytes text, double *ret);
#define EDM_GUID_BYTES 16
/* 8-4-4-4-12 hexadecimal digits, as bytes in the same order. */
bool edm_guid_parse(struct bytes text, unsigned char ret[EDM_GUID_BYTES]);

#endif
