/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_JSON_STRING_H
#define CLIENT_TEXT_JSON_STRING_H
/* The text between the quotes of a JSON string. It is read with any escapes, and written in one
 * canonical form: UTF-8, with escapes only for `"`, `\` and U+0000 to U+001F, as JSON demands (the
 * short form if there is one, else \u00xx), and for lone surrogates (\udxxx), which UTF-8 cannot
 * contain. DEL, U+0080 to U+009F and `/` are not escaped. Pure.
 *
 * raw: the text of a JSON_NAME or JSON_STRING token, so it is well-formed. */
#include "client/base/bytes.h"

/* Decodes the first character: a pair of surrogates, or a lone surrogate, is one character. Returns
 * its size in `raw`; 0: the text is empty. */
size_t json_string_next(struct bytes raw, uint32_t *ret);

int json_string_append_cesu8(struct buffer *ret, struct bytes raw);
/* -EILSEQ: it has a lone surrogate. */
int json_string_append_utf8(struct buffer *ret, struct bytes raw);

/* Appends the canonical form, without quotes; it is never longer than `raw`. */
int json_string_append_canonical(struct buffer *ret, struct bytes raw);
/* The same for a string in CESU-8 without escapes. -EILSEQ: it is not well-formed. */
int json_string_append_of_cesu8(struct buffer *ret, struct bytes cesu8);

/* The same for a string in UTF-8 without escapes. Bytes that are not UTF-8 are copied. */
int json_string_append_of_utf8(struct buffer *ret, struct bytes utf8);

/* Compares the decoded strings by code points, which is the order of UTF-8. */
int json_string_compare(struct bytes a, struct bytes b);
bool json_string_is(struct bytes raw, const char *expected); /* expected: in ASCII */
/* Compares by UTF-16 units, which is the order of CESU-8. */
int json_string_compare_cesu8(struct bytes raw, struct bytes cesu8);

size_t json_string_units(struct bytes raw); /* its length in UTF-16 units */

#endif
