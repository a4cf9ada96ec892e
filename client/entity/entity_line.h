/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_LINE_H
#define CLIENT_ENTITY_ENTITY_LINE_H
/* An entity as one line of JSON, for files of whole tables. Pure.
 *
 *     {"PartitionKey":"p","RowKey":"r","odata.etag":"W/\"1\"","A@odata.type":"Edm.Int64","A":"5"}
 *
 * It is the canonical text (entity_text.h) without line breaks and blanks, and, where they are
 * asked for, what the canonical text leaves out: the ETag and the Timestamp, behind the keys. */
#include "client/base/bytes.h"

struct entity_line {
    struct bytes text;     /* canonical; empty: of the keys alone, then the line says so */
    bool is_part;          /* the text lacks properties of the entity: the line says so, too */
    struct bytes position; /* of a line of the keys alone */
    struct bytes etag;     /* empty: not in the line */
    int64_t timestamp;     /* 100 ns since 1970; 0: not in the line */
};

/* A line of the keys alone, or of a part of the properties, has this member. It is no whole entity:
 * to store it as one would remove the other properties. */
#define ENTITY_LINE_SELECT "odata.select"

/* Appends the line and its end. 0, -ENOMEM, -EFBIG; -EPROTO: the text is not canonical, or a key
 * is no text. Then ret holds a part of it. */
int entity_line_append(struct buffer *ret, const struct entity_line *line);

#endif
