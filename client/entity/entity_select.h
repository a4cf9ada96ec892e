/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_SELECT_H
#define CLIENT_ENTITY_ENTITY_SELECT_H
/* The service's $select: the properties of an entity that a query asks for. Both keys always stay,
 * since a canonical text begins with them. Timestamp may be named, but is not in the text. Pure.
 * https://learn.microsoft.com/rest/api/storageservices/query-entities */
#include "client/base/bytes.h"

#define ENTITY_SELECT_MAX_NAMES 255

struct entity_select {                           /* immutable after its init, any thread */
    struct bytes names[ENTITY_SELECT_MAX_NAMES]; /* sorted; views of the list */
    size_t count;
};

/* `list`: names of properties, separated by commas, no blanks; it must outlive `select`. -EINVAL:
 * not such a list; ret_problem, a static text, says why, and ret_at is the offset in bytes. */
int entity_select_init(struct entity_select *select, struct bytes list, const char **ret_problem,
                       size_t *ret_at);

/* Is it one of the names? */
bool entity_select_has(const struct entity_select *select, struct bytes name);

/* Appends the canonical text with the selected properties. -EPROTO: `text` is not canonical.
 * -EFBIG, -ENOMEM. After an error ret holds a part of the result. */
int entity_select_append(const struct entity_select *select, struct bytes text, struct buffer *ret);

#endif
