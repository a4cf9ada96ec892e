/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_NAMES_H
#define CLIENT_ENTITY_ENTITY_NAMES_H
/* What the JSON of an entity names beside its properties: which entity it is, and which version.
 * Pure; one thread. */
#include "client/base/bytes.h"

struct entity_names {
    bool has_partition_key, has_row_key; /* a string, which may be empty */
    bool has_etag;                       /* anything but null; `etag` is empty if it is no string */
    bool is_select;                      /* it is not whole: ENTITY_LINE_SELECT */
    const char *refusal;                 /* of -EINVAL: a static text */
    struct buffer partition_key, row_key, etag; /* in CESU-8 */
};
void entity_names_init(struct entity_names *names);
void entity_names_finish(struct entity_names *names);
/* `text` is one object. -EINVAL: it is no JSON; it has one of these names twice; a key or the ETag
 * has more than POSITION_MAX_BYTES. -ENOMEM. Properties are not looked at. */
int entity_names_read(struct bytes text, struct entity_names *ret);

#endif
