/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_OBJECT_STREAM_H
#define CLIENT_TEXT_OBJECT_STREAM_H
/* Finds the JSON objects of a byte stream: the input of `tablefuse import`. Pure. One thread.
 *
 *     object_stream_room(stream, &data, &size);
 *     object_stream_add(stream, read(fd, data, size));     or object_stream_end(stream) at the end
 *     while ((r = object_stream_next(stream, &object)) > 0) ...
 *
 * Objects stand on a line each, over several lines, or several on a line; commas between them do
 * not matter. An array at the top is read as its objects, and so is the list in what a table
 * service answers or `az storage entity query` prints: an array that is called `value` or `items`
 * in an object at the top that has no key before it. What stands around the list is left out:
 *
 *     {"odata.metadata":"...","value":[{...},{...}]}    {"items":[{...},{...}],"nextMarker":{}}
 *
 * A byte order mark before an object or array is skipped, for texts of several editors may follow
 * each other. An object's text is JSON
 * (RFC 8259, strict, UTF-8); what its members are is not looked at.
 *
 * What is no object is refused, and reading goes on:
 * - another JSON value, and an object over OBJECT_STREAM_OBJECT_MAX: behind its own end;
 * - what is not JSON: at the next line whose first character other than a blank, `[` or `,` is `{`.
 * What is not JSON inside such an array ends the stream: its objects cannot be told apart
 * from what they contain. So does an object there that nests deeper than JSON_MAX_DEPTH, which is
 * not JSON for the reader.
 *
 * Memory: twice OBJECT_STREAM_OBJECT_MAX at most. */
#include "client/bytes.h"

#define OBJECT_STREAM_OBJECT_MAX ((size_t)8 << 20)

struct object_stream;

struct stream_object {
    /* From `{` to its `}`. Of a refusal: what is skipped, as it was, without blanks at its ends;
     * its first OBJECT_STREAM_OBJECT_MAX bytes at most. Valid until the next call. */
    struct bytes text;
    /* From 1; the column in characters. Where the object begins; of text that is not JSON: the
     * wrong byte. */
    uint64_t line, column;
    uint64_t end_offset; /* the bytes of the input before the object's end, with it */
    const char *refusal; /* NULL: a whole object; else a static text: why it is none */
    bool is_of_items;    /* in a list of this name: its member `etag` is no property */
};

int object_stream_create(struct object_stream **ret_stream); /* 0, -ENOMEM */
void object_stream_destroy(struct object_stream *stream);    /* takes NULL */
/* Room to read() into. *ret_size is not 0 after object_stream_next returned 0. 0, -ENOMEM. */
int object_stream_room(struct object_stream *stream, char **ret_data, size_t *ret_size);
/* The caller has put `size` bytes of input into that room. */
void object_stream_add(struct object_stream *stream, size_t size);
void object_stream_end(struct object_stream *stream); /* no more input comes */
/* 1: *ret_object is set; 0: more input is needed, or the end after object_stream_end(). -EBADMSG:
 * what is in an array is not JSON, or the input ends in it; refusal, line and column are set, and
 * every further call returns this. */
int object_stream_next(struct object_stream *stream, struct stream_object *ret_object);

DEFINE_CLEANUP(struct object_stream *, object_stream_destroy);

#endif
