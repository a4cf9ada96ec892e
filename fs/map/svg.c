/* SPDX-License-Identifier: MIT */
#include "fs/map/svg.h"
#include "client/base/unicode.h"
#include "fs/cli/progress.h"
#include "fs/map/treemap.h"
#include "fs/map/warnings.h"

#include <math.h>

#define WIDTH       960.0
#define MAP_TOP     36.0
#define MAP_HEIGHT  540.0
#define MARGIN      8.0
#define BORDER      2.0    /* at most, of the line that is inside a box */
#define LEAST_SHARE 2000   /* of all: a square of 16 pixels */
#define SMALL_SHARE 0.0025 /* of all: the scale where one entity is a large square */
#define LINE_WIDTH  112    /* columns of the warnings */
#define LINE_HEIGHT 17.0

#define THIN_LINE " stroke=\"#000\" stroke-width=\"0.5\""

#define CHARACTER_WIDTH  0.61 /* of a fixed width, in parts of the size */
#define CHARACTER_HEIGHT 1.25
#define SMALLEST_TEXT    9
#define NAME_LINES       4  /* at most */
#define LEAST_COLUMNS    8  /* of a line of several */
#define LEAST_ROOM       14 /* columns of a name that does not fit */

struct picture {
    const struct map_drawing *drawing;
    uint64_t least;
    struct buffer boxes, borders, labels; /* in the order in which they are drawn */
    struct buffer notes;
    size_t labelled; /* rectangles and prefixes that have a label */
};

/* XML has no place for U+FFFE and U+FFFF, nor for control characters, which printable text has not.
 */
static int append_xml(struct bytes text, struct buffer *ret)
{
    size_t n;
    for (uint32_t character; (n = utf8_next(text, &character)) > 0; text = bytes_skip(text, n)) {
        const char *escaped = character == '&'                             ? "&amp;"
                              : character == '<'                           ? "&lt;"
                              : character == '>'                           ? "&gt;"
                              : character == '"'                           ? "&quot;"
                              : character == 0xFFFE || character == 0xFFFF ? "?"
                                                                           : NULL;
        (void)(escaped ? buffer_append_string(ret, escaped)
                       : buffer_append(ret, bytes_first(text, n)));
    }
    return ret->error;
}

/* "9,000 entities, 3 partitions", with bytes before that. */
static int append_counts(const struct map_drawing *drawing, const struct survey_counts *counts,
                         struct buffer *ret)
{
    char bytes[PROGRESS_BYTES_SIZE];
    char entities[PROGRESS_NUMBER_SIZE], partitions[PROGRESS_NUMBER_SIZE];
    if (drawing->by_bytes)
        (void)buffer_append_format(ret, "%s, ", progress_bytes(counts->bytes, bytes));
    return buffer_append_format(ret, "%s %s, %s %s", progress_number(counts->entities, entities),
                                counts->entities == 1 ? "entity" : "entities",
                                progress_number(counts->partitions, partitions),
                                counts->partitions == 1 ? "partition" : "partitions");
}

static int append_box(struct buffer *ret, struct box box)
{
    return buffer_append_format(ret, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                                box.x, box.y, box.width, box.height);
}

struct text { /* how a label is written */
    int size;
    size_t columns, lines, name_lines;
    bool fits; /* the whole name */
};

static struct text text_of_size(struct box box, struct bytes name, int size)
{
    double columns = (box.width - MARGIN) / (CHARACTER_WIDTH * size);
    double lines = (box.height - MARGIN / 2) / (CHARACTER_HEIGHT * size);
    struct text text = {size, (size_t)MAX(columns, 0), (size_t)MAX(lines, 0), 0, false};
    text.name_lines = (map_columns(name) + text.columns - 1) / MAX(text.columns, 1);
    text.fits = text.columns > 0 && text.name_lines <= text.lines;
    return text;
}

/* One line, if it need not be of the smallest text; else the largest text in which the whole name
 * fits, but not in lines that are very short; else, if there is room for a part of the name, the
 * smallest text. lines 0: no text. */
static struct text text_for(struct box box, struct bytes name, size_t max_lines)
{
    static const int sizes[] = {20, 16, 13, 11, SMALLEST_TEXT};
    struct text text = {0};
    for (size_t i = 0; i + 1 < ARRAY_SIZE(sizes); i++) {
        text = text_of_size(box, name, sizes[i]);
        if (text.fits && text.name_lines == 1)
            return text;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        text = text_of_size(box, name, sizes[i]);
        if (text.fits && text.name_lines <= max_lines &&
            (text.name_lines == 1 || text.columns >= LEAST_COLUMNS))
            return text;
    }
    text.name_lines = MIN(text.lines, max_lines);
    if (text.columns < LEAST_COLUMNS || text.columns * text.name_lines < LEAST_ROOM)
        text.lines = 0;
    return text;
}

static int append_text(struct box box, const struct text *text, size_t line, struct bytes words,
                       struct buffer *ret)
{
    (void)buffer_append_format(
        ret, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\">", box.x + MARGIN / 2,
        box.y + ((double)line * CHARACTER_HEIGHT + 1.1) * text->size, text->size);
    (void)append_xml(words, ret);
    return buffer_append_string(ret, "</text>\n");
}

/* Draws a white rectangle under a label, so that no line crosses the text. The rectangle lies
 * inside the border of the label's box. `lines`, `columns`: the size of the label. */
static int append_background(struct box box, const struct text *text, size_t lines, size_t columns,
                             struct buffer *ret)
{
    double width = (double)columns * CHARACTER_WIDTH * text->size + MARGIN / 2;
    double height = ((double)lines * CHARACTER_HEIGHT + 0.1) * text->size;
    (void)append_box(ret, (struct box){box.x + BORDER, box.y + BORDER,
                                       MIN(width, box.width - 2 * BORDER),
                                       MIN(height, box.height - 2 * BORDER)});
    return buffer_append_string(ret, " fill=\"#fff\"/>\n");
}

static int append_name(const struct picture *picture, const struct survey_node *node,
                       struct buffer *ret)
{
    if (node == picture->drawing->root)
        return map_append_title(picture->drawing, ret);
    return node ? map_append_name(node, ret) : buffer_append_string(ret, "the rest");
}

static int append_xml_name(const struct picture *picture, const struct survey_node *node,
                           struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = MAP_TEXT_MAX_BYTES};
    int r = append_name(picture, node, &name);
    return r < 0 ? r : append_xml(buffer_bytes(&name), ret);
}

/* The name in lines as wide as the box, and how much it is if there is room. is_over: there are
 * smaller boxes in the box. */
static int append_label(struct picture *picture, struct box box, const struct map_part *part,
                        size_t max_lines, bool is_over)
{
    const struct survey_counts *counts = &part->counts;
    char much[MAX(PROGRESS_NUMBER_SIZE, PROGRESS_BYTES_SIZE)];
    struct bytes number =
        bytes_of(picture->drawing->by_bytes ? progress_bytes(counts->bytes, much)
                                            : progress_number(counts->entities, much));
    _cleanup_(buffer_finish) struct buffer name = {.max = MAP_TEXT_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer cut = {.max = MAP_TEXT_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer texts = {.max = MAP_TEXT_MAX_BYTES};
    int r = append_name(picture, part->node, &name);
    struct text text = text_for(box, buffer_bytes(&name), max_lines);
    size_t line = 0, columns = 0;
    if (r < 0 || text.lines == 0)
        return r;
    r = map_append_cut(buffer_bytes(&name), text.columns * text.name_lines, &cut);
    for (struct bytes rest = buffer_bytes(&cut); rest.size > 0 && r == 0; line++) {
        struct bytes words = bytes_first(rest, map_beginning(rest, text.columns));
        r = words.size > 0 ? append_text(box, &text, line, words, &texts) : 0;
        columns = MAX(columns, map_columns(words));
        rest = bytes_skip(rest, words.size > 0 ? words.size : rest.size);
    }
    picture->labelled++;
    if (r == 0 && line < text.lines && number.size <= text.columns) {
        r = append_text(box, &text, line++, number, &texts);
        columns = MAX(columns, number.size);
    }
    if (r == 0 && is_over)
        r = append_background(box, &text, line, columns, &picture->labels);
    return r < 0 ? r : buffer_append(&picture->labels, buffer_bytes(&texts));
}

/* A rectangle without smaller ones in it. */
static int draw_box(struct picture *picture, const struct map_part *part, struct box box)
{
    const struct survey_node *node = part->node;
    const char *fill = !node ? "url(#rest)" : node->is_partition ? "#fff" : "#e4e4e4";
    (void)append_box(&picture->boxes, box);
    (void)buffer_append_format(&picture->boxes, " fill=\"%s\"><title>", fill);
    int r = append_xml_name(picture, node, &picture->boxes);
    (void)buffer_append_string(&picture->boxes, "\n");
    (void)append_counts(picture->drawing, &part->counts, &picture->boxes);
    (void)buffer_append_string(&picture->boxes, "</title></rect>\n");
    return r < 0 || !node
               ? r
               : append_label(picture, box, part, node->is_partition ? NAME_LINES : 1, false);
}

static int draw_part(struct picture *picture, const struct map_part *part, struct box box,
                     int level);

static int draw_parts(struct picture *picture, const struct map_parts *parts, struct box box,
                      int level)
{
    _cleanup_(freep) double *weights = calloc(parts->count, sizeof(*weights));
    _cleanup_(freep) struct box *boxes = calloc(parts->count, sizeof(*boxes));
    int r = weights && boxes ? 0 : -ENOMEM;
    for (size_t i = 0; i < parts->count && r == 0; i++)
        weights[i] = (double)MAX(map_measure(picture->drawing, &parts->list[i].counts), 1);
    if (r == 0)
        treemap_divide(box, weights, parts->count, boxes);
    for (size_t i = 0; i < parts->count && r == 0; i++)
        r = draw_part(picture, &parts->list[i], boxes[i], level);
    return r;
}

/* The parts of a prefix, if they have at least half of it. None: it is drawn whole. */
static int parts_of(const struct picture *picture, const struct map_part *part, int level,
                    struct map_parts *ret)
{
    const struct map_drawing *drawing = picture->drawing;
    if (!part->node || (drawing->depth > 0 && level >= drawing->depth))
        return 0;
    int r = map_parts_find(drawing, part->node, picture->least, false, ret);
    const struct map_part *last = ret->count > 0 ? &ret->list[ret->count - 1] : NULL;
    if (last && !last->node &&
        map_measure(drawing, &last->counts) > map_measure(drawing, &part->counts) / 2)
        ret->count = 0;
    return r;
}

/* Calls itself for each level of prefixes, of which there are at most PREFIX_MAX_BYTES. A prefix
 * has a label if nothing in it has one. */
static int draw_part(struct picture *picture, const struct map_part *part, struct box box,
                     int level)
{
    struct map_parts parts = {0};
    size_t labelled = picture->labelled;
    int r = parts_of(picture, part, level, &parts);
    if (r == 0 && parts.count == 0)
        r = draw_box(picture, part, box);
    else if (r == 0)
        r = draw_parts(picture, &parts, box, level + 1);
    if (r == 0 && level > 0 && parts.count > 0 && picture->labelled == labelled)
        r = append_label(picture, box, part, 1, true);
    map_parts_finish(&parts);
    if (r == 0 && (level == 1 || level == 2)) {
        (void)append_box(&picture->borders, box);
        r = buffer_append_format(&picture->borders, " stroke-width=\"%d\"/>\n", level == 1 ? 3 : 1);
    }
    return r;
}

/* 1, 2 or 5 and zeros: the most that fits into a square of about 40 pixels. 0: nothing does. */
static uint64_t scale_of(double measure)
{
    double most = measure * 40 * 40 / (WIDTH * MAP_HEIGHT);
    uint64_t value = 0;
    for (uint64_t power = 1; (double)power <= most; power *= 10)
        value = (double)power * 5 <= most   ? 5 * power
                : (double)power * 2 <= most ? 2 * power
                                            : power;
    return value;
}

static int append_note(struct buffer *ret, double x, double y, const char *words)
{
    return buffer_append_format(ret, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y, words);
}

/* A square of a known measure; of a small table, of a known share. What it takes of the width. */
static double append_scale(struct picture *picture, double top)
{
    const struct map_drawing *drawing = picture->drawing;
    uint64_t measure = map_measure(drawing, &drawing->root->counts);
    uint64_t value = scale_of((double)measure);
    double share = value > 0 ? (double)value / (double)measure : SMALL_SHARE;
    double side = sqrt(share * WIDTH * MAP_HEIGHT);
    char number[MAX(PROGRESS_NUMBER_SIZE, PROGRESS_BYTES_SIZE)], words[64];
    if (value == 0)
        (void)snprintf(words, sizeof(words), "= %.2f%% of all", 100 * SMALL_SHARE);
    else
        (void)snprintf(words, sizeof(words), "= %s%s",
                       drawing->by_bytes ? progress_bytes(value, number)
                                         : progress_number(value, number),
                       drawing->by_bytes ? ""
                       : value == 1      ? " entity"
                                         : " entities");
    (void)append_box(&picture->notes, (struct box){MARGIN, top, side, side});
    (void)buffer_append_string(&picture->notes, " fill=\"#fff\"" THIN_LINE "/>\n");
    (void)append_note(&picture->notes, MARGIN + side + 6, top + side / 2 + 4, words);
    return 220;
}

static int append_legend(struct picture *picture, double top)
{
    static const struct {
        const char *fill, *words;
    } kinds[] = {{"#fff", "a partition"},
                 {"#e4e4e4", "partitions of one prefix"},
                 {"url(#rest)", "the rest of a prefix"}};
    double x = MARGIN + append_scale(picture, top);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++, x += 240) {
        (void)append_box(&picture->notes, (struct box){x, top + 10, 20, 20});
        (void)buffer_append_format(&picture->notes, " fill=\"%s\"" THIN_LINE "/>\n", kinds[i].fill);
        (void)append_note(&picture->notes, x + 26, top + 24, kinds[i].words);
    }
    return picture->notes.error;
}

/* *y: where the first line stands; afterwards where the next one would. */
static int append_warnings(struct picture *picture, double *y)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
    struct map_drawing drawing = *picture->drawing;
    drawing.columns = LINE_WIDTH;
    int r = map_warnings_append_text(&drawing, LINE_WIDTH, &text);
    for (struct bytes rest = buffer_bytes(&text); rest.size > 0 && r == 0;) {
        struct bytes line = bytes_take_until(&rest, '\n');
        (void)buffer_append_format(&picture->notes, "<text x=\"%.1f\" y=\"%.1f\">", MARGIN, *y);
        (void)append_xml(line, &picture->notes);
        r = buffer_append_string(&picture->notes, "</text>\n");
        *y += line.size > 0 ? LINE_HEIGHT : LINE_HEIGHT / 3;
    }
    return r;
}

static int append_title(const struct map_drawing *drawing, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer title = {.max = MAP_TEXT_MAX_BYTES};
    _cleanup_(buffer_finish) struct buffer cut = {.max = MAP_TEXT_MAX_BYTES};
    (void)map_append_title(drawing, &title);
    int r = map_append_cut(buffer_bytes(&title), 48, &cut);
    (void)append_xml(buffer_bytes(&cut), ret);
    (void)buffer_append_string(ret, ": ");
    return r < 0 ? r : append_counts(drawing, &drawing->root->counts, ret);
}

static int append_picture(struct picture *picture, double height, struct buffer *ret)
{
    (void)buffer_append_format(
        ret,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"13\">\n"
        "<defs><pattern id=\"rest\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#fff\"/>"
        "<path d=\"M0 6L6 0\" stroke=\"#777\" stroke-width=\"0.7\"/></pattern></defs>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
        "<text x=\"%.1f\" y=\"24\" font-size=\"17\">",
        WIDTH + 2 * MARGIN, height, WIDTH + 2 * MARGIN, height, MARGIN);
    int r = append_title(picture->drawing, ret);
    (void)buffer_append_string(ret, "</text>\n<g id=\"map\"" THIN_LINE ">\n");
    (void)buffer_append(ret, buffer_bytes(&picture->boxes));
    (void)buffer_append_string(ret, "</g>\n<g id=\"borders\" fill=\"none\" stroke=\"#000\">\n");
    (void)buffer_append(ret, buffer_bytes(&picture->borders));
    (void)buffer_append_string(ret, "</g>\n<g id=\"labels\" pointer-events=\"none\">\n");
    (void)buffer_append(ret, buffer_bytes(&picture->labels));
    (void)buffer_append_string(ret, "</g>\n<g id=\"notes\">\n");
    (void)buffer_append(ret, buffer_bytes(&picture->notes));
    (void)buffer_append_string(ret, "</g>\n</svg>\n");
    return r < 0 ? r : ret->error;
}

static int draw(struct picture *picture, struct buffer *ret)
{
    const struct survey_node *root = picture->drawing->root;
    const struct map_part whole = {root, root->counts};
    const struct box box = {MARGIN, MAP_TOP, WIDTH, MAP_HEIGHT};
    double y = MAP_TOP + MAP_HEIGHT + 74;
    int r = draw_part(picture, &whole, box, 0);
    if (r == 0 && root->counts.entities > 0)
        r = append_legend(picture, MAP_TOP + MAP_HEIGHT + 10);
    if (r == 0)
        r = append_warnings(picture, &y);
    return r < 0 ? r : append_picture(picture, y, ret);
}

int map_svg_append(const struct map_drawing *drawing, struct buffer *ret)
{
    uint64_t measure = map_measure(drawing, &drawing->root->counts);
    struct picture picture = {.drawing = drawing,
                              .least = MAX((measure + LEAST_SHARE - 1) / LEAST_SHARE, 1)};
    struct buffer *const parts[] = {&picture.boxes, &picture.borders, &picture.labels,
                                    &picture.notes};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        buffer_init(parts[i], MAP_TEXT_MAX_BYTES);
    int r = draw(&picture, ret);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        buffer_finish(parts[i]);
    return r;
}
