/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_OBJECT_SOURCE_H
#define CLIENT_ENTITY_OBJECT_SOURCE_H
/* The objects of a byte stream, the input of `tablefuse import`: of JSON (object_stream.h) or of
 * rows of CSV (csv_rows.h), which create a source. Pure. One thread.
 *
 *     object_source_room(source, &data, &size);
 *     object_source_add(source, read(fd, data, size));
 *     while ((r = object_source_next(source, &object)) > 0) ... */
#include "client/text/text_input.h"

#define OBJECT_SOURCE_OBJECT_MAX ((size_t)8 << 20)

struct stream_object {
    /* From `{` to its `}`. Of a refusal: what is skipped, as it was, without blanks at its ends;
     * its first OBJECT_SOURCE_OBJECT_MAX bytes at most. Valid until the next call. */
    struct bytes text;
    /* From 1; the column in characters, 0: none. Where the object begins; of text that is not JSON:
     * the wrong byte. */
    uint64_t line, column;
    uint64_t end_offset; /* the bytes of the input before the object's end, with it */
    const char *refusal; /* NULL: a whole object; else a static text: why it is none */
    bool is_listed;      /* in a list that a service answered: its ETag is of another table */
    bool is_of_items;    /* in a list of this name: its member `etag` is no property */
};

struct object_source;
void object_source_destroy(struct object_source *source); /* takes NULL */
/* Room to read() into. *ret_size is not 0 after object_source_next returned 0. 0, -ENOMEM. */
int object_source_room(struct object_source *source, char **ret_data, size_t *ret_size);
/* The caller has put `size` bytes of input into that room; 0: the input has ended. */
void object_source_add(struct object_source *source, size_t size);
/* 1: *ret_object is set; 0: more input is needed, or all was read; -ENOMEM. -EBADMSG: what follows
 * cannot be read; refusal, line and column are set, and every further call returns this. */
int object_source_next(struct object_source *source, struct stream_object *ret_object);

DEFINE_CLEANUP(struct object_source *, object_source_destroy);

/* For those that create one */

struct object_source_ops {
    void (*destroy)(struct object_source *source); /* not of the input */
    void (*drop)(struct object_source *source);    /* what was read and is not needed any more */
    int (*next)(struct object_source *source, struct stream_object *ret_object);
};

struct object_source { /* the first member of theirs */
    const struct object_source_ops *ops;
    struct text_input input;
};

#endif
