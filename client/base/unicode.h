/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_UNICODE_H
#define CLIENT_BASE_UNICODE_H
/* Characters in UTF-8, CESU-8 and UTF-16. Inside the program keys are in CESU-8: each UTF-16 unit
 * is encoded separately, so that memcmp gives UTF-16 order. In names, texts and URLs they are in
 * UTF-8. A lone surrogate, 0xD800 to 0xDFFF, is a character here. CESU-8 can contain it, UTF-8
 * cannot, so names, texts and URLs each escape it in their own way. Pure. */
#include "client/base/bytes.h"

#define UNICODE_IS_SURROGATE(c) ((c) >= 0xD800 && (c) <= 0xDFFF)

/* Decodes the first character. Returns its length in bytes; 0: the input is empty or not
 * well-formed. */
size_t utf8_next(struct bytes utf8, uint32_t *ret);   /* strict: shortest form, no surrogates */
size_t cesu8_next(struct bytes cesu8, uint32_t *ret); /* a pair is one character of 6 bytes */

/* The first n bytes, without a character that would be cut; all, if there are not more than n.
 * Works also for input that is not well-formed. */
struct bytes utf8_first(struct bytes utf8, size_t n);

/* -EILSEQ: a lone surrogate; nothing is appended. */
int utf8_append(struct buffer *ret, uint32_t character);
int cesu8_append(struct buffer *ret, uint32_t character);
/* Returns the number of bytes; 0: a lone surrogate, which UTF-8 cannot contain. */
#define UTF8_MAX_BYTES  4
#define CESU8_MAX_BYTES 6
size_t utf8_encode(uint32_t character, char ret[UTF8_MAX_BYTES]);
size_t cesu8_encode(uint32_t character, char ret[CESU8_MAX_BYTES]);

/* Whole strings. -EILSEQ: the input is not well-formed, or has a character that the output cannot
 * contain. */
int utf8_append_cesu8(struct buffer *ret_utf8, struct bytes cesu8);
int cesu8_append_utf8(struct buffer *ret_cesu8, struct bytes utf8);

size_t cesu8_units(struct bytes cesu8); /* its length in UTF-16 units; the input is well-formed */

#endif
