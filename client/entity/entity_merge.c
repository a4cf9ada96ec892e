/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_merge.h"
#include "client/entity/entity_lines.h"

struct side { /* one of the two texts, and its next property */
    struct entity_lines lines;
    struct entity_property property;
    int r; /* the result of entity_lines_next */
};

static void side_next(struct side *side)
{
    side->r = entity_lines_next(&side->lines, &side->property);
}

static void side_init(struct side *side, struct bytes text)
{
    entity_lines_init(&side->lines, text);
    side_next(side);
}

/* Compares the next properties. Neither side has failed, and at least one has a property left. */
static int compare_sides(const struct side *text, const struct side *over)
{
    if (text->r == 0 || over->r == 0)
        return text->r == 0 ? 1 : -1;
    return entity_property_compare(&text->property, &over->property);
}

int entity_merge_append(struct bytes text, struct bytes over, struct buffer *ret)
{
    struct side old, new;
    size_t begin = ret->size;
    side_init(&old, text);
    side_init(&new, over);
    while (old.r >= 0 && new.r >= 0 && (old.r > 0 || new.r > 0)) {
        int order = compare_sides(&old, &new);
        bool is_key = order == 0 && old.property.role != ENTITY_PROPERTY;
        bool is_old = order < 0 || is_key;
        (void)entity_lines_append(ret, begin, is_old ? old.property.lines : new.property.lines);
        if (order <= 0)
            side_next(&old);
        if (order >= 0)
            side_next(&new);
    }
    int r = MIN(old.r, new.r);
    return r < 0 ? r : entity_lines_append_end(ret, begin);
}
