/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_OBJECT_SOURCE_H
#define CLIENT_ENTITY_OBJECT_SOURCE_H
/* Reads JSON objects, or rows of CSV as such objects, from a byte stream: the input of
 * `tablefuse import`. object_stream.h and csv_rows.h create a source. Pure. One thread.
 *
 *     object_source_room(source, &data, &size);
 *     object_source_add(source, read(fd, data, size));
 *     while ((r = object_source_next(source, &object)) > 0) ... */
#include "client/text/text_input.h"

#define OBJECT_SOURCE_OBJECT_MAX ((size_t)8 << 20)

struct stream_object {
    /* From `{` to its `}`. Of a refusal: the skipped input without blanks at its ends, at most its
     * first OBJECT_SOURCE_OBJECT_MAX bytes. Valid until the next call. */
    struct bytes text;
    /* From 1; the column in characters, 0: none. Where the object begins; if the text is not JSON:
     * of the wrong byte. */
    uint64_t line, column;
    uint64_t end_offset; /* in the input, after the object's last byte */
    const char *refusal; /* NULL: a whole object; else why it is refused, a static text */
    bool is_listed;      /* an element of a list in an answer: its ETag is that of another table */
    bool is_of_items;    /* an element of a list called "items": its `etag` is not a property */
};

struct object_source;
void object_source_destroy(struct object_source *source); /* takes NULL */
/* Returns room to read() into; *ret_size > 0 after object_source_next returned 0. 0, -ENOMEM. */
int object_source_room(struct object_source *source, char **ret_data, size_t *ret_size);
/* The caller has put `size` bytes of input into that room; 0: the input has ended. */
void object_source_add(struct object_source *source, size_t size);
/* 1: *ret_object is set; 0: more input is needed, or all was read; -ENOMEM. -EBADMSG: the rest of
 * the input cannot be read; refusal, line and column are set; every further call returns this. */
int object_source_next(struct object_source *source, struct stream_object *ret_object);

DEFINE_CLEANUP(struct object_source *, object_source_destroy);

/* For implementations */

struct object_source_ops {
    void (*destroy)(struct object_source *source); /* `input` is finished elsewhere */
    void (*drop)(struct object_source *source);    /* drops input that is no longer needed */
    int (*next)(struct object_source *source, struct stream_object *ret_object);
};

struct object_source { /* first member of an implementation's struct */
    const struct object_source_ops *ops;
    struct text_input input;
};

#endif
