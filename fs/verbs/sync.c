/* SPDX-License-Identifier: MIT */
/* `tablefuse sync`: makes one table equal to another with the fewest writes. */
#include "fs/base/say.h"
#include "fs/base/unlinked_file.h"
#include "fs/cli/verb.h"
#include "fs/output/difference_output.h"

#include <getopt.h>
#include <inttypes.h>

struct sync_command {
    struct table_pair tables;
    bool deletes, deletes_all, is_dry_run, creates, is_quiet;
    uint64_t max_deletes;
    struct difference_output differences;
    struct version_file *waiting; /* what is to be deleted; NULL: nothing is */
    struct sync *sync;            /* NULL: nothing is written */
    uint64_t refused;             /* that were told */
};

static bool is_interrupted(struct sync_command *command)
{
    return table_pair_is_interrupted(&command->tables);
}

static bool is_cancelled(void *context)
{
    return is_interrupted(context);
}

static uint64_t read_of(const struct sync_command *command, enum compare_side side)
{
    return comparison_read(command->tables.comparison, side);
}

static bool wait_for_sync(void *context)
{
    struct sync_command *command = context;
    difference_output_show(&command->differences, &command->tables, command->sync,
                           (struct bytes){0});
    return is_interrupted(command);
}

static void report_refused(void *context, struct bytes position, const struct failure *failure)
{
    struct sync_command *command = context;
    _cleanup_(buffer_finish) struct buffer path;
    buffer_init(&path, TABLE_PAIR_PATH_MAX_BYTES);
    if (progress_may_report(&command->differences.progress, ++command->refused,
                            "more entities are not written, and not named") &&
        table_pair_append_path(position, &path) == 0)
        say("tablefuse: %.*s: %s%s%s\n", (int)path.size, path.data, failure->code,
            failure->code[0] ? ": " : "", failure->message);
}

/* What keeps a mistake from deleting a table. An exit code. */
static int check_deletes(const struct sync_command *command)
{
    uint64_t n = command->waiting   ? version_file_count(command->waiting)
                 : command->deletes ? command->differences.counts[PAIR_ONLY_TO]
                                    : 0;
    if (n > 0 && read_of(command, COMPARE_FROM) == 0 && !command->deletes_all) {
        say("tablefuse: FROM has no entity here, so nothing is deleted -- --delete=all deletes "
            "what TO "
            "has (%" PRIu64 ")\n",
            n);
        return EXIT_CONFIGURATION;
    }
    if (n > command->max_deletes) {
        say("tablefuse: nothing is deleted, because it would be %" PRIu64
            ", more than --max-delete %" PRIu64 "\n",
            n, command->max_deletes);
        return EXIT_CONFIGURATION;
    }
    return 0;
}

static void report_counts(const struct sync_command *command)
{
    const uint64_t *found = command->differences.counts;
    struct sync_counts counts = {.inserted = found[PAIR_ONLY_FROM],
                                 .replaced = found[PAIR_DIFFERENT],
                                 .deleted = command->deletes ? found[PAIR_ONLY_TO] : 0};
    char numbers[8][PROGRESS_NUMBER_SIZE];
    const char *would = command->sync ? "" : "would be ";
    if (command->sync)
        counts = sync_counts(command->sync);
    progress_clear(&command->differences.progress);
    if (command->is_quiet)
        return;
    say("tablefuse: %s and %s entities read, %s %sinserted, %s %sreplaced, %s %sdeleted, "
        "%s conflicts, %s refused, %s requests, %.1f s\n",
        progress_number(read_of(command, COMPARE_FROM), numbers[0]),
        progress_number(read_of(command, COMPARE_TO), numbers[1]),
        progress_number(counts.inserted, numbers[2]), would,
        progress_number(counts.replaced, numbers[3]), would,
        progress_number(counts.deleted, numbers[4]), would,
        progress_number(counts.conflicts, numbers[5]), progress_number(counts.refused, numbers[6]),
        progress_number(table_pair_requests(&command->tables), numbers[7]),
        progress_elapsed_sec(&command->differences.progress));
}

static int complain_file(int error)
{
    say("tablefuse: cannot keep keys in %s until they are deleted: %s -- set TMPDIR\n",
        unlinked_file_directory(), strerror(-error));
    return EXIT_MOUNTING;
}

/* r: of sync, and not 0. */
static int complain_sync(struct sync_command *command, int r)
{
    enum compare_side side;
    const struct failure *failure = sync_failure(command->sync, &side);
    if (r == -ENOMEM)
        return verb_complain_memory();
    return failure->error < 0 ? table_pair_complain_of(&command->tables, side, failure)
                              : complain_file(r);
}

/* Why it has ended early; r < 0. */
static int complain(struct sync_command *command, int r)
{
    const struct difference_output *differences = &command->differences;
    if (differences->error < 0 || differences->comparison_error < 0)
        return difference_output_complain(differences, &command->tables, r);
    return is_interrupted(command) ? EXIT_INTERRUPTED : complain_sync(command, r);
}

static int make_equal(struct sync_command *command)
{
    int guard = 0,
        r = difference_output_compare(&command->differences, &command->tables, command->sync);
    if (command->differences.error == -EPIPE)
        line_output_end_by_sigpipe();
    if (r == 0 && command->sync)
        r = sync_finish(command->sync);
    progress_clear(&command->differences.progress);
    if (r == 0)
        guard = table_pair_check_found(&command->tables);
    if (r == 0 && guard == 0)
        guard = check_deletes(command);
    if (r == 0 && guard == 0 && command->sync && command->waiting)
        r = sync_delete(command->sync);
    if (r < 0 && command->sync)
        sync_wait(command->sync);
    report_counts(command);
    if (r < 0)
        return complain(command, r);
    bool is_left = command->refused > 0 || command->differences.counts[PAIR_UNREADABLE] > 0;
    return guard != 0 ? guard : is_left ? EXIT_ABANDONED : 0;
}

/* Before TO is made. An exit code. */
static int open_waiting(struct sync_command *command)
{
    if (!command->deletes || command->is_dry_run)
        return 0;
    int fd = unlinked_file_open(unlinked_file_directory());
    if (fd < 0)
        return complain_file(fd);
    return version_file_create(fd, &command->waiting) < 0 ? verb_complain_memory() : 0;
}

static int begin(struct sync_command *command)
{
    if (command->is_dry_run)
        return line_output_open(NULL, false, is_cancelled, command, &command->differences.output) <
                       0
                   ? verb_complain_memory()
                   : 0;
    const struct compared_table tables[] = {table_pair_table(&command->tables, COMPARE_FROM),
                                            table_pair_table(&command->tables, COMPARE_TO)};
    const struct sync_options options = {
        .deletes = command->waiting,
        .events = {.context = command, .waits = wait_for_sync, .refused = report_refused}};
    return sync_create(tables, &options, &command->sync) < 0 ? verb_complain_memory() : 0;
}

enum { DELETE = 1, MAX_DELETE, DRY_RUN, CREATE, QUIET };

static int take_option(struct sync_command *command, const struct verb *verb, int option)
{
    switch (option) {
    case DELETE:
        command->deletes = true;
        command->deletes_all = optarg != NULL;
        return !optarg || strcmp(optarg, "all") == 0
                   ? 0
                   : verb_refuse(verb, "--delete=%s: expected all", verb_printable(optarg));
    case MAX_DELETE:
        return bytes_parse_unsigned(bytes_of(optarg), UINT64_MAX, &command->max_deletes)
                   ? 0
                   : verb_refuse(verb, "--max-delete %s: expected a number",
                                 verb_printable(optarg));
    case DRY_RUN:
        command->is_dry_run = true;
        return 0;
    case CREATE:
        command->creates = true;
        return 0;
    case QUIET:
        command->is_quiet = true;
        return 0;
    default:
        return table_pair_add_options(&command->tables, optarg);
    }
}

static int parse(struct sync_command *command, const struct verb *verb, int argc, char **argv)
{
    static const struct option long_options[] = {
        {.name = "delete", .has_arg = 2, .val = DELETE},
        {.name = "max-delete", .has_arg = 1, .val = MAX_DELETE},
        {.name = "dry-run", .val = DRY_RUN},
        {.name = "create", .val = CREATE},
        {.name = "quiet", .val = QUIET},
        {0}};
    command->max_deletes = UINT64_MAX;
    for (int option; (option = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        int code = take_option(command, verb, option);
        if (code != 0)
            return code;
    }
    if (command->max_deletes != UINT64_MAX && !command->deletes)
        return verb_refuse(verb, "--max-delete needs --delete");
    return table_pair_take_operands(&command->tables, argc, argv);
}

static int run_sync(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    struct sync_command command = {0};
    table_pair_init(&command.tables, verb);
    int code = parse(&command, verb, argc, argv);
    const struct table_pair_use use = {.changes = !command.is_dry_run,
                                       .creates = command.creates && !command.is_dry_run,
                                       .needs_all = command.deletes};
    progress_init(&command.differences.progress, &clock_system, command.is_quiet);
    if (code == 0)
        code = open_waiting(&command);
    if (code == 0)
        code = table_pair_open(&command.tables, &use, decorate);
    if (code == 0)
        code = begin(&command);
    if (code == 0)
        code = make_equal(&command);
    sync_destroy(command.sync);
    version_file_destroy(command.waiting);
    line_output_close(command.differences.output);
    table_pair_finish(&command.tables);
    return code;
}

const struct verb verb_sync = {
    .name = "sync",
    .usage = "[OPTION...] FROM/TABLE TO/TABLE [DIRECTORY]",
    .purpose = "Makes a table equal to another one: sends what differs.",
    .help =
        "Needs no mount. TO gets what is missing or differs there; what FROM has not stays, "
        "without --delete.\n"
        "After a crash or a failure the same command can be run again. It is no snapshot: each "
        "entity is one\n"
        "version of FROM, of different moments.\n"
        "  --delete           at the end TO loses what FROM has not; --delete=all: also if FROM is "
        "empty.\n"
        "                     Refused where FROM may show a part: a SAS of key ranges, a secondary "
        "host\n"
        "  --max-delete N     deletes nothing if it would be more than N\n"
        "  --dry-run          prints what `diff` prints, and the counts, and writes nothing; TO "
        "must exist\n"
        "  --create           a table that is missing in TO is made\n"
        "  --quiet            no progress and no counts on standard error\n"
        "  -o OPTION          as of diff, which also says what the credential is for\n",
    .has_help_apart = true,
    .run = run_sync,
};
