/* SPDX-License-Identifier: MIT */
#include "fs/scratch/scratch_text.h"

#define GROWTH_PART 4 /* a text that grows gets 1/4 of its size as spare room */

int scratch_budget_take(struct scratch_budget *budget, size_t bytes)
{
    if (bytes > budget->max_bytes - budget->bytes)
        return -ENOSPC;
    budget->bytes += bytes;
    return 0;
}

void scratch_budget_give_back(struct scratch_budget *budget, size_t bytes)
{
    budget->bytes -= bytes;
}

void scratch_text_finish(struct scratch_text *text)
{
    free(text->data);
    *text = (struct scratch_text){0};
}

static int set_capacity(struct scratch_text *text, size_t capacity)
{
    char *data = realloc(text->data, capacity);
    if (!data)
        return -ENOMEM;
    text->data = data;
    text->capacity = capacity;
    return 0;
}

static int grow(struct scratch_text *text, struct scratch_budget *budget, uint64_t size)
{
    if (size - text->size > budget->max_bytes - budget->bytes)
        return -ENOSPC;
    if (size > text->capacity &&
        set_capacity(text, (size_t)size + (size_t)size / GROWTH_PART) < 0 &&
        set_capacity(text, (size_t)size) < 0)
        return -ENOMEM;
    memset(text->data + text->size, 0, (size_t)size - text->size);
    budget->bytes += (size_t)size - text->size;
    text->size = (size_t)size;
    return 0;
}

static void shrink(struct scratch_text *text, struct scratch_budget *budget, size_t size)
{
    budget->bytes -= text->size - size;
    text->size = size;
    if (size == 0)
        scratch_text_finish(text);
    else
        (void)set_capacity(text, size); /* if that fails, the memory that is left over stays */
}

int scratch_text_write(struct scratch_text *text, struct scratch_budget *budget, struct bytes bytes,
                       uint64_t offset)
{
    if (bytes.size == 0)
        return 0;
    if (offset > UINT64_MAX - bytes.size)
        return -ENOSPC;
    uint64_t end = offset + bytes.size;
    int r = end > text->size ? grow(text, budget, end) : 0;
    if (r == 0)
        memcpy(text->data + offset, bytes.data, bytes.size);
    return r;
}

int scratch_text_resize(struct scratch_text *text, struct scratch_budget *budget, uint64_t size)
{
    if (size > text->size)
        return grow(text, budget, size);
    if (size < text->size)
        shrink(text, budget, (size_t)size);
    return 0;
}
