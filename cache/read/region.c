#include "cache/read/region.h"

#define REGION_MAX_BYTES ((size_t)16 << 10)

void region_init(struct region *region)
{
    *region = (struct region){0};
    buffer_init(&region->text, REGION_MAX_BYTES);
}

void region_finish(struct region *region)
{
    buffer_finish(&region->text);
    region_init(region);
}

void region_clear(struct region *region)
{
    buffer_clear(&region->text);
    region->table = NULL;
    region->range = (struct range){0};
}

bool region_is_set(const struct region *region)
{
    return region->text.size > 0;
}

bool region_set(struct region *region, const char *table, struct range range)
{
    struct buffer *text = &region->text;
    region_clear(region);
    (void)buffer_append_string(text, table ? table : "");
    (void)buffer_append_char(text, '\0');
    (void)buffer_append(text, range.lo);
    if (buffer_append(text, range.hi) < 0) {
        region_clear(region);
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
