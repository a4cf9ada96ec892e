/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_OBJECT_INPUT_H
#define FS_OUTPUT_OBJECT_INPUT_H
/* The objects that an import reads from a file descriptor, as JSON or CSV. One thread. */
#include "client/entity/csv_rows.h"

#define OBJECT_INPUT_POLL_MS 50

struct object_input;
/* csv NULL: it is JSON. The descriptor stays the caller's. -EISDIR; -errno: it cannot be read. */
int object_input_create(int fd, const struct csv_rows_options *csv, struct object_input **ret);
void object_input_destroy(struct object_input *input); /* takes NULL */
/* 1: ret is the next object, or what is none, as of object_source_next; 0: the end; -EAGAIN:
 * nothing has come for OBJECT_INPUT_POLL_MS, or no object in many reads: look for signals, and call
 * again; -EBADMSG as there; -errno: it cannot be read. */
int object_input_next(struct object_input *input, struct stream_object *ret);
/* How long it has waited for input until now, in ms. */
int64_t object_input_waited_ms(const struct object_input *input);
/* Of a regular file the bytes from where reading has begun to its end; else 0. */
uint64_t object_input_size(const struct object_input *input);

DEFINE_CLEANUP(struct object_input *, object_input_destroy);

#endif
