/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_ENTITY_NAMES_H
#define CLIENT_TEXT_ENTITY_NAMES_H
/* What the JSON of an entity names beside its properties: which entity it is, and which version.
 * Pure; one thread. */
#include "client/bytes.h"

struct entity_names {
    bool has_partition_key, has_row_key; /* a string, which may be empty */
    bool has_etag;                       /* anything but null; `etag` is empty if it is no string */
    bool is_select;                      /* it has the keys alone: ENTITY_LINE_SELECT */
    struct buffer partition_key, row_key, etag; /* in CESU-8 */
};
void entity_names_init(struct entity_names *names);
void entity_names_finish(struct entity_names *names);
/* `text` is one object. Of a name that is there twice the last one counts. What is no JSON ends the
 * reading, and is no error. 0 or -ENOMEM. */
int entity_names_read(struct bytes text, struct entity_names *ret);

#endif
