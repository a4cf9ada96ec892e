/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_TEXT_INPUT_H
#define CLIENT_TEXT_TEXT_INPUT_H
/* The part of a byte stream that is being read, with lines and columns: the base of
 * object_source.h. Offsets are into `text`. Pure, one thread. */
#include "client/base/bytes.h"

#define TEXT_INPUT_READ_BYTES ((size_t)256 << 10) /* at once */

struct text_input {
    struct buffer text;
    uint64_t dropped;      /* bytes of the stream that `text` has no more */
    size_t marked;         /* `line` and `column` are of this byte */
    uint64_t line, column; /* from 1; the column in characters */
    bool is_ended;
};

/* max: of what is kept, and what is read behind it. */
void text_input_init(struct text_input *input, size_t max);
void text_input_finish(struct text_input *input);

/* Room to read into, behind the text; *ret_size is 0 if it is full. 0, -ENOMEM. */
int text_input_room(struct text_input *input, char **ret_data, size_t *ret_size);
/* Moves the mark to `offset`, which is not before it. */
void text_input_mark(struct text_input *input, size_t offset);
/* Removes the bytes from `begin` to `end`, before which the mark may stand. Offsets behind them
 * become smaller by what this returns. */
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
