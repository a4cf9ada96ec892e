/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_EDM_VALUE_H
#define CLIENT_TEXT_EDM_VALUE_H
/* The values of properties: eight EDM types as in the service's JSON, and the canonical form of
 * each. Values are not validated: a value that its type does not allow is copied unchanged. Pure.
 *
 * Without an annotation (X@odata.type) a string is Edm.String, true and false are Edm.Boolean, an
 * integer is Edm.Int32, and another number Edm.Double. The digits of numbers are copied, because
 * printing a parsed double would round them or turn 3.0 into 3. Only their spelling is made
 * uniform (decimal.h): services and tools write 1E+300, 1e+300 or 1e300 for one number. */
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
 * annotation if the token implies the type; but a Double always has one, and so has an Int32 with
 * too many digits. The result has views of both arguments. */
struct edm_value edm_value_of(const struct json_token *token, struct bytes annotation);

/* The type that a misspelled annotation probably means: Int64, int64 and edm.int64 mean EDM_INT64.
 * EDM_OTHER: none. */
enum edm_type edm_type_meant(struct bytes annotation);

/* "Edm.Int64" for EDM_INT64; not for EDM_OTHER. */
struct bytes edm_type_name(enum edm_type type);

#define EDM_NAME_MAX_UNITS 255 /* UTF-16 units */
/* The size in bytes of the property name at the start of `text`, which is UTF-8; 0: there is none.
 * In ASCII, a name has letters, digits and underscores, and does not begin with a digit. Characters
 * beyond ASCII are not checked: the service documents C# identifiers, but accepts more. */
size_t edm_name_size(struct bytes text);
bool edm_name_is_too_long(struct bytes name);

/* Appends the value in canonical form: strings as in json_string.h, a DateTime as in
 * edm_datetime.h, a Guid in lower case, a Binary without unused bits, an Int64 as a string of
 * digits, a Double as in decimal.h or as "NaN", "Infinity", "-Infinity". */
int edm_value_append(struct buffer *ret, const struct edm_value *value);

/* Parses decimal digits, perhaps after a minus. False: anything else, or not in [min, max]. */
bool edm_integer_parse(struct bytes text, int64_t min, int64_t max, int64_t *ret);
/* Parses a JSON number in the range of a double, or NaN, Infinity, -Infinity. The byte after the
 * text must be readable, and not continue a number: a NUL, a quote or a blank, for example. */
bool edm_double_parse(struct bytes text, double *ret);
#define EDM_GUID_BYTES 16
/* Parses 8-4-4-4-12 hexadecimal digits into bytes, in the same order. */
bool edm_guid_parse(struct bytes text, unsigned char ret[EDM_GUID_BYTES]);

#endif
