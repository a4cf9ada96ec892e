/* SPDX-License-Identifier: MIT */
/* `tablefuse split`: prints a token for each part of a table. */
#include "client/text/part_token.h"
#include "fs/base/say.h"
#include "fs/cli/progress.h"
#include "fs/cli/verb.h"
#include "fs/output/line_output.h"
#include "fs/source/opened_account.h"

#include <getopt.h>

struct split {
    struct opened_account opened;
    const char *source, *path; /* path "": the table */
    uint64_t parts;            /* 0: not given */
    bool is_exact, is_quiet;
    struct progress progress;
    struct progress_counts counts;
    struct line_output *output;
};

static bool is_interrupted(void *context)
{
    struct split *split = context;
    return opened_account_is_interrupted(&split->opened);
}

static int add_part(void *context, struct range part)
{
    struct split *split = context;
    struct buffer *lines = line_output_buffer(split->output);
    int r = part_token_append(lines, mount_source_table(split->opened.source), part);
    if (r == 0)
        r = buffer_append_char(lines, '\n');
    return r < 0 ? r : line_output_written(split->output);
}

static int count_rows(void *context, const struct run *rows)
{
    struct split *split = context;
    split->counts.rows += rows->end - rows->begin;
    split->counts.position = page_position(rows->page, rows->end - 1);
    progress_show(&split->progress, &split->counts);
    return 0;
}

static int split_table(struct split *split)
{
    _cleanup_(place_finish) struct place place = {0};
    int code = opened_account_find(&split->opened, split->path, &place);
    if (code != 0)
        return code;
    struct directory directory = place_directory(&place);
    struct caller caller = opened_account_caller(&split->opened);
    const struct split_choice choice = {.parts = split->parts,
                                        .rows = split->is_exact ? count_rows : NULL};
    int r = line_output_open(NULL, false, is_interrupted, split, &split->output);
    if (r < 0)
        return verb_complain_memory();
    progress_init(&split->progress, &clock_system, split->is_quiet);
    r = account_split(split->opened.account, &caller, &directory, &choice, add_part, split);
    progress_clear(&split->progress);
    bool has_read = r == 0 || caller.call.failure.error == 0;
    if (r == 0)
        r = line_output_finish(split->output);
    if (r == -EPIPE)
        line_output_end_by_sigpipe();
    if (r == 0)
        return 0;
    if (opened_account_is_interrupted(&split->opened) || !has_read)
        return opened_account_complain(&split->opened, &caller.call.failure);
    say("tablefuse: cannot write the output: %s\n", strerror(-r));
    return EXIT_MOUNTING;
}

static int parse(struct split *split, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {
        {.name = "exact", .val = 'e'}, {.name = "quiet", .val = 'q'}, {0}};
    for (int option; (option = getopt_long(argc, argv, ":n:o:", long_options, NULL)) != -1;) {
        int code = 0;
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        if (option == 'n' &&
            (!bytes_parse_unsigned(bytes_of(optarg), ACCOUNT_SPLIT_MAX, &split->parts) ||
             split->parts == 0))
            return verb_refuse(verb, "-n %s: expected a number from 1 to %d",
                               verb_printable(optarg), ACCOUNT_SPLIT_MAX);
        split->is_exact |= option == 'e';
        split->is_quiet |= option == 'q';
        if (option == 'o')
            code = opened_account_add_options(&split->opened, optarg);
        if (code != 0)
            return code;
    }
    if (split->parts == 0)
        return verb_refuse(verb, "-n N is missing: into how many parts?");
    return opened_account_take_operands(&split->opened, argc, argv, "DIRECTORY", &split->source,
                                        &split->path);
}

static int run_split(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct split split = {0};
    opened_account_init(&split.opened, verb);
    int code = parse(&split, verb, argc, argv);
    if (code == 0)
        code = opened_account_open(&split.opened, split.source, true, decorate);
    if (code == 0)
        code = split_table(&split);
    line_output_close(split.output);
    opened_account_finish(&split.opened);
    return code;
}

const struct verb verb_split = {
    .name = "split",
    .usage = "-n N [OPTION...] SOURCE/TABLE [DIRECTORY]",
    .purpose = "Prints N lines, a token for each part of a table, as export and count take them.",
    .help =
        "The parts follow each other without gap or overlap, and hold about as many entities "
        "each. A token\n"
        "stays right whatever is written: each entity is in exactly one part. Surplus parts are "
        "empty.\n"
        "  -n N               how many parts, at most 10000\n"
        "  --exact            reads all keys; else at most 16 requests a part\n"
        "  --quiet            no progress on standard error\n"
        "  -o OPTION          as of export\n",
    .has_help_apart = true,
    .run = run_split,
};
