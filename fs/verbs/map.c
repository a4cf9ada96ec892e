/* SPDX-License-Identifier: MIT */
/* `tablefuse map`: what is in a table, as a picture. */
#include "fs/base/say.h"
#include "fs/cli/progress.h"
#include "fs/cli/verb.h"
#include "fs/map/json.h"
#include "fs/map/svg.h"
#include "fs/map/text.h"
#include "fs/output/line_output.h"
#include "fs/source/opened_account.h"

#include <getopt.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_DEPTH  1000
#define PATH_BYTES ((size_t)256 << 10) /* an argument is shorter */

typedef int append_drawing(const struct map_drawing *drawing, struct buffer *ret);

struct map_verb {
    struct opened_account opened;
    const char *source, *path;
    struct buffer directory; /* the path in its plain form; empty: the table */
    bool is_quiet, by_bytes;
    int depth;
    const char *file;       /* of the picture; NULL: none is drawn in a file */
    append_drawing *append; /* what standard output gets */
    struct line_output *output, *picture;
    struct table_map *table;
    bool is_partition; /* the directory is a partition, or in one */
    struct progress progress;
    struct progress_counts counts;
};

static bool is_interrupted(void *context)
{
    return opened_account_is_interrupted(&((struct map_verb *)context)->opened);
}

static int complain_output(const char *file, int error)
{
    const char *why = error == -ENOTSUP ? "it is no regular file" : strerror(-error);
    say("tablefuse: cannot write %s: %s\n", file ? file : "the output", why);
    return file && line_output_is_refused(error) ? EXIT_CONFIGURATION : EXIT_MOUNTING;
}

static int add_rows(void *context, const struct run *rows)
{
    struct map_verb *map = context;
    int r = table_map_add(map->table, rows);
    if (r < 0)
        return r;
    map->counts.rows += rows->end - rows->begin;
    map->counts.bytes += map->by_bytes ? page_bytes(rows->page) : 0;
    map->counts.position = page_position(rows->page, rows->end - 1);
    progress_show(&map->progress, &map->counts);
    return 0;
}

static int read_directory(struct map_verb *map)
{
    _cleanup_(place_finish) struct place place = {0};
    int code = opened_account_find(&map->opened, map->path, &place);
    if (code != 0)
        return code;
    map->is_partition = place_lies_in_partition(&place);
    struct directory directory = place_directory(&place);
    struct caller caller = opened_account_caller(&map->opened);
    const struct row_choice choice = {.keys_only = !map->by_bytes};
    progress_init(&map->progress, &clock_system, map->is_quiet);
    int r = table_map_create(map->by_bytes, &map->table);
    if (r == 0)
        r = account_export(map->opened.account, &caller, &directory, &choice, add_rows, map);
    progress_clear(&map->progress);
    if (is_interrupted(map))
        return EXIT_INTERRUPTED;
    if (r == -ENOMEM)
        return verb_complain_memory();
    if (r < 0)
        return opened_account_complain(&map->opened, &caller.call.failure);
    if (map->directory.size > 0 && map->counts.rows == 0) {
        say("tablefuse: %s: no entity is in it\n", map->path);
        return EXIT_NOT_FOUND;
    }
    return 0;
}

/* The text has whole lines. */
static int write_lines(struct line_output *output, struct bytes text)
{
    int r = 0;
    while (text.size > 0 && r == 0) {
        struct bytes line = bytes_take_until(&text, '\n');
        (void)buffer_append(line_output_buffer(output), line);
        (void)buffer_append_char(line_output_buffer(output), '\n');
        r = line_output_written(output);
    }
    return r < 0 ? r : line_output_finish(output);
}

/* 0 or -errno. */
static int write_drawing(struct line_output *output, const struct map_drawing *drawing,
                         append_drawing *append)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
    int r = append(drawing, &text);
    return r < 0 ? r : write_lines(output, buffer_bytes(&text));
}

/* The exit code of the drawing in `file`; NULL: in standard output, whose reader may end. */
static int report_written(const char *file, int r)
{
    if (r == 0 || (r == -EPIPE && !file))
        return 0;
    return r == -EINTR ? EXIT_INTERRUPTED : complain_output(file, r);
}

/* Both, also if one of them cannot be written. */
static int write_drawings(struct map_verb *map, const struct map_drawing *drawing)
{
    int r = write_drawing(map->output, drawing, map->append);
    int code = report_written(NULL, r);
    int picture_code = 0;
    if (map->picture)
        picture_code =
            report_written(map->file, write_drawing(map->picture, drawing, map_svg_append));
    if (r == -EPIPE && picture_code == 0)
        line_output_end_by_sigpipe();
    return code != 0 ? code : picture_code;
}

/* 0: standard output is no terminal. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return 0;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static int draw(struct map_verb *map)
{
    struct table_facts facts;
    if (table_map_finish(map->table, &facts) < 0)
        return verb_complain_memory();
    const struct map_drawing drawing = {
        .table = mount_source_table(map->opened.source),
        .directory = buffer_string(&map->directory),
        .facts = &facts,
        .root = map->is_partition && facts.all->children ? facts.all->children : facts.all,
        .by_bytes = map->by_bytes,
        .depth = map->depth,
        .columns = map->append == map_text_append ? terminal_columns() : 0};
    return drawing.directory ? write_drawings(map, &drawing) : verb_complain_memory();
}

/* A file that cannot be written is reported before the table is read. */
static int open_outputs(struct map_verb *map)
{
    int r = line_output_open(NULL, false, is_interrupted, map, &map->output);
    if (r < 0)
        return complain_output(NULL, r);
    if (map->file)
        r = line_output_open_apart(map->file, is_interrupted, map, &map->picture);
    return r < 0 ? complain_output(map->file, r) : 0;
}

enum { QUIET = 1, DEPTH, JSON, SIZES, SVG };

static int set_output(struct map_verb *map, append_drawing *append)
{
    if (map->append != map_text_append && map->append != append)
        return verb_refuse(map->opened.verb, "--svg -: --json has standard output already");
    map->append = append;
    return 0;
}

static int take_option(struct map_verb *map, int option)
{
    uint64_t depth;
    switch (option) {
    case QUIET:
        map->is_quiet = true;
        return 0;
    case DEPTH:
        if (!bytes_parse_unsigned(bytes_of(optarg), MAX_DEPTH, &depth) || depth == 0)
            return verb_refuse(map->opened.verb, "--depth %s: expected a number from 1 to %d",
                               verb_printable(optarg), MAX_DEPTH);
        map->depth = (int)depth;
        return 0;
    case JSON:
        return set_output(map, map_json_append);
    case SIZES:
        map->by_bytes = true;
        return 0;
    case SVG:
        if (strcmp(optarg, "-") == 0)
            return set_output(map, map_svg_append);
        map->file = optarg;
        return optarg[0] ? verb_check_output(map->opened.verb, "--svg", optarg)
                         : verb_refuse(map->opened.verb, "--svg needs the name of a file");
    default:
        return opened_account_add_options(&map->opened, optarg);
    }
}

/* As opened_account_find reads it: without slashes and dots that name nothing. */
static int plain_directory(struct map_verb *map)
{
    for (struct bytes rest = bytes_of(map->path); rest.size > 0;) {
        struct bytes name = bytes_take_until(&rest, '/');
        if (name.size == 0 || bytes_equal(name, BYTES_LITERAL(".")))
            continue;
        if (map->directory.size > 0)
            (void)buffer_append_char(&map->directory, '/');
        (void)buffer_append(&map->directory, name);
    }
    return map->directory.error < 0 ? verb_complain_memory() : 0;
}

static int parse(struct map_verb *map, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {{.name = "quiet", .val = QUIET},
                                                 {.name = "depth", .has_arg = 1, .val = DEPTH},
                                                 {.name = "json", .val = JSON},
                                                 {.name = "sizes", .val = SIZES},
                                                 {.name = "svg", .has_arg = 1, .val = SVG},
                                                 {0}};
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        int code = take_option(map, option);
        if (code != 0)
            return code;
    }
    int code = opened_account_take_operands(&map->opened, argc, argv, "DIRECTORY", &map->source,
                                            &map->path);
    return code == 0 ? plain_directory(map) : code;
}

static int run_map(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct map_verb map = {.append = map_text_append, .directory = {.max = PATH_BYTES}};
    opened_account_init(&map.opened, verb);
    int code = parse(&map, verb, argc, argv);
    if (code == 0)
        code = opened_account_open(&map.opened, map.source, true, decorate);
    if (code == 0)
        code = open_outputs(&map);
    if (code == 0)
        code = read_directory(&map);
    if (code == 0)
        code = draw(&map);
    table_map_destroy(map.table);
    buffer_finish(&map.directory);
    line_output_close(map.output);
    line_output_close(map.picture);
    opened_account_finish(&map.opened);
    return code;
}

const struct verb verb_map = {
    .name = "map",
    .usage = "[OPTION...] SOURCE/TABLE [DIRECTORY]",
    .purpose = "Shows what is in a table, or in a directory in it: a tree of prefixes with bars.",
    .help = "All keys are read once. What is less than a twentieth of all has no line; name its "
            "directory to see\n"
            "it, spelled as in a mount: zlib, N+. Below the tree stands what of the keys makes the "
            "table slow.\n"
            "  --depth N          levels of the tree (3; with --json all)\n"
            "  --json             JSON in place of the tree, of all but the smallest parts\n"
            "  --svg FILE         also draws a picture, in which areas are shares; -: in place of "
            "the tree\n"
            "  --sizes            reads whole entities, and compares bytes of JSON\n"
            "  --quiet            no progress on standard error\n"
            "  -o OPTION          as of export\n",
    .has_help_apart = true,
    .run = run_map,
};
