/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_LINE_H
#define CLIENT_ENTITY_ENTITY_LINE_H
/* An entity as one line of JSON, for files of whole tables. Pure.
 *
 *     {"PartitionKey":"p","RowKey":"r","odata.etag":"W/\"1\"","A@odata.type":"Edm.Int64","A":"5"}
 *
 * It is the canonical text (entity_text.h) without line breaks and blanks. Optional members after
 * the keys are the ETag and the Timestamp, which the canonical text does not have. */
#include "client/base/bytes.h"

struct entity_line {
    struct bytes text;     /* canonical; empty: the line has only the keys, and says so */
    bool is_part;          /* the text lacks properties of the entity: the line says so */
    struct bytes position; /* used if `text` is empty */
    struct bytes etag;     /* empty: not in the line */
    int64_t timestamp;     /* 100 ns since 1970; 0: not in the line */
};

/* A line with only the keys, or only a part of the properties, has this member. It is not a whole
 * entity: a replace with it would remove the other properties. */
#define ENTITY_LINE_SELECT "odata.select"

/* Appends the line and its line end. 0, -ENOMEM, -EFBIG; -EPROTO: the text is not canonical, or a
 * key is not well-formed. After an error ret has a part of the line. */
int entity_line_append(struct buffer *ret, const struct entity_line *line);

#endif
