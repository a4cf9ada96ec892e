/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_SELECT_H
#define CLIENT_ENTITY_ENTITY_SELECT_H
/* The service's $select: the properties that a query returns. The keys are always included, since a
 * canonical text begins with them. Timestamp may be in the list, but is not in the text. Pure.
 * https://learn.microsoft.com/rest/api/storageservices/query-entities */
#include "client/base/bytes.h"

#define ENTITY_SELECT_MAX_NAMES 255

struct entity_select {                           /* immutable after its init, any thread */
    struct bytes names[ENTITY_SELECT_MAX_NAMES]; /* sorted; views of the list */
    size_t count;
};

/* `list`: names of properties, separated by commas, no blanks; it must outlive `select`. -EINVAL:
 * not such a list; ret_problem is the reason, a static text, and ret_at its offset in bytes. */
int entity_select_init(struct entity_select *select, struct bytes list, const char **ret_problem,
                       size_t *ret_at);

/* Is `name` in the list? */
bool entity_select_has(const struct entity_select *select, struct bytes name);

/* Appends the canonical text with the selected properties. -EPROTO: `text` is not canonical.
 * -EFBIG, -ENOMEM. After an error ret has a part of the result. */
int entity_select_append(const struct entity_select *select, struct bytes text, struct buffer *ret);

#endif
