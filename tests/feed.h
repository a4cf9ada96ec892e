/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FEED_H
#define TESTS_FEED_H
/* Feeds a source of objects, in unit tests and fuzzers. */
#include "client/entity/object_source.h"

/* `size` times c. */
static inline void append_filler(struct buffer *input, size_t size, char c)
{
    char *data = buffer_reserve(input, size);
    if (!data)
        abort();
    memset(data, c, size);
    input->size += size;
}

/* r: of object_source_next, which is not 0. */
typedef void feed_taker(void *context, const struct stream_object *object, int r);

/* At most `step` bytes at once, to the end of the input or of the source. Returns the last result
 * of object_source_next. */
static inline int feed(struct object_source *source, struct bytes input, size_t step,
                       feed_taker *take, void *context)
{
    struct stream_object object = {.end_offset = 0};
    const size_t all = input.size;
    int r = 0;
    for (bool is_ended = false; r == 0 && !is_ended;) {
        char *data;
        size_t size;
        if (object_source_room(source, &data, &size) < 0 || size == 0)
            abort();
        size = MIN(MIN(size, step), input.size);
        is_ended = size == 0;
        if (!is_ended)
            memcpy(data, input.data, size);
        object_source_add(source, size);
        input = bytes_skip(input, size);
        while ((r = object_source_next(source, &object)) != 0) {
            take(context, &object, r);
            if (object.end_offset > all - input.size)
                abort();
            if (r < 0)
                break;
        }
    }
    return r;
}

#endif
