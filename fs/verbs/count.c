/* SPDX-License-Identifier: MIT */
/* `tablefuse count` and `tablefuse tables`: what is in an account, in a few lines. */
#include "fs/base/say.h"
#include "fs/cli/choice_options.h"
#include "fs/cli/part_option.h"
#include "fs/cli/progress.h"
#include "fs/cli/verb.h"
#include "fs/source/opened_account.h"

#include <getopt.h>
#include <inttypes.h>

struct count {
    struct opened_account opened;
    const char *source, *path; /* path "": the table */
    struct filter *filter;     /* NULL: all entities */
    struct part_option part;
    bool is_quiet;
    struct progress progress;
    struct progress_counts counts; /* bytes: of keys and ETags */
    uint64_t partitions;
    struct buffer partition_key; /* of the last row */
};

static int complain_output(void)
{
    say("tablefuse: cannot write the output: %s\n", strerror(errno));
    return EXIT_MOUNTING;
}

static int count_rows(void *context, const struct run *rows)
{
    struct count *count = context;
    const struct page *page = rows->page;
    for (size_t row = rows->begin, next; row < rows->end; row = next) {
        struct bytes key = position_partition_key(page_position(page, row));
        next = page_next_partition(page, row, rows->end);
        bool is_same =
            count->partitions > 0 && bytes_equal(key, buffer_bytes(&count->partition_key));
        count->partitions += !is_same;
        if (!is_same && buffer_set(&count->partition_key, key) < 0)
            return -ENOMEM;
    }
    count->counts.rows += rows->end - rows->begin;
    count->counts.position = page_position(page, rows->end - 1);
    progress_show(&count->progress, &count->counts);
    return 0;
}

/* 0 or an exit code. */
static int print_counts(struct count *count, int r, const struct failure *failure)
{
    progress_clear(&count->progress);
    if (opened_account_is_interrupted(&count->opened))
        return EXIT_INTERRUPTED;
    if (r < 0)
        return opened_account_complain(&count->opened, failure);
    if (count->path[0] && !count->filter && count->counts.rows == 0) {
        say("tablefuse: %s: no entity is in it\n", count->path);
        return EXIT_NOT_FOUND;
    }
    say_to(stdout, "entities %" PRIu64 "\n", count->counts.rows);
    say_to(stdout, "partitions %" PRIu64 "\n", count->partitions);
    return fflush(stdout) < 0 || ferror(stdout) ? complain_output() : 0;
}

static int count_directory(struct count *count)
{
    _cleanup_(place_finish) struct place place = {0};
    int code = opened_account_find(&count->opened, count->path, &place);
    if (code != 0)
        return code;
    struct directory directory = place_directory(&place);
    if (count->part.is_given)
        directory.range = part_range(&count->part.part);
    struct caller caller = opened_account_caller(&count->opened);
    progress_init(&count->progress, &clock_system, count->is_quiet);
    const struct row_choice choice = {.keys_only = true, .filter = count->filter};
    int r = 0;
    if (!range_is_empty(directory.range))
        r = account_export(count->opened.account, &caller, &directory, &choice, count_rows, count);
    return print_counts(count, r, &caller.call.failure);
}

/* Takes -o, and the options of `count` where count is not NULL. */
static int parse(struct opened_account *opened, const struct verb *verb, int argc, char **argv,
                 struct count *count)
{
    static const struct option none[] = {{0}},
                               of_count[] = {{.name = "quiet", .val = 'q'},
                                             {.name = "filter", .has_arg = 1, .val = 'f'},
                                             {.name = "part", .has_arg = 1, .val = 'p'},
                                             {0}};
    const struct option *long_options = count ? of_count : none;
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        if (option == 'q' && count)
            count->is_quiet = true;
        int code = option == 'o' ? opened_account_add_options(opened, optarg)
                   : option == 'f' && count
                       ? choice_options_take_filter(&count->filter, verb, optarg)
                   : option == 'p' && count ? part_option_take(&count->part, verb, optarg)
                                            : 0;
        if (code != 0)
            return code;
    }
    return 0;
}

static int parse_count(struct count *count, const struct verb *verb, int argc, char **argv)
{
    int code = parse(&count->opened, verb, argc, argv, count);
    return code != 0 ? code
                     : opened_account_take_operands(&count->opened, argc, argv, "DIRECTORY",
                                                    &count->source, &count->path);
}

static int check_part(const struct count *count)
{
    if (count->part.is_given && count->path[0])
        return verb_refuse(count->opened.verb, "--part: leave DIRECTORY out: the token has it");
    return part_option_check(&count->part, count->opened.verb,
                             mount_source_table(count->opened.source));
}

static int run_count(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct count count = {0};
    opened_account_init(&count.opened, verb);
    buffer_init(&count.partition_key, POSITION_MAX_BYTES);
    part_option_init(&count.part);
    int code = parse_count(&count, verb, argc, argv);
    if (code == 0)
        code = opened_account_open(&count.opened, count.source, true, decorate);
    if (code == 0)
        code = check_part(&count);
    if (code == 0)
        code = count_directory(&count);
    part_option_finish(&count.part);
    filter_destroy(count.filter);
    buffer_finish(&count.partition_key);
    opened_account_finish(&count.opened);
    return code;
}

static int print_tables(struct opened_account *opened)
{
    const struct directory account = {.kind = DIRECTORY_TABLES, .range = RANGE_ALL};
    struct caller caller = opened_account_caller(opened);
    _cleanup_(listing_closep) struct listing *listing = NULL;
    struct listing_entry entry = {0};
    int r = account_list(opened->account, &account, &listing);
    while (r >= 0 && (r = listing_next(listing, &caller, entry.cookie, true, true, &entry)) > 0)
        say_to(stdout, "%.*s\n", (int)entry.key.size, entry.key.data);
    if (opened_account_is_interrupted(opened))
        return EXIT_INTERRUPTED;
    if (r < 0)
        return opened_account_complain(opened, &caller.call.failure);
    return fflush(stdout) < 0 || ferror(stdout) ? complain_output() : 0;
}

static int run_tables(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct opened_account opened;
    opened_account_init(&opened, verb);
    int code = parse(&opened, verb, argc, argv, NULL);
    if (code == 0 && argc > optind + 1)
        code = verb_refuse(verb, "unexpected operand %s after SOURCE",
                           verb_printable(argv[optind + 1]));
    if (code == 0)
        code = opened_account_open(&opened, argc > optind ? argv[optind] : NULL, false, decorate);
    if (code == 0 && mount_source_table(opened.source))
        code = verb_refuse(verb, "SOURCE names a table: leave it out");
    if (code == 0)
        code = print_tables(&opened);
    opened_account_finish(&opened);
    return code;
}

const struct verb verb_count = {
    .name = "count",
    .usage = "[OPTION...] SOURCE/TABLE [DIRECTORY]",
    .purpose = "Prints how many entities and partitions a table has, or a directory in it.",
    .help = "DIRECTORY is spelled as in a mount: zlib, zlib/1.+.\n"
            "  --filter EXPR      entities that match, as of export\n"
            "  --part PART        of a token of split, as of export\n"
            "  --quiet            no progress on standard error\n"
            "  -o OPTION          as of export\n",
    .has_help_apart = true,
    .run = run_count,
};

const struct verb verb_tables = {
    .name = "tables",
    .usage = "[-o OPTION,...] [SOURCE]",
    .purpose = "Prints the names of the tables of an account, one on each line.",
    .help = "  -o OPTION          as of export\n",
    .has_help_apart = true,
    .run = run_tables,
};
