/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_PRINTABLE_H
#define CLIENT_TEXT_PRINTABLE_H
/* Makes untrusted text safe to show: text of the service or a certificate, the name of a process or
 * a file. Everything that the program prints for a person or a log goes through here. Unchanged,
 * such a text could begin a new line, control the terminal, or reverse the direction of the text
 * after it.
 *
 * Replaced by `?` are: control characters (C0, DEL, C1), marks of direction (U+061C, U+200E and F,
 * U+202A to E, U+2066 to 9), separators of lines and paragraphs (U+2028 and 9), what is invisible
 * (U+200B, U+2060 to F, U+FEFF), and each byte that is not UTF-8. The joiners U+200C and D stay:
 * words of some languages need them. Pure. */
#include "client/base/bytes.h"

/* Replaces in place. Returns the new size, which is not greater. */
size_t printable_replace(char *text, size_t size);
/* The same for a C string. */
void printable_replace_string(char *text);
/* The same for the buffer's content from `begin` on; also if the buffer has an error. */
void printable_replace_from(struct buffer *buffer, size_t begin);

#endif
