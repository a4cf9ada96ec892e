/* SPDX-License-Identifier: MIT */
/* A line: its numbers in columns that are as wide as those of the first line, which has the
 * largest; a bar; the branches of the tree and the name. */
#include "fs/map/text.h"
#include "fs/cli/progress.h"
#include "fs/map/warnings.h"

#define WORDS_COLUMNS 79 /* of the warnings */
#define BAR_COLUMNS   12
#define LEAST_SHARE   20 /* of all: a twentieth, so a level has at most 20 lines and the rest */
#define BRANCHES      64 /* levels that are drawn; deeper ones are not indented further */

struct tree {
    const struct map_drawing *drawing;
    struct buffer *out;
    uint64_t least;
    int depth;
    int bytes_width, entities_width, partitions_width; /* 0: no such column */
    bool has_more[BRANCHES]; /* at each level: another part follows the one above */
};

static int append_columns(struct buffer *ret, int width, const char *text)
{
    return width == 0 ? 0 : buffer_append_format(ret, "%*s  ", width, text);
}

static int append_numbers(struct tree *tree, const struct survey_counts *counts)
{
    char bytes[PROGRESS_BYTES_SIZE];
    char entities[PROGRESS_NUMBER_SIZE], partitions[PROGRESS_NUMBER_SIZE];
    (void)append_columns(tree->out, tree->bytes_width, progress_bytes(counts->bytes, bytes));
    (void)append_columns(tree->out, tree->entities_width,
                         progress_number(counts->entities, entities));
    return append_columns(tree->out, tree->partitions_width,
                          progress_number(counts->partitions, partitions));
}

/* Of full blocks, and of a part of one at the end; always BAR_COLUMNS wide. */
static int append_bar(struct buffer *ret, double share)
{
    static const char *const eighths[] = {"",
                                          "\xe2\x96\x8f",
                                          "\xe2\x96\x8e",
                                          "\xe2\x96\x8d",
                                          "\xe2\x96\x8c",
                                          "\xe2\x96\x8b",
                                          "\xe2\x96\x8a",
                                          "\xe2\x96\x89"};
    int filled = (int)(share / 100 * 8 * BAR_COLUMNS + 0.5), columns = (filled + 7) / 8;
    for (int i = 0; i < filled / 8; i++)
        (void)buffer_append_string(ret, "\xe2\x96\x88");
    (void)buffer_append_string(ret, eighths[filled % 8]);
    return buffer_append_format(ret, "%*s", BAR_COLUMNS - columns, "");
}

static size_t append_branches(struct tree *tree, int level)
{
    int drawn = MIN(level, BRANCHES - 1);
    for (int i = 1; i < drawn; i++)
        (void)buffer_append_string(tree->out, tree->has_more[i] ? "\xe2\x94\x82  " : "   ");
    if (drawn > 0)
        (void)buffer_append_string(tree->out, tree->has_more[drawn] ? "\xe2\x94\x9c\xe2\x94\x80 "
                                                                    : "\xe2\x94\x94\xe2\x94\x80 ");
    return 3 * (size_t)drawn;
}

static int append_line(struct tree *tree, const struct survey_counts *counts, int level,
                       struct bytes name)
{
    double share = map_share(tree->drawing, counts);
    size_t used = (size_t)(tree->bytes_width + tree->entities_width + tree->partitions_width) +
                  (tree->bytes_width > 0 ? 6 : 4) + 6 + 2 + BAR_COLUMNS + 2;
    (void)append_numbers(tree, counts);
    (void)buffer_append_format(tree->out, "%5.1f%%  ", share);
    (void)append_bar(tree->out, share);
    (void)buffer_append_string(tree->out, "  ");
    used += append_branches(tree, level);
    size_t columns = tree->drawing->columns;
    (void)map_append_cut(name, columns > 0 ? MAX(columns, used + 9) - used - 1 : SIZE_MAX,
                         tree->out);
    return buffer_append_char(tree->out, '\n');
}

static int append_part(struct tree *tree, const struct map_part *part, int level)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = POSITION_MAX_BYTES};
    int r =
        part->node ? map_append_name(part->node, &name) : buffer_append_string(&name, "(the rest)");
    if (r == 0 && part->node)
        r = buffer_append_char(&name, '/');
    return r < 0 ? r : append_line(tree, &part->counts, level, buffer_bytes(&name));
}

/* The parts below the node, which is at the level before. */
static int append_below(struct tree *tree, const struct survey_node *node, int level)
{
    struct map_parts parts = {0};
    int r =
        level > tree->depth ? 0 : map_parts_find(tree->drawing, node, tree->least, true, &parts);
    for (size_t i = 0; i < parts.count && r == 0; i++) {
        tree->has_more[MIN(level, BRANCHES - 1)] = i + 1 < parts.count;
        r = append_part(tree, &parts.list[i], level);
        if (r == 0 && parts.list[i].node)
            r = append_below(tree, parts.list[i].node, level + 1);
    }
    map_parts_finish(&parts);
    return r;
}

static int number_width(uint64_t number, const char *heading)
{
    char text[PROGRESS_NUMBER_SIZE];
    return (int)MAX(strlen(progress_number(number, text)), strlen(heading));
}

static int append_heading(struct tree *tree)
{
    (void)append_columns(tree->out, tree->bytes_width, "bytes");
    (void)append_columns(tree->out, tree->entities_width, "entities");
    (void)append_columns(tree->out, tree->partitions_width, "partitions");
    return buffer_append_string(tree->out, " share\n");
}

int map_text_append(const struct map_drawing *drawing, struct buffer *ret)
{
    const struct survey_node *root = drawing->root;
    uint64_t measure = map_measure(drawing, &root->counts);
    struct tree tree = {.drawing = drawing,
                        .out = ret,
                        .least = MAX((measure + LEAST_SHARE - 1) / LEAST_SHARE, 1),
                        .depth = drawing->depth > 0 ? drawing->depth : MAP_TEXT_DEPTH,
                        .bytes_width = drawing->by_bytes ? 8 : 0,
                        .entities_width = number_width(root->counts.entities, "entities"),
                        .partitions_width = number_width(root->counts.partitions, "partitions")};
    _cleanup_(buffer_finish) struct buffer title = {.max = MAP_TEXT_MAX_BYTES};
    (void)map_append_title(drawing, &title);
    (void)buffer_append_char(&title, '/');
    int r = title.error < 0 ? title.error : append_heading(&tree);
    if (r == 0)
        r = append_line(&tree, &root->counts, 0, buffer_bytes(&title));
    if (r == 0)
        r = append_below(&tree, root, 1);
    return r < 0 ? r : map_warnings_append_text(drawing, WORDS_COLUMNS, ret);
}
