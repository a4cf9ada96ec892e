#include "fs/files/open_file.h"

#include <sys/types.h>

int open_file_create_entity(const struct entity *entity, struct open_file **ret)
{
    struct open_file *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return -ENOMEM;
    int r = entity_copy(entity, &handle->entity);
    if (r < 0) {
        free(handle);
        return r;
    }
    *ret = handle;
    return 0;
}

int open_file_create_text(struct buffer *text, struct open_file **ret)
{
    struct open_file *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return -ENOMEM;
    handle->text = *text;
    buffer_init(text, text->max);
    *ret = handle;
    return 0;
}

void open_file_destroy(struct open_file *handle)
{
    if (!handle)
        return;
    entity_finish(&handle->entity);
    buffer_finish(&handle->text);
    free(handle);
}

struct bytes open_file_read(const struct open_file *handle, off_t offset, size_t size)
{
    struct bytes text = handle->entity.page ? page_text(handle->entity.page, handle->entity.row)
                                            : buffer_bytes(&handle->text);
    if (offset < 0 || (size_t)offset >= text.size)
        return BYTES_LITERAL("");
    text = bytes_skip(text, (size_t)offset);
    return bytes_first(text, MIN(size, text.size));
}
