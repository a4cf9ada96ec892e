/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_MERGE_H
#define CLIENT_ENTITY_ENTITY_MERGE_H
/* Merges two texts of an entity: named properties are replaced, others stay. Pure. */
#include "client/base/bytes.h"

/* Appends the entity `text` with the properties of `over`; both are canonical, and so is the
 * result. A property of `over` brings its type. Keys are taken from `text` if it has them. -EPROTO:
 * one of the two is not canonical. -EFBIG, -ENOMEM. After an error ret holds a part of it. */
int entity_merge_append(struct bytes text, struct bytes over, struct buffer *ret);

#endif
