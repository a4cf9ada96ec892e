/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_PRINTABLE_H
#define CLIENT_TEXT_PRINTABLE_H
/* Text of others as it may be shown: of the service, of a certificate, the name of a process or a
 * file. All that leaves the program for a person or a log goes through here. Shown as it is, such a
 * text could begin a line of its own, control the terminal, or turn the direction in which the rest
 * is read.
 *
 * A `?` takes the place of each control character (C0, DEL, C1), of each mark of direction (U+061C,
 * U+200E and F, U+202A to E, U+2066 to 9), of the separators of lines and paragraphs (U+2028 and
 * 9), and of each byte that is not UTF-8. Pure. */
#include "client/base/bytes.h"

/* In place. Returns the size afterwards, which is not larger. */
size_t printable_replace(char *text, size_t size);
/* The same for a string. */
void printable_replace_string(char *text);
/* What the buffer has from `begin` on. Afterwards it is printable, whether or not all fitted. */
void printable_replace_from(struct buffer *buffer, size_t begin);

#endif
