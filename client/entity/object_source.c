/* SPDX-License-Identifier: MIT */
#include "client/entity/object_source.h"

void object_source_destroy(struct object_source *source)
{
    if (!source)
        return;
    text_input_finish(&source->input);
    source->ops->destroy(source);
}

int object_source_room(struct object_source *source, char **ret_data, size_t *ret_size)
{
    source->ops->drop(source);
    return text_input_room(&source->input, ret_data, ret_size);
}

void object_source_add(struct object_source *source, size_t size)
{
    source->input.text.size += size;
    source->input.is_ended = size == 0;
}

int object_source_next(struct object_source *source, struct stream_object *ret_object)
{
    return source->ops->next(source, ret_object);
}
