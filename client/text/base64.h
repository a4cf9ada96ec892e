/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_BASE64_H
#define CLIENT_TEXT_BASE64_H
/* Decoding of base64 as the service writes it: the alphabet with + and /, padded with = to groups
 * of four. Strict: blanks, line ends and the URL alphabet (- and _) are refused. The unused bits of
 * the last digit may be set, as the service accepts them: "AB==" is the byte of "AA==". Pure. */
#include "client/base/bytes.h"

/* How many bytes `base64` decodes to; false: it is not base64. Empty text decodes to no bytes. */
bool base64_decoded_size(struct bytes base64, size_t *ret);

/* Decodes a text that base64_decoded_size has accepted, or some whole groups of it; at most INT_MAX
 * bytes. `ret` has room for 3 bytes for each group of 4. Returns the decoded size; the bytes of
 * `ret` after it are zero. */
size_t base64_decode(struct bytes base64, unsigned char *ret);

/* Sets the unused bits of the last digit to 0: "AB==" becomes "AA==". Other text is not changed. */
void base64_clear_unused(char *base64, size_t size);

/* The URL alphabet, with - and _, without padding. Appends what `text` decodes to. 0; -EINVAL: it
 * is not base64url; or the buffer's error. The working copy is overwritten, as that of a secret. */
int base64url_append_decoded(struct buffer *ret, struct bytes text);
/* The same alphabet: appends the text of `input`, which has at most INT_MAX / 2 bytes. */
int base64url_append(struct buffer *ret, struct bytes input);

#endif
