/* SPDX-License-Identifier: MIT */
#include "fs/ops/open_file.h"

int open_file_create_entity(const struct entity *entity, struct open_file **ret)
{
    struct open_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    int r = entity_copy(entity, &file->entity);
    if (r < 0) {
        free(file);
        return r;
    }
    *ret = file;
    return 0;
}

int open_file_create_control(struct control_text *control, struct open_file **ret)
{
    struct open_file *file = calloc(1, sizeof(*file));
    if (!file) {
        control_text_unref(control);
        return -ENOMEM;
    }
    file->control = control;
    *ret = file;
    return 0;
}

int open_file_create_writer(struct writer_handle *writer, bool is_reader, const char *command,
                            struct open_file **ret)
{
    struct open_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    file->writer = writer;
    file->is_reader = is_reader;
    (void)snprintf(file->command, sizeof(file->command), "%s", command);
    *ret = file;
    return 0;
}

int open_file_create_scratch(struct scratch_file *scratch, struct open_file **ret)
{
    struct open_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    file->scratch = scratch;
    *ret = file;
    return 0;
}

void open_file_destroy(struct open_file *file)
{
    if (!file)
        return;
    entity_finish(&file->entity);
    control_text_unref(file->control);
    scratch_file_close(file->scratch);
    free(file);
}

struct bytes open_file_read(const struct open_file *file, off_t offset, size_t size)
{
    struct bytes text = {0};
    if (file->entity.page)
        text = page_text(file->entity.page, file->entity.row);
    else if (file->control)
        text = buffer_bytes(&file->control->text);
    if (offset < 0 || (size_t)offset >= text.size)
        return BYTES_LITERAL("");
    text = bytes_skip(text, (size_t)offset);
    return bytes_first(text, MIN(size, text.size));
}
