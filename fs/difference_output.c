/* SPDX-License-Identifier: MIT */
#include "fs/difference_output.h"
#include "client/text/entity_line.h"
#include "fs/say.h"
#include "fs/table_pair.h"

/* As a line without its end, or null. */
static int append_entity(struct buffer *lines, struct pair_row row)
{
    if (!row.page)
        return buffer_append_string(lines, "null");
    int r = entity_line_append(lines, &(struct entity_line){.text = page_text(row.page, row.row)});
    lines->size -= r == 0;
    return r;
}

static int append_json(struct buffer *lines, const struct pair *pair)
{
    (void)buffer_append_string(lines, "{\"from\":");
    int r = append_entity(lines, pair->sides[COMPARE_FROM]);
    if (r < 0)
        return r;
    (void)buffer_append_string(lines, ",\"to\":");
    r = append_entity(lines, pair->sides[COMPARE_TO]);
    return r < 0 ? r : buffer_append_string(lines, "}\n");
}

static int append_line(struct buffer *lines, const struct pair *pair)
{
    (void)buffer_append_string(lines, pair->kind == PAIR_ONLY_FROM ? "+ "
                                      : pair->kind == PAIR_ONLY_TO ? "- "
                                                                   : "~ ");
    int r = table_pair_append_path(pair->position, lines);
    return r < 0 ? r : buffer_append_char(lines, '\n');
}

static void tell_unreadable(const struct difference_output *output, const struct pair *pair)
{
    _cleanup_(buffer_finish) struct buffer path;
    uint64_t number = output->counts[PAIR_UNREADABLE];
    buffer_init(&path, TABLE_PAIR_PATH_MAX_BYTES);
    if (number <= DIFFERENCE_SHOWN + 1)
        progress_clear(output->progress);
    if (number == DIFFERENCE_SHOWN + 1)
        say("tablefuse: more entities cannot be compared, and are not named\n");
    else if (number <= DIFFERENCE_SHOWN && table_pair_append_path(pair->position, &path) == 0)
        say("tablefuse: %.*s: it cannot be compared, because it cannot be understood\n",
            (int)path.size, path.data);
}

int difference_output_take(struct difference_output *output, const struct pair *pair)
{
    output->counts[pair->kind]++;
    if (pair->kind == PAIR_UNREADABLE)
        tell_unreadable(output, pair);
    if (pair->kind == PAIR_UNREADABLE || pair->kind == PAIR_EQUAL || !output->output)
        return 0;
    struct buffer *lines = line_output_buffer(output->output);
    int r = output->is_json ? append_json(lines, pair) : append_line(lines, pair);
    return r < 0 ? r : line_output_written(output->output);
}

uint64_t difference_output_found(const struct difference_output *output)
{
    return output->counts[PAIR_ONLY_FROM] + output->counts[PAIR_ONLY_TO] +
           output->counts[PAIR_DIFFERENT];
}
