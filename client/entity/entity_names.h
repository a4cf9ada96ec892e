/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_NAMES_H
#define CLIENT_ENTITY_ENTITY_NAMES_H
/* Reads the members of an entity's JSON that are not properties: its keys and its ETag. Pure; one
 * thread. */
#include "client/base/bytes.h"

struct entity_names {
    bool has_partition_key, has_row_key; /* it is a string, perhaps empty */
    bool has_etag;                       /* it is not null; `etag` is empty if it is no string */
    bool is_select;                      /* not a whole entity: it has ENTITY_LINE_SELECT */
    const char *refusal;                 /* the reason of -EINVAL, a static text */
    struct buffer partition_key, row_key, etag; /* in CESU-8 */
};
void entity_names_init(struct entity_names *names);
void entity_names_finish(struct entity_names *names);
/* `text` is one object. -EINVAL: it is not JSON; it has one of these names twice; a key or the ETag
 * has more than POSITION_MAX_BYTES. -ENOMEM. Properties are not checked. */
int entity_names_read(struct bytes text, struct entity_names *ret);

#endif
