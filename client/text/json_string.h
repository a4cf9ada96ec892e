#ifndef CLIENT_TEXT_JSON_STRING_H
#define CLIENT_TEXT_JSON_STRING_H
/* What stands between the quotes of a JSON string: read in any spelling, written in one. The
 * canonical spelling is UTF-8 with escapes only where JSON demands them, for `"`, `\` and U+0000
 * to U+001F (in short where there is a short form, else \u00xx), and for lone surrogates
 * (\udxxx), which UTF-8 cannot hold. DEL and U+0080 to U+009F stand for themselves, `/` too.
 * Pure. Input is the text of a JSON_NAME or JSON_STRING token, so it is known to be well-formed. */
#include "client/bytes.h"

/* The first character, a pair of surrogates being one and a lone one itself: its length in
 * bytes; 0 when empty. */
size_t json_string_next(struct bytes raw, uint32_t *ret);

int json_string_append_cesu8(struct buffer *ret, struct bytes raw);
/* -EILSEQ: holds a lone surrogate */
int json_string_append_utf8(struct buffer *ret, struct bytes raw);

/* In canonical spelling, without quotes; never longer than `raw`. */
int json_string_append_canonical(struct buffer *ret, struct bytes raw);

/* By code points, which is the order of UTF-8; equal strings are equal whatever their spelling. */
int json_string_compare(struct bytes a, struct bytes b);
bool json_string_is(struct bytes raw, const char *expected); /* expected: in ASCII */
/* By UTF-16 units, which is the order of CESU-8. */
int json_string_compare_cesu8(struct bytes raw, struct bytes cesu8);

size_t json_string_units(struct bytes raw); /* its length in UTF-16 units */

#endif
