/* SPDX-License-Identifier: MIT */
#include "fs/map/json.h"
#include "client/text/json_string.h"
#include "fs/map/warnings.h"
#include "fs/tree/names.h"

#include <inttypes.h>

#define LEAST_SHARE 10000 /* of all. The survey keeps what is as large: cache/bulk/table_map.c */

struct json {
    const struct map_drawing *drawing;
    struct buffer *out;
    uint64_t least;
    bool has_part; /* one was written: a comma is needed */
};

static int append_string(struct buffer *ret, const char *name, struct bytes cesu8)
{
    (void)buffer_append_format(ret, "\"%s\":\"", name);
    (void)json_string_append_of_cesu8(ret, cesu8);
    return buffer_append_char(ret, '"');
}

static int append_text(struct buffer *ret, const char *name, struct bytes utf8)
{
    (void)buffer_append_format(ret, "\"%s\":\"", name);
    (void)json_string_append_of_utf8(ret, utf8);
    return buffer_append_char(ret, '"');
}

static int append_counts(const struct json *json, const struct survey_counts *counts)
{
    (void)buffer_append_format(json->out, "\"entities\":%" PRIu64 ",\"partitions\":%" PRIu64,
                               counts->entities, counts->partitions);
    return json->drawing->by_bytes
               ? buffer_append_format(json->out, ",\"bytes\":%" PRIu64, counts->bytes)
               : json->out->error;
}

static bool is_part(const struct json *json, const struct survey_node *node)
{
    return map_measure(json->drawing, &node->counts) >= json->least;
}

/* The counts, and what of them is in no part below; level: of the node. */
static int append_all_counts(const struct json *json, const struct survey_node *node, int level)
{
    struct survey_counts rest = node->counts;
    bool is_deepest = json->drawing->depth > 0 && level >= json->drawing->depth;
    for (const struct survey_node *child = node->children; child && !is_deepest;
         child = child->next)
        if (is_part(json, child)) {
            rest.entities -= child->counts.entities;
            rest.partitions -= child->counts.partitions;
            rest.bytes -= child->counts.bytes;
        }
    (void)append_counts(json, &node->counts);
    if (rest.partitions == 0 || rest.partitions == node->counts.partitions)
        return json->out->error;
    (void)buffer_append_string(json->out, ",\"rest\":{");
    (void)append_counts(json, &rest);
    return buffer_append_char(json->out, '}');
}

static int append_part(struct json *json, const struct survey_node *node, int level)
{
    _cleanup_(buffer_finish) struct buffer path = {.max = POSITION_MAX_BYTES};
    struct bytes name = {node->name, node->name_size};
    (void)names_encode(name, node->is_partition ? NAME_PARTITION : NAME_PREFIX, &path);
    (void)buffer_append_string(json->out, json->has_part ? ",\n{" : "\n{");
    json->has_part = true;
    (void)append_text(json->out, "path", buffer_bytes(&path));
    (void)buffer_append_char(json->out, ',');
    (void)append_string(json->out, node->is_partition ? "partition" : "prefix", name);
    (void)buffer_append_format(json->out, ",\"level\":%d,", level);
    (void)append_all_counts(json, node, level);
    return path.error < 0 ? path.error : buffer_append_char(json->out, '}');
}

/* The parts below the node, which is at the level before. Calls itself for each level of prefixes,
 * of which there are at most PREFIX_MAX_BYTES. */
static int append_parts(struct json *json, const struct survey_node *node, int level)
{
    int r = 0;
    if (json->drawing->depth > 0 && level > json->drawing->depth)
        return 0;
    for (const struct survey_node *child = node->children; child && r == 0; child = child->next) {
        if (!is_part(json, child))
            continue;
        r = append_part(json, child, level);
        if (r == 0)
            r = append_parts(json, child, level + 1);
    }
    return r;
}

static const char *const growth_kinds[] = {[KEY_GROWTH_TIMES] = "times",
                                           [KEY_GROWTH_REVERSED_TIMES] = "reversed_times",
                                           [KEY_GROWTH_COUNTER] = "counter"};

static int append_numbers(const struct table_facts *facts, enum map_warning warning,
                          struct buffer *ret)
{
    switch (warning) {
    case MAP_WARNING_ONE_PARTITION:
        (void)buffer_append_string(ret, "\"one_partition\",");
        (void)append_string(ret, "partition", facts->largest_key);
        return buffer_append_format(ret, ",\"entities\":%" PRIu64, facts->largest_entities);
    case MAP_WARNING_GROWING_KEYS:
        (void)buffer_append_format(ret,
                                   "\"growing_keys\",\"kind\":\"%s\",\"partitions\":%" PRIu64 ",",
                                   growth_kinds[facts->growth.kind], facts->growth.members);
        (void)append_string(ret, "first", facts->growth.first);
        (void)buffer_append_char(ret, ',');
        return append_string(ret, "last", facts->growth.last);
    case MAP_WARNING_SINGLE:
        return buffer_append_format(ret, "\"single_entities\",\"partitions\":%" PRIu64,
                                    facts->single_partitions);
    case MAP_WARNING_LONG_KEYS:
        return buffer_append_format(
            ret, "\"long_keys\",\"partition_keys\":%" PRIu64 ",\"row_keys\":%" PRIu64,
            facts->long_partition_keys, facts->long_row_keys);
    case MAP_WARNINGS:
        break;
    }
    return 0;
}

static int append_warnings(const struct map_drawing *drawing, struct buffer *ret)
{
    const char *separator = "\n";
    int r = 0;
    for (enum map_warning warning = 0; warning < MAP_WARNINGS && r == 0; warning++) {
        _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
        if (!map_warning_is_given(drawing, warning))
            continue;
        r = map_warning_append(drawing, warning, &text);
        (void)buffer_append_format(ret, "%s{\"warning\":", separator);
        (void)append_numbers(drawing->facts, warning, ret);
        (void)buffer_append_char(ret, ',');
        (void)append_text(ret, "text", buffer_bytes(&text));
        (void)buffer_append_char(ret, '}');
        separator = ",\n";
    }
    return r;
}

int map_json_append(const struct map_drawing *drawing, struct buffer *ret)
{
    const struct survey_node *root = drawing->root;
    uint64_t measure = map_measure(drawing, &root->counts);
    struct json json = {
        .drawing = drawing, .out = ret, .least = MAX((measure + LEAST_SHARE - 1) / LEAST_SHARE, 1)};
    (void)buffer_append_char(ret, '{');
    (void)append_text(ret, "table", bytes_of(drawing->table));
    (void)buffer_append_char(ret, ',');
    (void)append_text(ret, "directory", bytes_of(drawing->directory));
    (void)buffer_append_char(ret, ',');
    (void)append_all_counts(&json, root, 0);
    (void)buffer_append_string(ret, ",\"parts\":[");
    int r = append_parts(&json, root, 1);
    (void)buffer_append_string(ret, "],\n\"warnings\":[");
    if (r == 0)
        r = append_warnings(drawing, ret);
    return r < 0 ? r : buffer_append_string(ret, "]}\n");
}
