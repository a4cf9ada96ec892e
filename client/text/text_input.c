/* SPDX-License-Identifier: MIT */
#include "client/text/text_input.h"

void text_input_init(struct text_input *input, size_t max)
{
    *input = (struct text_input){.line = 1, .column = 1};
    buffer_init(&input->text, max);
}

void text_input_finish(struct text_input *input)
{
    buffer_finish(&input->text);
}

int text_input_room(struct text_input *input, char **ret_data, size_t *ret_size)
{
    struct buffer *text = &input->text;
    size_t room = MIN(TEXT_INPUT_READ_BYTES, text->max - text->size);
    int r = buffer_ensure(text, text->size + room);
    *ret_data = r < 0 ? NULL : text->data + text->size;
    *ret_size = r < 0 ? 0 : room;
    return r;
}

void text_input_mark(struct text_input *input, size_t offset)
{
    struct bytes text = text_input_part(input, input->marked, offset);
    const char *found;
    while (text.size > 0 && (found = memchr(text.data, '\n', text.size))) {
        text = bytes_skip(text, (size_t)(found - text.data) + 1);
        input->line++;
        input->column = 1;
    }
    for (size_t i = 0; i < text.size; i++)
        input->column += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    input->marked = offset;
}

size_t text_input_drop(struct text_input *input, size_t begin, size_t end)
{
    struct buffer *text = &input->text;
    size_t n = end - begin;
    if (n == 0)
        return 0;
    text_input_mark(input, MAX(end, input->marked));
    memmove(text->data + begin, text->data + end, text->size - end);
    text->size -= n;
    input->dropped += n;
    input->marked -= n;
    return n;
}
