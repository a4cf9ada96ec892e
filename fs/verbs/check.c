/* SPDX-License-Identifier: MIT */
/* `tablefuse check`: reads an account's file from begin to end and tells what is damaged. */
#include "client/base.h"
#include "client/local/local_check.h"
#include "fs/local_path.h"
#include "fs/mount_source.h"
#include "fs/say.h"
#include "fs/verb.h"

#include <getopt.h>

#define SHOWN_FAULTS 100

static void tell_fault(void *context, const char *line)
{
    uint64_t *count = context;
    if (++*count <= SHOWN_FAULTS)
        say_to(stdout, "%s\n", line);
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
    if (fflush(stdout) < 0 || ferror(stdout)) {
        say("tablefuse: cannot write the output: %s\n", strerror(errno));
        return EXIT_MOUNTING;
    }
    return report->faults > 0 ? EXIT_DAMAGED : 0;
}

static int check_file(const char *name)
{
    struct local_check_report report;
    struct call call = {.deadline_ms = INT64_MAX};
    uint64_t told = 0;
    if (!local_path_answers(name + strlen(LOCAL_SOURCE), LOCAL_SOURCE_MS)) {
        say("tablefuse: %s: %s\n", name, LOCAL_SOURCE_HANGS);
        return EXIT_CONFIGURATION;
    }
    int r = local_check_run(name + strlen(LOCAL_SOURCE), &clock_system, &call, tell_fault, &told,
                            &report);
    if (r == 0)
        return finish(name, &report);
    const char *advice = r == -ENOTDIR ? "a whole file is checked: write local:FILE without /TABLE"
                                       : call.failure.advice;
    say("tablefuse: %s: %s%s%s\n", name, call.failure.message, advice ? " -- " : "",
        advice ? advice : "");
    return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_CONFIGURATION;
}

static int run_check(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    static const struct option no_long_options[] = {{0}};
    int option = getopt_long(argc, argv, ":", no_long_options, NULL);
    (void)decorate;
    if (option != -1)
        return verb_refuse_option(verb, option, argv);
    if (argc == optind)
        return verb_refuse(verb, "no local:FILE to check");
    if (argc > optind + 1)
        return verb_refuse(verb, "unexpected operand %s behind local:FILE",
                           verb_printable(argv[optind + 1]));
    const char *name = argv[optind];
    if (strncmp(name, LOCAL_SOURCE, strlen(LOCAL_SOURCE)) != 0 || !name[strlen(LOCAL_SOURCE)])
        return verb_refuse(verb, "%s is not local:FILE", verb_printable(name));
    return check_file(name);
}

const struct verb verb_check = {
    .name = "check",
    .usage = "local:FILE",
    .purpose =
        "Reads the whole file of an account and prints one line for each damage, 100 at most.",
    .help = "",
    .run = run_check,
};
