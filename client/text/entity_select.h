#ifndef CLIENT_TEXT_ENTITY_SELECT_H
#define CLIENT_TEXT_ENTITY_SELECT_H
/* The service's $select: which properties of an entity are asked for. Both keys always stay, since
 * a canonical text begins with them; Timestamp may be named and is not in the text. Pure.
 * https://learn.microsoft.com/rest/api/storageservices/query-entities */
#include "client/bytes.h"

#define ENTITY_SELECT_MAX_NAMES 255

struct entity_select {                           /* immutable once made, any thread */
    struct bytes names[ENTITY_SELECT_MAX_NAMES]; /* in their order; views of the list */
    size_t count;
};

/* `list`: names of properties with a comma between, no blanks; must stay. -EINVAL: it is none;
 * ret_problem (a static text) and ret_at (bytes before it) say why. */
int entity_select_init(struct entity_select *select, struct bytes list, const char **ret_problem,
                       size_t *ret_at);

/* Appends the canonical text of what is asked for. -EPROTO: `text` is not canonical. -EFBIG,
 * -ENOMEM. After an error ret holds a part of it. */
int entity_select_append(const struct entity_select *select, struct bytes text, struct buffer *ret);

#endif
