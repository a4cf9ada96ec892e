/* SPDX-License-Identifier: MIT */
/* `tablefuse check`: reads an account's file from begin to end and reports what is damaged; of an
 * account of a service it prints the settings, and whether the service accepts them. */
#include "client/base/base.h"
#include "client/local/local_check.h"
#include "fs/base/local_path.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"
#include "fs/source/opened_account.h"

#include <getopt.h>

#define SHOWN_FAULTS 100
/* The answer takes some time, and the service accepts a clock that differs by 15 minutes. */
#define CLOCK_RIGHT_SEC 60

static void report_fault(void *context, const char *line)
{
    uint64_t *count = context;
    if (++*count <= SHOWN_FAULTS)
        say_to(stdout, "%s\n", line);
}

/* An exit code. */
static int flush_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    say("tablefuse: cannot write the output: %s\n", strerror(errno));
    return EXIT_MOUNTING;
}

static int finish(const char *name, const struct local_check_report *report)
{
    if (report->faults > SHOWN_FAULTS)
        say_to(stdout, "... and %" PRIu64 " more\n", report->faults - SHOWN_FAULTS);
    say_to(stdout, "%s: %" PRIu64 " tables, %" PRIu64 " entities, %" PRIu64 " faults%s%s\n", name,
           report->tables, report->entities, report->faults,
           report->has_checksums ? ""
                                 : "; it is in format 1, without checksums, so changed text "
                                   "is not noticed",
           report->has_checksums || report->faults > 0 ? "" : "; mounting it upgrades it");
    int code = flush_output();
    return code == 0 && report->faults > 0 ? EXIT_DAMAGED : code;
}

static int check_file(const char *name)
{
    struct local_check_report report;
    struct call call = {.deadline_ms = INT64_MAX};
    uint64_t count = 0;
    if (!local_path_answers(name + strlen(LOCAL_SOURCE), LOCAL_SOURCE_MS)) {
        say("tablefuse: %s: %s\n", name, LOCAL_SOURCE_HANGS);
        return EXIT_CONFIGURATION;
    }
    int r = local_check_run(name + strlen(LOCAL_SOURCE), &clock_system, &call, report_fault, &count,
                            &report);
    if (r == 0)
        return finish(name, &report);
    const char *advice = r == -ENOTDIR ? "a whole file is checked: write local:FILE without /TABLE"
                                       : call.failure.advice;
    say("tablefuse: %s: %s%s%s\n", name, call.failure.message, advice ? " -- " : "",
        advice ? advice : "");
    return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CONFIGURATION;
}

static void report_clock(const struct mount_source *source)
{
    int64_t ahead_sec;
    if (!mount_source_clock_ahead(source, &ahead_sec))
        return;
    if (ahead_sec >= -CLOCK_RIGHT_SEC && ahead_sec <= CLOCK_RIGHT_SEC)
        say_to(stdout, "clock right\n");
    else
        say_to(stdout, "clock %" PRId64 " s %s the service's\n",
               ahead_sec > 0 ? ahead_sec : -ahead_sec, ahead_sec > 0 ? "ahead of" : "behind");
}

/* Prints the settings, if there are any, whether or not the service accepts them. */
static int check_service(struct opened_account *opened, const char *name, store_decorator *decorate)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = (size_t)16 << 10};
    int code = opened_account_open(opened, name, false, decorate);
    if (!opened->source)
        return code;
    if (mount_source_append_description(opened->source, &text) < 0)
        return verb_complain_memory();
    for (struct bytes rest = buffer_bytes(&text); rest.size > 0;) {
        struct bytes line = bytes_take_until(&rest, '\n');
        say_to(stdout, "%.*s\n", (int)line.size, line.data);
    }
    buffer_clear(&text);
    if (mount_source_append_end(opened->source, &text))
        say_to(stdout, "%.*s\n", (int)text.size, text.data);
    report_clock(opened->source);
    int flushed = flush_output();
    return flushed != 0 ? flushed : code;
}

static int run_for_file(const struct verb *verb, int argc, char **argv)
{
    static const struct option no_long_options[] = {{0}};
    int option = getopt_long(argc, argv, ":", no_long_options, NULL);
    if (option != -1)
        return verb_refuse_option(verb, option, argv);
    if (argc > optind + 1)
        return verb_refuse(verb, "unexpected operand %s after local:FILE",
                           verb_printable(argv[optind + 1]));
    const char *name = argv[optind];
    if (!local_source_is_named(name) || !name[strlen(LOCAL_SOURCE)])
        return verb_refuse(verb, "%s is not local:FILE", verb_printable(name));
    return check_file(name);
}

static int run_for_service(const struct verb *verb, int argc, char **argv,
                           store_decorator *decorate)
{
    static const struct option no_long_options[] = {{0}};
    struct opened_account opened;
    int code = 0, option;
    opened_account_init(&opened, verb);
    while (code == 0 && (option = getopt_long(argc, argv, ":o:", no_long_options, NULL)) != -1)
        code = option == 'o' ? opened_account_add_options(&opened, optarg)
                             : verb_refuse_option(verb, option, argv);
    if (code == 0 && argc > optind + 1)
        code = verb_refuse(verb, "unexpected operand %s after SOURCE",
                           verb_printable(argv[optind + 1]));
    if (code == 0)
        code = check_service(&opened, argc > optind ? argv[optind] : NULL, decorate);
    opened_account_finish(&opened);
    return code;
}

static int run_check(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    for (int i = 1; i < argc; i++)
        if (local_source_is_named(argv[i]))
            return run_for_file(verb, argc, argv);
    return run_for_service(verb, argc, argv, decorate);
}

const struct verb verb_check = {
    .name = "check",
    .usage = "[-o OPTION,...] [SOURCE]",
    .purpose = "Checks the settings and the credential of an account, or each row of local:FILE.",
    .help = "Of a service it prints the settings, sends one query, and compares the clocks.\n"
            "Of local:FILE it prints one line for each damage, 100 at most.\n"
            "  -o OPTION          as of export\n",
    .has_help_apart = true,
    .run = run_check,
};
