/* SPDX-License-Identifier: MIT */
#include "fs/output/difference_output.h"
#include "client/entity/entity_line.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"

#define SHOW_EVERY 1024 /* pairs between two readings of the clock */

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

static void report_unreadable(const struct difference_output *output, const struct pair *pair)
{
    _cleanup_(buffer_finish) struct buffer path = {.max = TABLE_PAIR_PATH_MAX_BYTES};
    if (progress_may_report(&output->progress, output->counts[PAIR_UNREADABLE],
                            "more entities cannot be compared, and are not named") &&
        table_pair_append_path(pair->position, &path) == 0)
        say("tablefuse: %.*s: it cannot be compared, because it cannot be understood\n",
            (int)path.size, path.data);
}

/* 0 or an errno of the output. */
static int take(struct difference_output *output, const struct pair *pair)
{
    output->counts[pair->kind]++;
    if (pair->kind == PAIR_UNREADABLE)
        report_unreadable(output, pair);
    if (pair->kind == PAIR_UNREADABLE || pair->kind == PAIR_EQUAL || !output->output)
        return 0;
    struct buffer *lines = line_output_buffer(output->output);
    int r = output->is_json ? append_json(lines, pair) : append_line(lines, pair);
    return r < 0 ? r : line_output_written(output->output);
}

void difference_output_show(struct difference_output *output, const struct table_pair *tables,
                            const struct sync *sync, struct bytes position)
{
    if (!progress_is_due(&output->progress))
        return;
    const struct progress_counts counts = {.rows = table_pair_read(tables),
                                           .position = position,
                                           .is_throttled = sync && sync_is_throttled(sync)};
    progress_show(&output->progress, &counts);
}

int difference_output_compare(struct difference_output *output, struct table_pair *tables,
                              struct sync *sync)
{
    struct pair pair;
    int r;
    for (uint64_t n = 1; (r = comparison_next(tables->comparison, &pair)) > 0; n++) {
        output->error = r = take(output, &pair);
        if (r == 0 && sync)
            r = sync_take(sync, &pair);
        if (r < 0)
            return r;
        if (n % SHOW_EVERY == 0)
            difference_output_show(output, tables, sync, pair.position);
    }
    output->comparison_error = r;
    int flushed = output->output ? line_output_flush(output->output) : 0;
    if (r == 0 || flushed == -EPIPE) /* what was read before the failure is written */
        output->error = r = flushed;
    return r;
}

int difference_output_complain(const struct difference_output *output, struct table_pair *tables,
                               int r)
{
    if (output->error == 0 || table_pair_is_interrupted(tables))
        return table_pair_complain(tables, r);
    say("tablefuse: cannot write the output: %s\n", strerror(-r));
    return EXIT_MOUNTING;
}

uint64_t difference_output_found(const struct difference_output *output)
{
    return output->counts[PAIR_ONLY_FROM] + output->counts[PAIR_ONLY_TO] +
           output->counts[PAIR_DIFFERENT];
}
