#ifndef CLIENT_TEXT_ENTITY_MERGE_H
#define CLIENT_TEXT_ENTITY_MERGE_H
/* What becomes of an entity by a merge: its properties stay, but for those that the merge names.
 * Pure. */
#include "client/bytes.h"

/* Appends the canonical text of the entity `text` with the properties of `over`, canonical, too,
 * each with its type. Keys are those of `text` where it has them. -EPROTO: one of them is not
 * canonical. -EFBIG, -ENOMEM. After an error ret holds a part of it. */
int entity_merge_append(struct bytes text, struct bytes over, struct buffer *ret);

#endif
