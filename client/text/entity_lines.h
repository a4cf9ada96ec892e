#ifndef CLIENT_TEXT_ENTITY_LINES_H
#define CLIENT_TEXT_ENTITY_LINES_H
/* A canonical text (entity_text.h) read property by property, and put together again from what was
 * read. Its frame is checked to the byte, the order of its names, and that annotations stand where
 * they belong; how strings are escaped and values are spelled is not. Pure, no allocation. */
#include "client/text/edm_value.h"

#define ENTITY_ANNOTATION_SUFFIX "@odata.type" /* behind the name whose type it says */

enum entity_role { /* in the order in which they stand */
                   ENTITY_PARTITION_KEY,
                   ENTITY_ROW_KEY,
                   ENTITY_PROPERTY,
};

struct entity_property { /* views of the text */
    enum entity_role role;
    bool has_escapes;  /* the name */
    struct bytes name; /* in canonical spelling */
    struct edm_value value;
    struct bytes lines; /* the annotation's and its own, from the first quote to the value's end */
};

/* The order in which properties stand; 0: one name. */
int entity_property_compare(const struct entity_property *a, const struct entity_property *b);

struct entity_lines { /* private to entity_lines.c */
    struct json_reader json;
    struct entity_property last;
    struct bytes text;
    size_t end; /* of what was read; 1: nothing but the bracket */
};

void entity_lines_init(struct entity_lines *lines, struct bytes text);
/* 1: ret is the next property; 0: the text has ended; -EPROTO: it is not canonical. */
int entity_lines_next(struct entity_lines *lines, struct entity_property *ret);

/* A text that begins at `begin` in ret: its properties' lines in their order, then its end. */
int entity_lines_append(struct buffer *ret, size_t begin, struct bytes lines);
int entity_lines_append_end(struct buffer *ret, size_t begin);

#endif
