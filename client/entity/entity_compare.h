/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_COMPARE_H
#define CLIENT_ENTITY_ENTITY_COMPARE_H
/* Compares canonical texts, to find out whether a service has stored the text that was sent.
 * Doubles are compared by value (a service may print 1e300 as 1E+300), other values byte by byte.
 * Keys are not compared. A text that is not canonical equals no text. Pure. */
#include "client/base/bytes.h"

bool entity_text_equal(struct bytes a, struct bytes b);
bool entity_text_includes(struct bytes whole,
                          struct bytes part); /* has it each property of part? */

#endif
