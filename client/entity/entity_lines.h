/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_LINES_H
#define CLIENT_ENTITY_ENTITY_LINES_H
/* Reads a canonical text (entity_text.h) property by property, and builds one from properties. It
 * checks the text around the properties, byte by byte, the order of names, and the place of
 * annotations; not whether strings and values are spelled canonically. Pure. Allocates nothing. */
#include "client/text/edm_value.h"

#define ENTITY_ANNOTATION_SUFFIX "@odata.type" /* follows the name of the property */

enum entity_role { /* in the order of the text */
                   ENTITY_PARTITION_KEY,
                   ENTITY_ROW_KEY,
                   ENTITY_PROPERTY,
};

struct entity_property { /* views of the text */
    enum entity_role role;
    bool has_escapes;  /* of the name */
    struct bytes name; /* in canonical form */
    struct edm_value value;
    struct bytes lines; /* annotation and property, from the first quote to the value's end */
};

/* The order of properties in the text: keys first, then by code points. 0: the same name. */
int entity_property_compare(const struct entity_property *a, const struct entity_property *b);

struct entity_lines { /* private to entity_lines.c */
    struct json_reader json;
    struct entity_property last;
    struct bytes text;
    size_t end; /* offset after what was read; 1: only the bracket */
};

void entity_lines_init(struct entity_lines *lines, struct bytes text);
/* 1: ret is the next property; 0: the end of the text; -EPROTO: it is not canonical. */
int entity_lines_next(struct entity_lines *lines, struct entity_property *ret);

/* Builds a text in ret, from offset `begin` on. For each property, in order: call
 * entity_lines_append with its lines, or entity_lines_append_name with its canonical name, and then
 * append the value (edm_value.h). At last call entity_lines_append_end. */
int entity_lines_append(struct buffer *ret, size_t begin, struct bytes lines);
int entity_lines_append_name(struct buffer *ret, size_t begin, struct bytes name,
                             struct bytes annotation); /* data NULL: none */
int entity_lines_append_end(struct buffer *ret, size_t begin);

#endif
