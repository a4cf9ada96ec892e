/* SPDX-License-Identifier: MIT */
/* `tablefuse mount`: creates the parts of the program and connects them. */
#include "cache/account.h"
#include "fs/base/exit_report.h"
#include "fs/base/say.h"
#include "fs/cli/mount_hint.h"
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "fs/mount/background.h"
#include "fs/mount/fuse_access.h"
#include "fs/mount/mount_directory.h"
#include "fs/mount/mount_end.h"
#include "fs/mount/mount_stats.h"
#include "fs/mount/sas_end.h"
#include "fs/mount/session.h"
#include "fs/ops/lock_ops.h"
#include "fs/source/mount_source.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOUNT_MS       30000             /* the maximum for `tablefuse mount` */
#define LOG_LINE_BYTES (2048 + PATH_MAX) /* with the path of a file in lost+found */

struct mount_command {
    bool is_foreground;
    bool is_of_mount8;       /* mount(8) called, or mount.fuse3 for it */
    bool is_fake;            /* checks everything and does not mount */
    bool is_as_is;           /* the source's file must not be changed */
    bool is_read_only;       /* `ro` was given, or the source's file cannot be changed */
    bool has_served;         /* the session has ended */
    const char *source_name; /* NULL: the environment names the account */
    struct mountpoint place;
    struct options options;
    struct fuse_args args;
    struct background background;
    struct exit_report *exit_report;        /* NULL: none */
    char last_words[EXIT_REPORT_MAX_BYTES]; /* for it; "": none */
    struct mount_source *source;
    struct sas_end sas_end;
    struct file_system fs;
};

static int append_stats(void *context, struct buffer *ret)
{
    struct mount_command *command = context;
    return mount_stats_append(command->source, &command->fs, ret);
}

/* A mount that is read-only has none. */
static int append_lost_and_found(const struct lost_and_found *lost, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer path;
    buffer_init(&path, PATH_MAX);
    if (lost && lost_and_found_append_path(lost, &path) < 0)
        return -ENOMEM;
    return control_append_setting(ret, "lost_and_found ", lost ? buffer_string(&path) : NULL);
}

static int append_configuration(void *context, struct buffer *ret)
{
    const struct mount_command *command = context;
    const struct options *options = &command->options;
    char fanout[16] = "auto";
    if (options->fanout > 0)
        (void)snprintf(fanout, sizeof(fanout), "%d", options->fanout);
    (void)mount_source_append_description(command->source, ret);
    (void)buffer_append_format(
        ret,
        "ttl %lld.%03lld\ntimeout %lld.%03lld\ncache_size %zu\nmax_nodes %d\nparallelism "
        "%d\nlayout %s\nfanout "
        "%s\n"
        "uid %u\ngid %u\numask %03o\nread_only %s\nconflict %s\nwriteback %s\npending_size %zu\n"
        "table_drop %s\n",
        (long long)options->ttl_ms / 1000, (long long)options->ttl_ms % 1000,
        (long long)options->timeout_ms / 1000, (long long)options->timeout_ms % 1000,
        options->cache_bytes, options->max_nodes, options->parallelism,
        options->layout == DIRECTORY_FLAT ? "flat" : "auto", fanout, options->uid, options->gid,
        options->umask, command->is_read_only ? "yes" : "no",
        options->overwrites_conflicts ? "overwrite" : "refuse",
        options->is_write_back ? "yes" : "no", options->pending_bytes,
        options->never_drops_rows ? "no" : "yes");
    (void)control_append_setting(ret, "scratch ", options->scratch_globs);
    return append_lost_and_found(command->fs.lost, ret);
}

static void log_no_room(void *context, const char *table)
{
    log_message(
        context,
        "deletes in /%s fill the queue, and are sent in batches -- to delete the whole table, "
        "`tablefuse drop DIR/%s` is one request",
        table, table);
}

/* Not of an outage, which has a line of its own (mount_source.h). */
static void log_failure(void *context, const struct failure_record *record)
{
    struct log *log = context;
    if (record->failure.outage > 0 || !log_has_room(log, clock_now_ms(&clock_system)))
        return;
    _cleanup_(buffer_finish) struct buffer line;
    buffer_init(&line, LOG_LINE_BYTES);
    (void)control_append_failure_text(&line, record); /* a line of the log has its own time */
    const char *text = buffer_string(&line);
    if (text)
        log_message(log, "%s", text);
}

static int create_control(struct mount_command *command)
{
    return control_dir_create(account_failures(command->fs.account),
                              exit_report_socket(command->exit_report), append_configuration,
                              append_stats, command, &command->fs.control);
}

static bool on_ready(void *context)
{
    struct mount_command *command = context;
    if (command->is_foreground)
        return true;
    log_to_syslog(command->fs.log);
    return background_ready(&command->background);
}

static bool is_ending(void *context)
{
    const struct mount_command *command = context;
    return command->has_served || session_is_ending(&command->fs);
}

static int create_files(struct mount_command *command)
{
    struct file_system *fs = &command->fs;
    fs->texts = (struct text_sink){.account = fs->account,
                                   .settler = &fs->settler,
                                   .lost = fs->lost,
                                   .clock = fs->clock,
                                   .queued = {.lost = fs->lost, .clock = fs->clock},
                                   .is_ending = is_ending,
                                   .ending_context = command};
    buffer_init(&fs->texts.abandoned, TEXT_SINK_ABANDONED_MAX_BYTES);
    struct writer_store store = text_sink_store(&fs->texts);
    int r = writers_create(fs->clock, &store, &fs->writers);
    if (r == 0)
        r = scratch_create(SCRATCH_MAX_BYTES, &fs->scratch);
    fs->settler.writers = fs->writers;
    fs->settler.scratch = fs->scratch;
    return r < 0 ? r : scratch_opens_create(&fs->scratch_opens);
}

/* Creates the parts of the file system over the source's store, which it takes. */
static int create_file_system(struct mount_command *command)
{
    struct file_system *fs = &command->fs;
    const struct account_options options = {.ttl_ms = command->options.ttl_ms,
                                            .cache_bytes = command->options.cache_bytes,
                                            .parallelism = command->options.parallelism,
                                            .fanout = command->options.fanout,
                                            .is_read_only = command->is_read_only,
                                            .overwrites_conflicts =
                                                command->options.overwrites_conflicts,
                                            .is_write_back = command->options.is_write_back,
                                            .never_drops_rows = command->options.never_drops_rows,
                                            .pending_bytes = command->options.pending_bytes,
                                            .timeout_ms = command->options.timeout_ms,
                                            .lost = text_sink_lose_change,
                                            .lost_context = &fs->texts,
                                            .no_room = log_no_room,
                                            .no_room_context = fs->log};
    _cleanup_(place_finish) struct place root = {0};
    fs->clock = &clock_system;
    fs->timeout_ms = command->options.timeout_ms;
    fs->scratch_globs = command->options.scratch_globs;
    fs->allows_updatedb = command->options.allows_updatedb;
    fs->attributes = (struct attributes){.uid = command->options.uid,
                                         .gid = command->options.gid,
                                         .umask = command->options.umask,
                                         .mounted_at_100ns = clock_utc_100ns(&clock_system)};
    fs->ready = on_ready;
    fs->ready_context = command;
    int r = account_create(mount_source_take_store(command->source), fs->clock, &options,
                           log_failure, fs->log, &fs->account);
    if (r < 0)
        return r;
    sas_end_watch(&command->sas_end, command->source, fs->account);
    r = place_root(mount_source_table(command->source), command->options.layout, &root);
    if (r == 0)
        r = inode_table_create(&root, (size_t)command->options.max_nodes, &fs->inodes);
    if (r == 0)
        r = stale_opens_create(&fs->stale_opens);
    if (r == 0)
        r = failed_lookups_create(&fs->failed_lookups);
    if (r == 0)
        r = long_names_create(LONG_NAMES_MAX_BYTES, &fs->long_names);
    if (r == 0)
        r = process_ids_create(fs->clock, &fs->processes);
    if (r == 0)
        r = locks_create(&lock_ops_waiters, &fs->locks);
    fs->settler =
        (struct settler){.account = fs->account, .inodes = fs->inodes, .names = fs->long_names};
    if (r == 0 && !command->is_read_only)
        r = create_files(command);
    return r < 0 ? r : create_control(command);
}

static void destroy_all(struct mount_command *command)
{
    struct file_system *fs = &command->fs;
    session_destroy(fs);
    control_dir_destroy(fs->control);
    process_ids_destroy(fs->processes);
    failed_lookups_destroy(fs->failed_lookups);
    long_names_destroy(fs->long_names);
    stale_opens_destroy(fs->stale_opens);
    inode_table_destroy(fs->inodes);
    locks_destroy(fs->locks);
    scratch_opens_destroy(fs->scratch_opens);
    scratch_destroy(fs->scratch);
    writers_destroy(fs->writers);
    account_destroy(fs->account); /* what it abandons goes to lost+found */
    lost_and_found_destroy(fs->lost);
    text_sink_finish(&fs->texts);
    mount_source_close(command->source);
}

/* Names the mount for findmnt and df. mount(8) knows a mount of its fstab by the source that stands
 * there, letter by letter. The name is put first, so that the user's own fsname= holds. 0 or
 * -ENOMEM. */
static int add_name(struct mount_command *command)
{
    const char *name = command->is_of_mount8 && command->source_name
                           ? command->source_name
                           : mount_source_name(command->source);
    _cleanup_(freep) char *option = NULL;
    _cleanup_(freep) char *escaped = NULL;
    _cleanup_(freep) char *argument = NULL;
    if (asprintf(&option, "fsname=%s", name) < 0) {
        option = NULL;
        return -ENOMEM;
    }
    if (fuse_opt_add_opt_escaped(&escaped, option) < 0)
        return -ENOMEM;
    if (asprintf(&argument, "-o%s", escaped) < 0) {
        argument = NULL;
        return -ENOMEM;
    }
    return fuse_opt_insert_arg(&command->args, 1, argument) < 0 ? -ENOMEM : 0;
}

/* Prints how many files of this account are new in lost+found since the last report. */
static void report_lost_files(struct lost_and_found *lost)
{
    _cleanup_(buffer_finish) struct buffer place;
    buffer_init(&place, PATH_MAX);
    size_t count;
    (void)lost_and_found_append_path(lost, &place);
    const char *path = buffer_string(&place);
    int64_t now_100ns = clock_utc_100ns(&clock_system);
    if (path && lost_and_found_count_new(lost, now_100ns, &count) == 0 && count > 0)
        say("tablefuse: %zu new %s of this account in %s: kept there because %s\n", count,
            count == 1 ? "file" : "files", path,
            count == 1 ? "it could not be stored, or was temporary"
                       : "they could not be stored, or were temporary");
}

/* The home of the effective user, from the system's list of users, which may be on a network. NULL:
 * there is none, or no memory. */
static char *find_home(void)
{
    struct passwd user, *found = NULL;
    char text[16 << 10];
    return getpwuid_r(geteuid(), &user, text, sizeof(text), &found) == 0 && found
               ? strdup(found->pw_dir)
               : NULL;
}

/* Where texts go that the account does not take. Without such a place nothing must be written. An
 * exit code. */
static int find_lost_and_found(struct mount_command *command)
{
    const struct state_places places = {.xdg_state_home = getenv("XDG_STATE_HOME"),
                                        .home = getenv("HOME"),
                                        .find_home = find_home,
                                        .system = "/var/lib"};
    _cleanup_(buffer_finish) struct buffer why;
    buffer_init(&why, LOG_LINE_BYTES + PATH_MAX);
    int r = lost_and_found_create(&places, command->place.path,
                                  mount_source_account(command->source), &why, &command->fs.lost);
    if (r == 0) {
        report_lost_files(command->fs.lost);
        return 0;
    }
    const char *text = buffer_string(&why);
    if (!text || why.size == 0)
        return verb_complain_memory();
    say("tablefuse: %s\n", text);
    return EXIT_CONFIGURATION;
}

/* Decides whether the mount is read-only, and prepares it for that. An exit code. */
static int prepare_writing(struct mount_command *command)
{
    bool is_wanted = command->options.is_read_only;
    command->is_read_only = is_wanted || mount_source_is_read_only(command->source);
    if (!command->is_read_only)
        return find_lost_and_found(command);
    if (!is_wanted)
        say("tablefuse: warning: the mount is read-only, because %s cannot be changed\n",
            command->source_name);
    return fuse_opt_add_arg(&command->args, "-oro") < 0 ? verb_complain_memory() : 0;
}

/* Words for `unmount`; libfuse or the session has written its own message. */
static int report_failed_session(struct mount_command *command, int error)
{
    size_t size = strlen(command->last_words);
    (void)snprintf(command->last_words + size, sizeof(command->last_words) - size,
                   "%sthe mount has failed before: %s", size > 0 ? "; " : "", strerror(-error));
    return EXIT_MOUNTING;
}

/* The signals that would end the daemon, but are not sent to end it. Its mount would be dead. */
static void ignore_signals(void)
{
    static const int ignored[] = {SIGALRM, SIGIO,   SIGPIPE,   SIGPROF,
                                  SIGUSR1, SIGUSR2, SIGVTALRM, SIGXFSZ};
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)signal(SIGCHLD, SIG_DFL); /* else a child's exit status is lost */
}

/* An exit code. */
static int serve(struct mount_command *command)
{
    (void)exit_report_offer(&command->exit_report);
    if (create_file_system(command) < 0 || log_start(command->fs.log) < 0)
        return verb_complain_memory();
    int r = session_run(&command->fs, &command->place);
    command->has_served = true;
    int code = mount_end(&command->fs, command->last_words);
    return r < 0 ? report_failed_session(command, r) : code;
}

/* Takes the secrets out of the environment, and keeps no copy of their texts. An exit code. */
static int open_source(struct mount_command *command, store_decorator *decorate)
{
    _cleanup_(secret_variables_wipe) struct secret_variables variables = {0};
    secret_variables_take(&variables, !local_source_is_named(command->source_name));
    const struct mount_source_options options = {.name = command->source_name,
                                                 .table = command->options.table,
                                                 .ca_cert = command->options.ca_cert,
                                                 .auth = command->options.auth,
                                                 .credentials = command->options.credentials,
                                                 .variables = &variables,
                                                 .mountpoint = command->place.path,
                                                 .is_as_is = command->is_as_is,
                                                 .allows_http = command->options.allows_http,
                                                 .may_create = command->options.may_create,
                                                 .timeout_ms = command->options.timeout_ms,
                                                 .cache_bytes = command->options.cache_bytes,
                                                 .log = command->fs.log};
    return mount_source_open(&options, decorate, &command->source);
}

/* Runs in the daemon: creates everything, mounts, and serves until the end. */
static int mount_and_serve(struct mount_command *command, store_decorator *decorate)
{
    (void)prctl(PR_SET_DUMPABLE, 0); /* a core dump or a debugger would show the key */
    ignore_signals();
    if (log_create(command->place.path, &command->fs.log) < 0)
        return verb_complain_memory();
    /* Pages are allocated and freed by the megabyte. With this threshold malloc maps them, so that
     * freeing returns their memory to the system from every thread. */
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
    int code = open_source(command, decorate);
    if (code == 0 && add_name(command) < 0)
        code = verb_complain_memory();
    if (code == 0)
        code = prepare_writing(command);
    if (code == 0 && session_create(&command->fs, &command->args) < 0)
        code = verb_point_to_help(&verb_mount);
    if (code == 0)
        code = mount_source_query(command->source, false, NULL, NULL);
    if (code != 0)
        return code;
    sas_end_warn(command->source);
    return serve(command);
}

/* mount(8) passes -n, -s, -v and -t TYPE to every program that mounts for it. They have no effect
 * here. Its -f is "fake". */
static int take_flag(struct mount_command *command, int option)
{
    if (option == 'f')
        *(command->is_of_mount8 ? &command->is_fake : &command->is_foreground) = true;
    else if (option == 'o' && (fuse_opt_add_arg(&command->args, "-o") < 0 ||
                               fuse_opt_add_arg(&command->args, optarg) < 0))
        return verb_complain_memory();
    return 0;
}

/* Parses the options and operands. 0 or an exit code. */
static int parse_mount(const struct verb *verb, int argc, char **argv,
                       struct mount_command *command, const char **ret_dir)
{
    static const struct option no_long_options[] = {{0}};
    const char *flags = command->is_of_mount8 ? ":fo:nsvt:" : ":fo:";
    for (int option; (option = getopt_long(argc, argv, flags, no_long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return mount_hint_refuse(verb, option, argv);
        int code = take_flag(command, option);
        if (code != 0)
            return code;
    }
    if (getpid() == 1 && !command->is_foreground && !command->is_fake)
        return verb_refuse(verb, "this is process 1 of a container, which ends with it -- use -f");
    int operands = argc - optind;
    if (operands < 1)
        return verb_refuse(verb, "no directory to mount at");
    if (operands > 2)
        return verb_refuse(verb, "unexpected operand %s after SOURCE and DIR",
                           verb_printable(argv[optind + 2]));
    const char *first = argv[optind];
    if (operands == 1 && (local_source_is_named(first) || strstr(first, "://")))
        return verb_refuse(verb, "no directory to mount SOURCE at");
    if (local_source_is_named(first) && !first[strlen(LOCAL_SOURCE)])
        return verb_refuse(verb, "SOURCE is %s without a FILE", LOCAL_SOURCE);
    command->source_name = operands == 2 ? first : NULL;
    *ret_dir = argv[argc - 1]; /* getopt has put the operands last */
    mode_t mask = umask(0);
    (void)umask(mask);
    return options_parse(verb, &command->args, getuid(), getgid(), mask, &command->options) < 0
               ? EXIT_USAGE
               : 0;
}

static int run(const struct verb *verb, int argc, char **argv, store_decorator *decorate,
               bool is_of_mount8)
{
    struct mount_command command = {.is_of_mount8 = is_of_mount8,
                                    .background = {.pipe = -1},
                                    .place = MOUNTPOINT_NONE,
                                    .args = FUSE_ARGS_INIT(0, NULL)};
    const char *directory = "";
    int code = fuse_opt_add_arg(&command.args, "tablefuse") < 0
                   ? verb_complain_memory()
                   : parse_mount(verb, argc, argv, &command, &directory);
    if (code == 0)
        code = mount_directory_prepare(directory, &command.place);
    if (code == 0)
        code = fuse_access_check(command.options.allow_other);
    if (code == 0 && !command.is_fake) /* before the fork, so that MOUNT_MS does not limit it */
        code = local_source_prepare(command.source_name, command.options.is_read_only,
                                    &command.is_as_is);
    int is_parent = 0;
    if (code == 0 && !command.is_fake && !command.is_foreground) {
        is_parent = background_fork(MOUNT_MS, EXIT_MOUNTING, command.place.above,
                                    &command.background, &code);
        if (is_parent == 1 && code != 0)
            mount_directory_clean_up(&command.place);
        if (is_parent < 0) {
            say("tablefuse: cannot start the background process: %s\n", strerror(-is_parent));
            code = EXIT_MOUNTING;
        }
    }
    if (code == 0 && !command.is_fake && is_parent == 0) {
        code = mount_and_serve(&command, decorate);
        destroy_all(&command);
        log_destroy(command.fs.log);
        exit_report_send(command.exit_report, code, command.last_words);
    }
    fuse_opt_free_args(&command.args);
    options_finish(&command.options);
    mountpoint_finish(&command.place);
    return code;
}

static int run_mount(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    return run(verb, argc, argv, decorate, false);
}

int verb_run_for_mount8(int argc, char **argv, store_decorator *decorate)
{
    return run(&verb_mount, argc, argv, decorate, true);
}

const struct verb verb_mount = {
    .name = "mount",
    .usage = "[-f] [-o OPTION,...] [SOURCE] DIR",
    .purpose = "Mounts an Azure Table Storage account as a directory tree of JSON files.",
    .help =
        "SOURCE is an account name, an endpoint URL, `emulator`, or local:FILE (an account in one\n"
        "file, without credential). /TABLE after it makes that table the root. The environment\n"
        "has the credential, and without SOURCE the account: AZURE_STORAGE_CONNECTION_STRING or\n"
        "AZURE_STORAGE_SAS_URL, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or "
        "AZURE_STORAGE_SAS_TOKEN.\n"
        "  -f                   stay in the foreground, write messages to standard error\n"
        "FUSE's own options work too, for example auto_unmount and fsname=NAME (SOURCE).\n",
    .has_options = true,
    .run = run_mount,
};
