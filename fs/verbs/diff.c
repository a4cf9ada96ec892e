/* SPDX-License-Identifier: MIT */
/* `tablefuse diff`: what two tables do not have in common. */
#include "fs/base/say.h"
#include "fs/cli/verb.h"
#include "fs/output/difference_output.h"

#include <getopt.h>

#define EXIT_DIFFERENT 1 /* as of diff(1); the same number as EXIT_USAGE */

struct diff {
    struct table_pair tables;
    bool is_quiet;
    struct difference_output differences;
};

static bool is_interrupted(void *context)
{
    return table_pair_is_interrupted(&((struct diff *)context)->tables);
}

static uint64_t read_of(const struct diff *diff, enum compare_side side)
{
    return comparison_read(diff->tables.comparison, side);
}

static void report_counts(const struct diff *diff)
{
    const uint64_t *counts = diff->differences.counts;
    char from[PROGRESS_NUMBER_SIZE], to[PROGRESS_NUMBER_SIZE], added[PROGRESS_NUMBER_SIZE];
    char removed[PROGRESS_NUMBER_SIZE], changed[PROGRESS_NUMBER_SIZE];
    char requests[PROGRESS_NUMBER_SIZE];
    progress_clear(&diff->differences.progress);
    if (diff->is_quiet)
        return;
    say("tablefuse: %s and %s entities read, %s only in FROM, %s only in TO, %s different, "
        "%s requests, %.1f s\n",
        progress_number(read_of(diff, COMPARE_FROM), from),
        progress_number(read_of(diff, COMPARE_TO), to),
        progress_number(counts[PAIR_ONLY_FROM], added),
        progress_number(counts[PAIR_ONLY_TO], removed),
        progress_number(counts[PAIR_DIFFERENT], changed),
        progress_number(table_pair_requests(&diff->tables), requests),
        progress_elapsed_sec(&diff->differences.progress));
}

static int finish(struct diff *diff, int r)
{
    if (diff->differences.error == -EPIPE)
        line_output_end_by_sigpipe();
    int code = r == 0 ? table_pair_check_found(&diff->tables) : 0;
    if (code != 0)
        return code;
    report_counts(diff);
    if (r < 0)
        return difference_output_complain(&diff->differences, &diff->tables, r);
    if (diff->differences.counts[PAIR_UNREADABLE] > 0)
        return EXIT_ABANDONED;
    return difference_output_found(&diff->differences) > 0 ? EXIT_DIFFERENT : 0;
}

static int write_differences(struct diff *diff)
{
    int r = line_output_open(NULL, false, is_interrupted, diff, &diff->differences.output);
    if (r < 0)
        return verb_complain_memory();
    progress_init(&diff->differences.progress, &clock_system, diff->is_quiet);
    return finish(diff, difference_output_compare(&diff->differences, &diff->tables, NULL));
}

enum { JSON = 1, QUIET };

static int parse(struct diff *diff, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {
        {.name = "json", .val = JSON}, {.name = "quiet", .val = QUIET}, {0}};
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        diff->differences.is_json |= option == JSON;
        diff->is_quiet |= option == QUIET;
        int code = option == 'o' ? table_pair_add_options(&diff->tables, optarg) : 0;
        if (code != 0)
            return code;
    }
    return table_pair_take_operands(&diff->tables, argc, argv);
}

static int run_diff(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct diff diff = {0};
    table_pair_init(&diff.tables, verb);
    int code = parse(&diff, verb, argc, argv);
    if (code == 0)
        code = table_pair_open(&diff.tables, &(struct table_pair_use){0}, decorate);
    if (code == 0)
        code = write_differences(&diff);
    line_output_close(diff.differences.output);
    table_pair_finish(&diff.tables);
    return code;
}

const struct verb verb_diff = {
    .name = "diff",
    .usage = "[OPTION...] FROM/TABLE TO/TABLE [DIRECTORY]",
    .purpose = "Prints what two tables do not have in common, one entity on each line.",
    .help =
        "Needs no mount. A line has + (only FROM has the entity), - (only TO) or ~ (they differ), "
        "and the\n"
        "path of its file. Keys, properties, types and values count, Timestamp and ETag do not.\n"
        "It is no snapshot: each entity is one version, of different moments.\n"
        "  --json             both entities in place of the path: {\"from\":{...},\"to\":null}\n"
        "  --quiet            no progress and no counts on standard error\n"
        "  -o OPTION          timeout, parallelism, ca_cert, allow_http, as of mount, for both\n"
        "  -o from.credentials=FILE, to.credentials=FILE, from.auth=MODE, to.auth=MODE\n"
        "                     credentials and auth, as of mount, for one of them\n"
        "The credential in the environment is for one of two accounts, if the other one has its "
        "own, or is\n"
        "local:FILE or the emulator; else it is for those whose account it names.\n",
    .codes = {{0, "equal"},
              {EXIT_DIFFERENT, "different"},
              {EXIT_CONFIGURATION, "wrong usage or configuration"}},
    .has_help_apart = true,
    .usage_code = EXIT_CONFIGURATION,
    .run = run_diff,
};
