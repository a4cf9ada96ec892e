/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_TEXT_H
#define CLIENT_LOCAL_LOCAL_TEXT_H
/* The text that is stored. It has both keys; the text of a write may lack them. Pure. */
#include "client/base/bytes.h"

/* If `text` has the keys, ret is `text` itself. Else the keys of `position` and the text are
 * appended to `whole`, and ret is a view of it. Both were checked (entity_check.h). -ENOMEM,
 * -EFBIG. */
int local_text_complete(struct bytes position, struct bytes text, struct buffer *whole,
                        struct bytes *ret);

/* Is it the canonical text of an entity at this position, with its keys? */
bool local_text_is_of(struct bytes position, struct bytes text);

#endif
