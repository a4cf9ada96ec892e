/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_MERGE_H
#define CLIENT_ENTITY_ENTITY_MERGE_H
/* Merges two texts of an entity. Pure. */
#include "client/base/bytes.h"

/* Appends `text` with the properties of `over` added or replaced, with their types; both are
 * canonical, and so is the result. Keys are those of `text`, if it has them. -EPROTO: one of the
 * two is not canonical. -EFBIG, -ENOMEM. After an error ret has a part of the result. */
int entity_merge_append(struct bytes text, struct bytes over, struct buffer *ret);

#endif
