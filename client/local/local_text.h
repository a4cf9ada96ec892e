#ifndef CLIENT_LOCAL_LOCAL_TEXT_H
#define CLIENT_LOCAL_LOCAL_TEXT_H
/* The text that is stored: with both keys, which a write may leave to its position. Pure. */
#include "client/bytes.h"

/* ret is `text` itself when it has the keys, else a view of `whole`, to which it is appended with
 * them. Both were checked (entity_check.h). -ENOMEM, -EFBIG. */
int local_text_complete(struct bytes position, struct bytes text, struct buffer *whole,
                        struct bytes *ret);

#endif
