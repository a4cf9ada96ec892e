/* SPDX-License-Identifier: MIT */
#include "fs/source/opened_account.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"

#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

/* Nearly all of it is for pages in flight and pages that wait to be written. */
#define COMMAND_CACHE_BYTES ((size_t)64 << 20)

/* Requests of its scan in flight, as many as an import has: all that they read is used. With 8 a
 * scan of 400 pages at 20 ms takes a quarter of the time of serial paging, with 16 a fifth. */
#define COMMAND_PARALLELISM "-oparallelism=16"

void opened_account_finish(struct opened_account *opened)
{
    account_destroy(TAKE_PTR(opened->account));
    mount_source_close(TAKE_PTR(opened->source));
    options_finish(&opened->options);
    fuse_opt_free_args(&opened->args);
    log_destroy(opened->log);
}

int opened_account_add_options(struct opened_account *opened, const char *text)
{
    for (struct bytes rest = bytes_of(text); rest.size > 0;) {
        struct bytes value = bytes_take_until(&rest, ','), name = bytes_take_until(&value, '=');
        if (!options_is_of_commands(name))
            return verb_refuse(opened->verb, "option %.*s is not for this command", (int)name.size,
                               name.data);
    }
    bool is_added = (opened->args.argc > 0 || fuse_opt_add_arg(&opened->args, "tablefuse") == 0) &&
                    fuse_opt_add_arg(&opened->args, "-o") == 0 &&
                    fuse_opt_add_arg(&opened->args, text) == 0;
    return is_added ? 0 : verb_complain_memory();
}

int opened_account_refuse_empty(const struct verb *verb, const char *path_name)
{
    return verb_refuse(verb, "%s is empty: the empty key is spelled #00", path_name);
}

int opened_account_take_operands(const struct opened_account *opened, int argc, char **argv,
                                 const char *path_name, const char **ret_source,
                                 const char **ret_path)
{
    if (argc == optind)
        return verb_refuse(opened->verb, "no SOURCE/TABLE to %s", opened->verb->name);
    if (argc > optind + 2)
        return verb_refuse(opened->verb, "unexpected operand %s after SOURCE/TABLE and %s",
                           verb_printable(argv[optind + 2]), path_name);
    *ret_source = argv[optind];
    *ret_path = argc > optind + 1 ? argv[optind + 1] : "";
    return argc > optind + 1 && !argv[optind + 1][0]
               ? opened_account_refuse_empty(opened->verb, path_name)
               : 0;
}

static void end_signals(sigset_t *ret)
{
    (void)sigemptyset(ret);
    (void)sigaddset(ret, SIGINT);
    (void)sigaddset(ret, SIGTERM);
    (void)sigaddset(ret, SIGHUP);
}

/* Before the first thread starts. */
static void prepare_process(void)
{
    sigset_t signals;
    end_signals(&signals);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);  /* of a connection; of the output it is raised again */
    (void)signal(SIGCHLD, SIG_DFL);  /* else a child's exit status is lost */
    (void)prctl(PR_SET_DUMPABLE, 0); /* a core dump or a debugger would show the key */
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10); /* freed pages go back to the system */
}

void opened_account_init(struct opened_account *ret, const struct verb *verb)
{
    prepare_process();
    *ret = (struct opened_account){.verb = verb, .args = FUSE_ARGS_INIT(0, NULL)};
}

bool opened_account_is_interrupted(struct opened_account *opened)
{
    sigset_t signals;
    if (opened->first)
        return opened->is_interrupted = opened_account_is_interrupted(opened->first);
    end_signals(&signals);
    if (!opened->is_interrupted && sigtimedwait(&signals, NULL, &(struct timespec){0}) > 0) {
        opened->is_interrupted = true;
        (void)pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    }
    return opened->is_interrupted;
}

static bool is_cancelled(void *context)
{
    return opened_account_is_interrupted(context);
}

struct caller opened_account_caller(struct opened_account *opened)
{
    struct caller caller = {
        .call = {.is_cancelled = is_cancelled, .context = opened, .command = opened->verb->name},
        .patience_ms = opened->options.timeout_ms};
    caller_made_progress(&caller, &clock_system);
    return caller;
}

/* A command reports each failure itself, so nothing is logged here. */
static void ignore_failure(void *context, const struct failure_record *record)
{
    (void)context;
    (void)record;
}

/* What the command needs of its source. */
struct use {
    const char *name;
    bool needs_table, changes, creates;
    store_decorator *decorate;
};

static int check_part(const struct opened_account *opened, const struct use *use)
{
    const char *part = use->needs_table && !use->changes ? mount_source_part(opened->source) : NULL;
    if (!part)
        return 0;
    say("tablefuse: %s: %s: %s\n", mount_source_name(opened->source), part,
        opened->needs_all ? "what it does not show would be deleted"
                          : "a part of the table may be missing here");
    return opened->needs_all ? EXIT_CONFIGURATION : 0;
}

static int check_table(struct opened_account *opened, const struct use *use)
{
    if (log_rename(opened->log, mount_source_name(opened->source)) < 0)
        return verb_complain_memory();
    if (use->changes && mount_source_is_read_only(opened->source)) {
        say("tablefuse: %s: the file cannot be written to\n", mount_source_name(opened->source));
        return EXIT_CONFIGURATION;
    }
    int code = check_part(opened, use);
    if (code != 0)
        return code;
    /* a command about a table sends requests of its own; check has only this one */
    code = use->creates
               ? 0
               : mount_source_query(opened->source, use->needs_table, is_cancelled, opened);
    return opened->is_interrupted ? EXIT_INTERRUPTED : code;
}

static int open_source(struct opened_account *opened, const struct use *use)
{
    _cleanup_(secret_variables_wipe) struct secret_variables variables = {0};
    bool is_as_is = false;
    int code = local_source_prepare(use->name, !use->changes, &is_as_is);
    if (!opened->variables)
        secret_variables_take(&variables, !local_source_is_named(use->name));
    const struct mount_source_options options = {.name = use->name,
                                                 .table = opened->options.table,
                                                 .ca_cert = opened->options.ca_cert,
                                                 .auth = opened->options.auth,
                                                 .credentials = opened->options.credentials,
                                                 .variables = opened->variables ? opened->variables
                                                                                : &variables,
                                                 .timeout_ms = opened->options.timeout_ms,
                                                 .cache_bytes = COMMAND_CACHE_BYTES,
                                                 .log = opened->log,
                                                 .may_create = use->creates,
                                                 .needs_table = use->needs_table,
                                                 .is_as_is = is_as_is,
                                                 .environment = opened->environment,
                                                 .allows_http = opened->options.allows_http};
    if (code == 0)
        code = mount_source_open(&options, use->decorate, &opened->source);
    if (code == EXIT_USAGE)
        return verb_refuse(opened->verb, "SOURCE names no table: write SOURCE/TABLE");
    return code != 0 ? code : check_table(opened, use);
}

static int create_table(struct opened_account *opened)
{
    const struct directory table = directory_of_table(mount_source_table(opened->source));
    const struct directory_path path = {.steps = &table, .n = 1};
    struct caller caller = opened_account_caller(opened);
    int r = account_make_directory(opened->account, &caller, &path);
    if (r == 0 || r == -EEXIST)
        return 0;
    return opened->is_interrupted ? EXIT_INTERRUPTED
                                  : opened_account_complain(opened, &caller.call.failure);
}

static int parse_options(struct opened_account *opened)
{
    struct fuse_args *args = &opened->args;
    if ((args->argc == 0 && fuse_opt_add_arg(args, "tablefuse") < 0) ||
        fuse_opt_insert_arg(args, 1, COMMAND_PARALLELISM) < 0)
        return verb_complain_memory();
    return options_parse(opened->verb, args, 0, 0, 0, &opened->options) < 0
               ? verb_usage_code(opened->verb)
               : 0;
}

static int open_account(struct opened_account *opened, const struct use *use)
{
    int code = parse_options(opened);
    if (code != 0)
        return code;
    if (log_create(opened->verb->name, &opened->log) < 0)
        return verb_complain_memory();
    log_over_progress(opened->log);
    code = open_source(opened, use);
    if (code != 0)
        return code;
    const struct account_options options = {.ttl_ms = opened->options.ttl_ms,
                                            .cache_bytes = COMMAND_CACHE_BYTES,
                                            .parallelism = opened->options.parallelism,
                                            .fanout = opened->options.fanout,
                                            .is_read_only = !use->changes,
                                            .pending_bytes = OPTIONS_MIN_PENDING_BYTES,
                                            .timeout_ms = opened->options.timeout_ms};
    int r = account_create(mount_source_take_store(opened->source), &clock_system, &options,
                           ignore_failure, NULL, &opened->account);
    if (r < 0)
        return verb_complain_memory();
    return use->creates ? create_table(opened) : 0;
}

int opened_account_open(struct opened_account *opened, const char *name, bool needs_table,
                        store_decorator *decorate)
{
    return open_account(
        opened, &(struct use){.name = name, .needs_table = needs_table, .decorate = decorate});
}

int opened_account_open_to_change(struct opened_account *opened, const char *name, bool creates,
                                  store_decorator *decorate)
{
    return open_account(opened, &(struct use){.name = name,
                                              .needs_table = true,
                                              .changes = true,
                                              .creates = creates,
                                              .decorate = decorate});
}

/* One step of a path. 0 or -errno. */
static int step(struct place *place, struct bytes name)
{
    _cleanup_(place_finish) struct place parent = *place;
    *place = (struct place){0};
    int r = place_child(&parent, name, place);
    if (r == 0 && place->kind != PLACE_DIRECTORY)
        r = place->kind == PLACE_FILTERS ? -EPERM : -ENOTDIR;
    return r == 0 && place->is_cut ? -EOPNOTSUPP : r;
}

static int refuse_path(const char *path, int error)
{
    const char *why = error == -EOPNOTSUPP
                          ? "a name that was cut does not have the key -- take the "
                            "directory that contains it"
                      : error == -EPERM   ? "filters are directories of a mount: use --filter"
                      : error == -ENOTDIR ? "it is not a directory"
                      : error == -ENOMEM  ? "out of memory"
                                          : "no directory can have this name";
    say("tablefuse: %s: %s\n", path, why);
    return error == -ENOMEM ? EXIT_MOUNTING : EXIT_NOT_FOUND;
}

int opened_account_find(struct opened_account *opened, const char *path, struct place *ret)
{
    struct bytes rest = bytes_of(path);
    const char *table = opened->source ? mount_source_table(opened->source) : "table";
    int r = place_root(table, DIRECTORY_AUTO, ret);
    while (r == 0 && rest.size > 0) {
        struct bytes name = bytes_take_until(&rest, '/');
        if (name.size > 0 && !bytes_equal(name, BYTES_LITERAL(".")))
            r = step(ret, name);
    }
    return r < 0 ? refuse_path(path, r) : 0;
}

int opened_account_complain(const struct opened_account *opened, const struct failure *failure)
{
    if (opened->is_interrupted)
        return EXIT_INTERRUPTED;
    return mount_source_complain(opened->source, failure);
}

uint64_t opened_account_requests(const struct opened_account *opened)
{
    return mount_source_requests(opened->source);
}
