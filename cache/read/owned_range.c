#include "cache/read/owned_range.h"

#define REGION_MAX_BYTES ((size_t)16 << 10)

void owned_range_init(struct owned_range *region)
{
    *region = (struct owned_range){0};
    buffer_init(&region->text, REGION_MAX_BYTES);
}

void owned_range_finish(struct owned_range *region)
{
    buffer_finish(&region->text);
    owned_range_init(region);
}

void owned_range_clear(struct owned_range *region)
{
    buffer_clear(&region->text);
    region->table = NULL;
    region->range = (struct range){0};
}

bool owned_range_is_set(const struct owned_range *region)
{
    return region->text.size > 0;
}

bool owned_range_set(struct owned_range *region, const char *table, struct range range)
{
    struct buffer *text = &region->text;
    owned_range_clear(region);
    (void)buffer_append_string(text, table ? table : "");
    (void)buffer_append_char(text, '\0');
    (void)buffer_append(text, range.lo);
    if (buffer_append(text, range.hi) < 0) {
        owned_range_clear(region);
        return false;
    }
    region->table = table ? text->data : NULL;
    region->range.hi = bytes_skip(buffer_bytes(text), text->size - range.hi.size);
    region->range.lo = (struct bytes){region->range.hi.data - range.lo.size, range.lo.size};
    return true;
}

bool is_same_table(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}
