#ifndef CLIENT_TEXT_ENTITY_COMPARE_H
#define CLIENT_TEXT_ENTITY_COMPARE_H
/* Are two canonical texts of the same entity, so that one may be what became of the other in a
 * service? Doubles are compared by value (a service may print 1e300 as 1E+300), all else byte by
 * byte. Not the keys: the caller knows them. Pure. A text that is not canonical equals none. */
#include "client/bytes.h"

bool entity_text_equal(struct bytes a, struct bytes b);
bool entity_text_includes(struct bytes whole, struct bytes part); /* every property of part */

#endif
