/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_MEMBERS_H
#define CLIENT_ENTITY_ENTITY_MEMBERS_H
/* Reads the members of an entity's JSON, in any order, and sorts them by name. Used by
 * entity_text.h for a service's JSON, and by entity_input.h for a user's. Pure, one thread. */
#include "client/text/json_reader.h"

#define ENTITY_MAX_MEMBERS 65536 /* of one text; the service allows some 500 */

struct entity_member { /* views of the text, or of `respelled` */
    struct bytes name; /* in canonical form; of an annotation: the name of its property */
    const char *raw;   /* where the name begins in the text */
    struct json_token value;
    bool has_escapes; /* of the name in canonical form */
    bool is_annotation;
    uint32_t object; /* the caller may number objects; the last one counts */
    uint32_t order;  /* in the text */
};

enum entity_member_role {
    ENTITY_MEMBER_PROPERTY,
    ENTITY_MEMBER_ANNOTATION,
    ENTITY_MEMBER_PARTITION_KEY,
    ENTITY_MEMBER_ROW_KEY,
    ENTITY_MEMBER_TIMESTAMP,
    ENTITY_MEMBER_ETAG,
    ENTITY_MEMBER_METADATA, /* another odata.* */
};

struct entity_members {
    struct entity_member *members; /* the kept ones, then the one that was read last */
    size_t count, capacity;        /* count: of the kept ones */
    struct buffer respelled; /* names and strings; not reallocated while there are views of it */
};

int entity_members_init(struct entity_members *members); /* -ENOMEM: nothing to finish */
void entity_members_finish(struct entity_members *members);
void entity_members_clear(struct entity_members *members);

/* Reads the next member; the name of an annotation still has its suffix. 1: ret is the member,
 * valid until the next call; 0: the end of the object; -EPROTO: not JSON (json_reader_problem);
 * -EFBIG: no room in `respelled`; -ENOMEM. The reader was fed with the whole text. If the value is
 * nested, only its first bracket is read: the caller rejects it, or skips the rest. */
int entity_members_read(struct entity_members *members, struct json_reader *reader,
                        struct entity_member **ret);
#define ENTITY_NESTED_PROBLEM "an object or array as a property's value"
bool entity_member_is_nested(const struct entity_member *member);
enum entity_member_role entity_member_role_of(struct bytes name);

/* Keeps the member that was read last. 0; -EFBIG: too many members. */
int entity_members_keep(struct entity_members *members);
/* The same for an annotation: removes the suffix. -EPROTO: its value is not a string; -EFBIG;
 * -ENOMEM. */
int entity_members_keep_annotation(struct entity_members *members, struct json_reader *reader);

/* Converts a name or string to canonical form. -EFBIG: no room in `respelled`; -ENOMEM. */
int entity_members_respell(struct entity_members *members, const struct json_reader *reader,
                           struct json_token *token);

/* Sorts by name, then by object, then annotations before properties, then in the text's order. */
void entity_members_sort(struct entity_members *members);

#endif
