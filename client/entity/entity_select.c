/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_select.h"
#include "client/entity/entity_lines.h"
#include "client/text/json_string.h"

static int compare_names(const void *left, const void *right)
{
    const struct bytes *a = left, *b = right;
    return bytes_compare(*a, *b);
}

/* The problem with the name at the start of the rest of a list, and where it lies in the rest;
 * NULL: none. */
static const char *check_name(struct bytes rest, size_t size, size_t *ret_at)
{
    *ret_at = 0;
    if (size == 0)
        return "the name of a property is expected here";
    if (edm_name_is_too_long(bytes_first(rest, size)))
        return "a name that is longer than any property's";
    *ret_at = size;
    if (size < rest.size && rest.data[size] != ',')
        return "not a part of a property's name";
    return NULL;
}

int entity_select_init(struct entity_select *select, struct bytes list, const char **ret_problem,
                       size_t *ret_at)
{
    struct bytes rest = list;
    for (select->count = 0;; select->count++) {
        size_t size = edm_name_size(rest), at = 0;
        const char *problem = select->count == ENTITY_SELECT_MAX_NAMES
                                  ? "more than 255 names"
                                  : check_name(rest, size, &at);
        if (problem) {
            *ret_problem = problem;
            *ret_at = list.size - rest.size + at;
            return -EINVAL;
        }
        select->names[select->count] = bytes_first(rest, size);
        if (size == rest.size)
            break;
        rest = bytes_skip(rest, size + 1);
    }
    select->count++;
    qsort(select->names, select->count, sizeof(select->names[0]), compare_names);
    return 0;
}

bool entity_select_has(const struct entity_select *select, struct bytes name)
{
    return bsearch(&name, select->names, select->count, sizeof(select->names[0]), compare_names);
}

/* Names and properties are in the same order, so names before the property are not needed again. */
static bool is_selected(const struct entity_select *select, size_t *at,
                        const struct entity_property *property)
{
    int order = -1;
    if (property->role != ENTITY_PROPERTY)
        return true;
    for (; *at < select->count; *at += 1) {
        struct bytes name = select->names[*at];
        order = property->has_escapes ? json_string_compare(name, property->name)
                                      : bytes_compare(name, property->name);
        if (order >= 0)
            break;
    }
    return order == 0;
}

int entity_select_append(const struct entity_select *select, struct bytes text, struct buffer *ret)
{
    struct entity_lines lines;
    struct entity_property property;
    size_t begin = ret->size, at = 0;
    int r;
    entity_lines_init(&lines, text);
    while ((r = entity_lines_next(&lines, &property)) > 0)
        if (is_selected(select, &at, &property))
            (void)entity_lines_append(ret, begin, property.lines);
    return r < 0 ? r : entity_lines_append_end(ret, begin);
}
