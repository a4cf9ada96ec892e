/* SPDX-License-Identifier: MIT */
#include "fs/map/warnings.h"
#include "fs/cli/progress.h"

#define KEY_COLUMNS 40 /* of a key in a sentence */

bool map_warning_is_given(const struct map_drawing *drawing, enum map_warning warning)
{
    const struct table_facts *facts = drawing->facts;
    const struct survey_counts *all = &facts->all->counts;
    switch (warning) {
    case MAP_WARNING_ONE_PARTITION:
        return !drawing->root->is_partition && facts->largest_entities >= MAP_WARNING_LARGE &&
               facts->largest_entities >= all->entities - facts->largest_entities;
    case MAP_WARNING_GROWING_KEYS:
        return facts->growth.kind != KEY_GROWTH_NONE;
    case MAP_WARNING_SINGLE:
        return facts->single_partitions >= MAP_WARNING_MANY &&
               facts->single_partitions >= all->partitions - facts->single_partitions;
    case MAP_WARNING_LONG_KEYS:
        return facts->long_partition_keys > 0 || facts->long_row_keys > 0;
    case MAP_WARNINGS:
        break;
    }
    return false;
}

static int append_key(const struct map_drawing *drawing, struct bytes key, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};
    int r = map_append_key(key, &name);
    size_t columns = drawing->columns > 0 ? KEY_COLUMNS : SIZE_MAX;
    return r < 0 ? r : map_append_cut(buffer_bytes(&name), columns, ret);
}

/* "3 of 4", or "all 4". all_word: "all" or "All". */
static int append_part_of(uint64_t part, uint64_t all, const char *all_word, struct buffer *ret)
{
    char part_text[PROGRESS_NUMBER_SIZE], all_text[PROGRESS_NUMBER_SIZE];
    return buffer_append_format(ret, part == all ? "%s %s" : "%s of %s",
                                part == all ? all_word : progress_number(part, part_text),
                                progress_number(all, all_text));
}

static int append_one_partition(const struct map_drawing *drawing, struct buffer *ret)
{
    const struct table_facts *facts = drawing->facts;
    int r = append_key(drawing, facts->largest_key, ret);
    (void)buffer_append_string(ret, " has ");
    (void)append_part_of(facts->largest_entities, facts->all->counts.entities, "all", ret);
    (void)buffer_append_string(ret, " entities. A partition is on one server, which takes about "
                                    "2,000 of its entities a second.");
    return r < 0 ? r : ret->error;
}

static int append_growing_keys(const struct map_drawing *drawing, struct buffer *ret)
{
    static const struct {
        const char *name, *new_key;
    } kinds[] = {
        [KEY_GROWTH_TIMES] = {"times", "the latest"},
        [KEY_GROWTH_REVERSED_TIMES] = {"times, newest first", "the first"},
        [KEY_GROWTH_COUNTER] = {"a counter", "the next"},
    };
    const struct table_facts *facts = drawing->facts;
    const struct key_growth_finding *growth = &facts->growth;
    (void)append_part_of(growth->members, facts->all->counts.partitions, "All", ret);
    (void)buffer_append_format(ret, " partition keys are %s, from ", kinds[growth->kind].name);
    int r = append_key(drawing, growth->first, ret);
    (void)buffer_append_string(ret, " to ");
    if (r == 0)
        r = append_key(drawing, growth->last, ret);
    (void)buffer_append_format(ret, ". If new entities get %s key, all of them go to one server.",
                               kinds[growth->kind].new_key);
    return r < 0 ? r : ret->error;
}

static int append_single(const struct map_drawing *drawing, struct buffer *ret)
{
    const struct table_facts *facts = drawing->facts;
    (void)append_part_of(facts->single_partitions, facts->all->counts.partitions, "All", ret);
    return buffer_append_string(ret, " partitions have one entity. A transaction is within one "
                                     "partition, so each change is a request of its own.");
}

static int append_long_keys(const struct map_drawing *drawing, struct buffer *ret)
{
    const struct table_facts *facts = drawing->facts;
    uint64_t partitions = facts->long_partition_keys, rows = facts->long_row_keys;
    char number[PROGRESS_NUMBER_SIZE];
    (void)buffer_append_format(ret, "Longer than %d bytes: ", TABLE_MAP_LONG_KEY_BYTES);
    if (partitions > 0)
        (void)buffer_append_format(ret, "%s partition %s", progress_number(partitions, number),
                                   partitions == 1 ? "key" : "keys");
    if (rows > 0)
        (void)buffer_append_format(ret, "%s%s row %s (with .json)", partitions > 0 ? ", " : "",
                                   progress_number(rows, number), rows == 1 ? "key" : "keys");
    return buffer_append_string(ret, ". A mount cuts their names, which end in #~ and a checksum. "
                                     "The file has the key: see tree.md.");
}

int map_warning_append(const struct map_drawing *drawing, enum map_warning warning,
                       struct buffer *ret)
{
    static int (*const append[MAP_WARNINGS])(const struct map_drawing *, struct buffer *) = {
        [MAP_WARNING_ONE_PARTITION] = append_one_partition,
        [MAP_WARNING_GROWING_KEYS] = append_growing_keys,
        [MAP_WARNING_SINGLE] = append_single,
        [MAP_WARNING_LONG_KEYS] = append_long_keys,
    };
    return append[warning](drawing, ret);
}

/* Words with blanks between, in lines; a longer word has a line of its own. */
static int append_wrapped(struct bytes text, size_t columns, struct buffer *ret)
{
    size_t used = 0;
    while (text.size > 0) {
        struct bytes word = bytes_take_until(&text, ' ');
        size_t size = map_columns(word);
        if (used > 0 && used + 1 + size > columns) {
            (void)buffer_append_char(ret, '\n');
            used = 0;
        } else if (used > 0) {
            (void)buffer_append_char(ret, ' ');
            used++;
        }
        (void)buffer_append(ret, word);
        used += size;
    }
    return buffer_append_char(ret, '\n');
}

int map_warnings_append_text(const struct map_drawing *drawing, size_t columns, struct buffer *ret)
{
    int r = drawing->root->counts.entities > 0
                ? 0
                : buffer_append_string(ret, "\nThe table is empty.\n");
    for (enum map_warning warning = 0; warning < MAP_WARNINGS && r == 0; warning++) {
        _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
        if (!map_warning_is_given(drawing, warning))
            continue;
        r = map_warning_append(drawing, warning, &text);
        (void)buffer_append_char(ret, '\n');
        if (r == 0)
            r = append_wrapped(buffer_bytes(&text), columns, ret);
    }
    return r;
}
