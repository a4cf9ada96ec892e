/* SPDX-License-Identifier: MIT */
#include "cache/known/owned_range.h"

#define MAX_BYTES ((size_t)16 << 10)

void owned_range_init(struct owned_range *owned)
{
    *owned = (struct owned_range){0};
    buffer_init(&owned->text, MAX_BYTES);
}

void owned_range_finish(struct owned_range *owned)
{
    buffer_finish(&owned->text);
    owned_range_init(owned);
}

/* Not set; the memory stays. */
static void clear(struct owned_range *owned)
{
    buffer_clear(&owned->text);
    owned->table = NULL;
    owned->range = (struct range){0};
}

bool owned_range_is_set(const struct owned_range *owned)
{
    return owned->text.size > 0;
}

bool owned_range_set(struct owned_range *owned, const char *table, struct range range)
{
    struct buffer *text = &owned->text;
    clear(owned);
    (void)buffer_append_string(text, table ? table : "");
    (void)buffer_append_char(text, '\0');
    (void)buffer_append(text, range.lo);
    if (buffer_append(text, range.hi) < 0) {
        clear(owned);
        return false;
    }
    owned->table = table ? text->data : NULL;
    owned->range.hi = bytes_skip(buffer_bytes(text), text->size - range.hi.size);
    owned->range.lo = (struct bytes){owned->range.hi.data - range.lo.size, range.lo.size};
    return true;
}

bool is_same_table(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
