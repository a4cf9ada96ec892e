/* SPDX-License-Identifier: MIT */
#include "fs/map/drawing.h"
#include "client/base/unicode.h"
#include "client/text/printable.h"
#include "fs/tree/names.h"

#define ELLIPSIS   "\xe2\x80\xa6"
#define FIRST_WIDE 0x1100 /* from here on characters may take two columns */

uint64_t map_measure(const struct map_drawing *drawing, const struct survey_counts *counts)
{
    return survey_measure(counts, drawing->by_bytes);
}

double map_share(const struct map_drawing *drawing, const struct survey_counts *counts)
{
    uint64_t all = map_measure(drawing, &drawing->root->counts);
    return 100 * (double)map_measure(drawing, counts) / (double)MAX(all, 1);
}

static int add_part(struct map_parts *parts, struct map_part part)
{
    if (parts->count == parts->room) {
        size_t room = MAX(2 * parts->room, 16);
        struct map_part *list = reallocarray(parts->list, room, sizeof(*list));
        if (!list)
            return -ENOMEM;
        parts->list = list;
        parts->room = room;
    }
    parts->list[parts->count++] = part;
    return 0;
}

struct search {
    const struct map_drawing *drawing;
    uint64_t least, nearly; /* a prefix of at least `nearly` is replaced by its children */
    struct map_parts *parts;
};

static int add_children(const struct search *search, const struct survey_node *node)
{
    int r = 0;
    for (const struct survey_node *child = node->children; child && r == 0; child = child->next) {
        uint64_t measure = map_measure(search->drawing, &child->counts);
        size_t before = search->parts->count;
        if (child->children && measure >= search->nearly)
            r = add_children(search, child);
        if (r == 0 && search->parts->count == before && measure >= search->least)
            r = add_part(search->parts, (struct map_part){child, child->counts});
    }
    return r;
}

static int add_rest(const struct survey_node *node, struct map_parts *parts)
{
    struct survey_counts rest = node->counts;
    for (size_t i = 0; i < parts->count; i++) {
        rest.entities -= parts->list[i].counts.entities;
        rest.partitions -= parts->list[i].counts.partitions;
        rest.bytes -= parts->list[i].counts.bytes;
    }
    bool is_needed = parts->count > 0 && rest.partitions > 0;
    return is_needed ? add_part(parts, (struct map_part){NULL, rest}) : 0;
}

/* The largest first; of two that are equal the first in key order. */
static int compare_by(const struct map_part *a, const struct map_part *b, bool by_bytes)
{
    uint64_t left = survey_measure(&a->counts, by_bytes),
             right = survey_measure(&b->counts, by_bytes);
    struct bytes a_name = {a->node->name, a->node->name_size};
    struct bytes b_name = {b->node->name, b->node->name_size};
    return left != right ? (left < right ? 1 : -1) : bytes_compare(a_name, b_name);
}

static int compare_entities(const void *a, const void *b)
{
    return compare_by(a, b, false);
}

static int compare_bytes(const void *a, const void *b)
{
    return compare_by(a, b, true);
}

int map_parts_find(const struct map_drawing *drawing, const struct survey_node *node,
                   uint64_t least, bool is_brief, struct map_parts *ret)
{
    uint64_t all = map_measure(drawing, &node->counts);
    const struct search search = {drawing, least, is_brief ? all - all / 10 : UINT64_MAX, ret};
    *ret = (struct map_parts){0};
    int r = add_children(&search, node);
    if (r == 0 && ret->count > 0)
        qsort(ret->list, ret->count, sizeof(ret->list[0]),
              drawing->by_bytes ? compare_bytes : compare_entities);
    return r == 0 ? add_rest(node, ret) : r;
}

void map_parts_finish(struct map_parts *parts)
{
    free(parts->list);
}

static int append_name(struct bytes key, enum name_kind kind, struct buffer *ret)
{
    size_t begin = ret->size;
    int r = names_encode(key, kind, ret);
    if (r == -EILSEQ) /* no service has such a key */
        r = buffer_append_char(ret, '?');
    printable_replace_from(ret, begin);
    return r;
}

int map_append_title(const struct map_drawing *drawing, struct buffer *ret)
{
    size_t begin = ret->size;
    (void)buffer_append_string(ret, drawing->table);
    if (drawing->directory[0])
        (void)buffer_append_format(ret, "/%s", drawing->directory);
    printable_replace_from(ret, begin);
    return ret->error;
}

int map_append_name(const struct survey_node *node, struct buffer *ret)
{
    struct bytes name = {node->name, node->name_size};
    return append_name(name, node->is_partition ? NAME_PARTITION : NAME_PREFIX, ret);
}

int map_append_key(struct bytes partition_key, struct buffer *ret)
{
    return append_name(partition_key, NAME_PARTITION, ret);
}

static size_t columns_of(uint32_t character)
{
    return character < FIRST_WIDE || (character >= 0x2000 && character < 0x2E80) ? 1 : 2;
}

size_t map_columns(struct bytes text)
{
    size_t columns = 0, n;
    for (uint32_t character; (n = utf8_next(text, &character)) > 0; text = bytes_skip(text, n))
        columns += columns_of(character);
    return columns;
}

size_t map_beginning(struct bytes text, size_t columns)
{
    size_t size = 0, used = 0, n;
    for (uint32_t character; (n = utf8_next(bytes_skip(text, size), &character)) > 0; size += n) {
        used += columns_of(character);
        if (used > columns)
            break;
    }
    return size;
}

int map_append_cut(struct bytes text, size_t columns, struct buffer *ret)
{
    size_t all = map_columns(text);
    if (all <= columns)
        return buffer_append(ret, text);
    size_t behind = columns / 2, before = columns - MIN(columns, behind + 1);
    size_t skipped = map_beginning(text, all - behind);
    while (map_columns(bytes_skip(text, skipped)) > behind) { /* half of a wide character is left */
        uint32_t character;
        skipped += utf8_next(bytes_skip(text, skipped), &character);
    }
    (void)buffer_append(ret, bytes_first(text, map_beginning(text, before)));
    (void)buffer_append_string(ret, ELLIPSIS);
    return buffer_append(ret, bytes_skip(text, skipped));
}
