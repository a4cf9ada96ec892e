/* SPDX-License-Identifier: MIT */
#include "fs/map/warnings.h"
#include "fs/cli/progress.h"

#define KEY_COLUMNS 40 /* of a key in a sentence */

bool map_warning_is_given(const struct table_facts *facts, enum map_warning warning)
{
    const struct survey_counts *all = &facts->all->counts;
    switch (warning) {
    case MAP_WARNING_ONE_PARTITION:
        return facts->largest_entities >= MAP_WARNING_LARGE &&
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

static int append_key(struct bytes key, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};
    int r = map_append_key(key, &name);
    return r < 0 ? r : map_append_cut(buffer_bytes(&name), KEY_COLUMNS, ret);
}

static int append_one_partition(const struct table_facts *facts, struct buffer *ret)
{
    char of[PROGRESS_NUMBER_SIZE], all[PROGRESS_NUMBER_SIZE];
    (void)append_key(facts->largest_key, ret);
    return buffer_append_format(ret,
                                " has %s of %s entities. A partition is on one server, "
                                "which takes about 2,000 of its entities a second.",
                                progress_number(facts->largest_entities, of),
                                progress_number(facts->all->counts.entities, all));
}

static int append_growing_keys(const struct table_facts *facts, struct buffer *ret)
{
    char of[PROGRESS_NUMBER_SIZE], all[PROGRESS_NUMBER_SIZE];
    bool is_time = facts->growth.kind == KEY_GROWTH_TIMES;
    (void)buffer_append_format(
        ret, "%s of %s partition keys are %s, from ", progress_number(facts->growth.members, of),
        progress_number(facts->all->counts.partitions, all), is_time ? "times" : "a counter");
    (void)append_key(facts->growth.first, ret);
    (void)buffer_append_string(ret, " to ");
    (void)append_key(facts->growth.last, ret);
    return buffer_append_format(ret, ". If new entities get %s key, all of them go to one server.",
                                is_time ? "the latest" : "the next");
}

static int append_single(const struct table_facts *facts, struct buffer *ret)
{
    char of[PROGRESS_NUMBER_SIZE], all[PROGRESS_NUMBER_SIZE];
    return buffer_append_format(ret,
                                "%s of %s partitions have one entity. A transaction is within one "
                                "partition, so each change is a request of its own.",
                                progress_number(facts->single_partitions, of),
                                progress_number(facts->all->counts.partitions, all));
}

static int append_long_keys(const struct table_facts *facts, struct buffer *ret)
{
    char partitions[PROGRESS_NUMBER_SIZE], rows[PROGRESS_NUMBER_SIZE];
    return buffer_append_format(ret,
                                "Longer than %d bytes: partition keys %s, row keys %s. A mount "
                                "cuts their names.",
                                TABLE_MAP_LONG_KEY_BYTES,
                                progress_number(facts->long_partition_keys, partitions),
                                progress_number(facts->long_row_keys, rows));
}

int map_warning_append(const struct table_facts *facts, enum map_warning warning,
                       struct buffer *ret)
{
    static int (*const append[MAP_WARNINGS])(const struct table_facts *, struct buffer *) = {
        [MAP_WARNING_ONE_PARTITION] = append_one_partition,
        [MAP_WARNING_GROWING_KEYS] = append_growing_keys,
        [MAP_WARNING_SINGLE] = append_single,
        [MAP_WARNING_LONG_KEYS] = append_long_keys,
    };
    return append[warning](facts, ret);
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
    int r = 0;
    for (enum map_warning warning = 0; warning < MAP_WARNINGS && r == 0; warning++) {
        _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
        if (!map_warning_is_given(drawing->facts, warning))
            continue;
        r = map_warning_append(drawing->facts, warning, &text);
        (void)buffer_append_char(ret, '\n');
        if (r == 0)
            r = append_wrapped(buffer_bytes(&text), columns, ret);
    }
    return r;
}
