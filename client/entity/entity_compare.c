/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_compare.h"
#include "client/entity/entity_lines.h"

#include <math.h>

static bool is_same_double(const struct edm_value *a, const struct edm_value *b)
{
    double x, y;
    if (a->type != EDM_DOUBLE || b->type != EDM_DOUBLE || !edm_double_parse(a->token.text, &x) ||
        !edm_double_parse(b->token.text, &y))
        return false;
    return x == y || (isnan(x) && isnan(y));
}

/* For properties of the same name. */
static bool is_same_property(const struct entity_property *a, const struct entity_property *b)
{
    return bytes_equal(a->lines, b->lines) || is_same_double(&a->value, &b->value);
}

/* The next property. Keys are skipped: the text of a write may lack them. */
static int next_property(struct entity_lines *lines, struct entity_property *ret)
{
    int r;
    do
        r = entity_lines_next(lines, ret);
    while (r > 0 && ret->role != ENTITY_PROPERTY);
    return r;
}

/* The next property of `whole` that is not before `property` in order. */
static int seek(struct entity_lines *whole, const struct entity_property *property,
                struct entity_property *ret)
{
    int r;
    do
        r = next_property(whole, ret);
    while (r > 0 && entity_property_compare(ret, property) < 0);
    return r;
}

bool entity_text_equal(struct bytes a, struct bytes b)
{
    return entity_text_includes(a, b) && entity_text_includes(b, a);
}

bool entity_text_includes(struct bytes whole, struct bytes part)
{
    struct entity_lines whole_lines, part_lines;
    struct entity_property property, found;
    int r, s = 1;
    entity_lines_init(&whole_lines, whole);
    entity_lines_init(&part_lines, part);
    while ((r = next_property(&part_lines, &property)) > 0) {
        s = seek(&whole_lines, &property, &found);
        if (s <= 0 || entity_property_compare(&found, &property) != 0 ||
            !is_same_property(&found, &property))
            return false;
    }
    while (s > 0) /* the rest must be canonical, too */
        s = next_property(&whole_lines, &found);
    return r == 0 && s == 0;
}
