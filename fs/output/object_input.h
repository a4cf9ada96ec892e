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
/* 1: ret is the next object, or a refusal of text that is none, as object_source_next returns it;
 * 0: the end. -EAGAIN: no input arrived for OBJECT_INPUT_POLL_MS, or many reads had no object: the
 * caller checks for signals, and calls again. -EBADMSG: as object_source_next. Another -errno: the
 * input cannot be read. */
int object_input_next(struct object_input *input, struct stream_object *ret);
/* How long the calls have waited for input so far, in ms. */
int64_t object_input_waited_ms(const struct object_input *input);
/* For a regular file: the bytes from where reading began to its end; else 0. */
uint64_t object_input_size(const struct object_input *input);

DEFINE_CLEANUP(struct object_input *, object_input_destroy);

#endif
