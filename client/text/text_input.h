/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_TEXT_INPUT_H
#define CLIENT_TEXT_TEXT_INPUT_H
/* A window of a byte stream that is being read, with lines and columns; object_source.h uses it.
 * Offsets are offsets in `text`. Pure, one thread. */
#include "client/base/bytes.h"

#define TEXT_INPUT_READ_BYTES ((size_t)256 << 10) /* at once */

struct text_input {
    struct buffer text;
    uint64_t dropped;      /* bytes of the stream that were removed from `text` */
    size_t marked;         /* the mark: the offset of the byte at `line` and `column` */
    uint64_t line, column; /* from 1; the column in characters */
    bool is_ended;
};

/* max: maximum size of `text`. */
void text_input_init(struct text_input *input, size_t max);
void text_input_finish(struct text_input *input);

/* Returns room for new bytes after the text; *ret_size is 0 if it is full. 0, -ENOMEM. */
int text_input_room(struct text_input *input, char **ret_data, size_t *ret_size);
/* Moves the mark forward to `offset`. */
void text_input_mark(struct text_input *input, size_t offset);
/* Removes the bytes from `begin` to `end`; the mark may be before `end`. Returns by how much the
 * offsets after them become smaller. */
size_t text_input_drop(struct text_input *input, size_t begin, size_t end);

static inline struct bytes text_input_part(const struct text_input *input, size_t begin, size_t end)
{
    return bytes_skip(bytes_first(buffer_bytes(&input->text), end), begin);
}

static inline struct bytes text_input_rest(const struct text_input *input, size_t begin)
{
    return bytes_skip(buffer_bytes(&input->text), begin);
}

#endif
