#include "fs/command.h"
#include "cache/account.h"
#include "client/text/metrics.h"
#include "fs/background.h"
#include "fs/mount_source.h"
#include "fs/mountpoint.h"
#include "fs/options.h"
#include "fs/session.h"

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <getopt.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNT_MS      30000 /* for all of `tablefuse mount` */
#define DAEMON_END_MS 30000

static const char usage[] =
    "usage: tablefuse mount [-f] [-o OPTIONS] [SOURCE] DIR\n"
    "       tablefuse unmount [-z] DIR\n"
    "       tablefuse version\n"
    "\n"
    "Mounts an Azure Table Storage account as a directory tree of JSON files.\n"
    "\n"
    "SOURCE is local:FILE (an account in one file), an account name, an endpoint URL, or\n"
    "`emulator`; /TABLE behind a name or URL makes that table's directory the root.\n"
    "Credentials, and the account where there is no SOURCE, come from the environment:\n"
    "AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or\n"
    "AZURE_STORAGE_SAS_TOKEN.\n"
    "\n"
    "  -f               stay in the foreground, messages on standard error\n"
    "  -z               unmount now, finish when the last user is done\n"
    "  -o ro            read-only (this version always is)\n"
    "  -o ttl=SECONDS   how old an answer may be (default 1; fractions allowed; 0: always ask)\n"
    "  -o cache_size=N  bytes kept of what was read, or 512K, 64M, 2G (default 64M)\n"
    "  -o parallelism=N requests of a listing or walk at once (default 8)\n"
    "  -o layout=auto   list prefixes where there are many partitions (default); flat: never\n"
    "  -o fanout=N      how many are not many (default 512)\n"
    "  -o uid=, gid=    owner of every file (default: who mounts)\n"
    "  -o umask=OCTAL   permissions taken from 0777 and 0666 (default: the mounter's umask)\n"
    "  -o allow_other   other users may enter; the kernel checks the permissions\n"
    "  -o ca_cert=FILE  trust these certificates (also: SSL_CERT_FILE)\n"
    "  -o table=TABLE   the same as /TABLE behind SOURCE\n"
    "and FUSE's own options, for example auto_unmount, fsname=NAME.\n"
    "\n"
    "Exit codes: 1 usage, 2 configuration, 3 credentials refused, 4 network or TLS,\n"
    "5 not found, 32 mounting.\n";

struct mount_command {
    bool is_foreground;
    const char *source_name; /* NULL: the environment says */
    char *mountpoint;
    struct options options;
    struct fuse_args args;
    struct background background;
    struct mount_source *source;
    struct file_system fs;
};

static int complain_usage(const char *reason)
{
    (void)fprintf(stderr, "tablefuse: %s\n%s", reason, usage);
    return EXIT_USAGE;
}

static int append_stats(void *context, struct buffer *ret)
{
    struct mount_command *command = context;
    int r = mount_source_append_metrics(command->source, ret);
    if (r < 0)
        return r;
    (void)account_append_metrics(command->fs.account, ret);
    (void)metrics_append_number(ret, "tablefuse_inodes", "gauge", "Nodes that the kernel knows.",
                                inode_table_count(command->fs.inodes));
    return metrics_append_number(ret, "tablefuse_waiting", "gauge",
                                 "Callers that may wait for the service.",
                                 (uint64_t)atomic_load(&command->fs.waiting));
}

static int describe_configuration(const struct mount_command *command, struct buffer *ret)
{
    const struct options *options = &command->options;
    (void)mount_source_append_description(command->source, ret);
    return buffer_append_format(
        ret,
        "ttl %lld.%03lld\ncache_size %zu\nparallelism %d\nlayout %s\nfanout %d\nuid %u\ngid %u\n"
        "umask %03o\nca_cert %s\n",
        (long long)options->ttl_ms / 1000, (long long)options->ttl_ms % 1000, options->cache_bytes,
        options->parallelism, options->layout == DIRECTORY_FLAT ? "flat" : "auto", options->fanout,
        options->uid, options->gid, options->umask, options->ca_cert ? options->ca_cert : "-");
}

static void tell_failure(void *context, const struct failure_record *record)
{
    struct log *log = context;
    if (!log_has_room(log, clock_now_ms(&clock_system)))
        return;
    _cleanup_(buffer_finish) struct buffer line;
    buffer_init(&line, 2048);
    (void)control_append_failure(&line, record);
    const char *text = buffer_string(&line);
    if (text)
        log_message(log, "%s", text);
}

static int create_control(struct mount_command *command)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, (size_t)16 << 10);
    (void)describe_configuration(command, &text);
    const char *config = buffer_string(&text);
    return config ? control_dir_create(account_failures(command->fs.account), config, append_stats,
                                       command, &command->fs.control)
                  : -ENOMEM;
}

static bool on_ready(void *context)
{
    struct mount_command *command = context;
    if (command->is_foreground)
        return true;
    atomic_store(&command->fs.log.is_syslog, true);
    return background_ready(&command->background);
}

/* The file system over the store, which it takes. */
static int create_file_system(struct mount_command *command)
{
    struct file_system *fs = &command->fs;
    const struct account_options options = {.ttl_ms = command->options.ttl_ms,
                                            .cache_bytes = command->options.cache_bytes,
                                            .parallelism = command->options.parallelism,
                                            .fanout = command->options.fanout};
    _cleanup_(place_finish) struct place root = {0};
    fs->clock = &clock_system;
    fs->attributes = (struct attributes){.uid = command->options.uid,
                                         .gid = command->options.gid,
                                         .umask = command->options.umask,
                                         .mounted_at_100ns = clock_utc_100ns(&clock_system)};
    fs->ready = on_ready;
    fs->ready_context = command;
    int r = account_create(mount_source_take_store(command->source), fs->clock, &options,
                           tell_failure, &fs->log, &fs->account);
    if (r < 0)
        return r;
    r = place_root(mount_source_table(command->source), command->options.layout, &root);
    if (r == 0)
        r = inode_table_create(&root, &fs->inodes);
    if (r == 0)
        r = stale_opens_create(&fs->stale_opens);
    if (r == 0)
        r = failed_lookups_create(&fs->failed_lookups);
    if (r == 0)
        r = process_ids_create(fs->clock, &fs->processes);
    return r < 0 ? r : create_control(command);
}

static void destroy_all(struct mount_command *command)
{
    struct file_system *fs = &command->fs;
    session_destroy(fs);
    control_dir_destroy(fs->control);
    process_ids_destroy(fs->processes);
    failed_lookups_destroy(fs->failed_lookups);
    stale_opens_destroy(fs->stale_opens);
    inode_table_destroy(fs->inodes);
    account_destroy(fs->account);
    mount_source_close(command->source);
}

static int complain_memory(void)
{
    (void)fprintf(stderr, "tablefuse: out of memory\n");
    return EXIT_MOUNTING;
}

/* In the process that stays: from options to a mounted file system that has ended. Reads top to
 * bottom. */
static int mount_and_serve(struct mount_command *command, store_decorator *decorate)
{
    (void)prctl(PR_SET_DUMPABLE, 0); /* no core, no debugger: they would show the key */
    (void)signal(SIGPIPE, SIG_IGN);
    /* pages come and go by the megabyte: what is freed goes back to the system, from every thread
     */
    (void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
    if (session_create(&command->fs, &command->args) < 0)
        return EXIT_USAGE;
    const struct mount_source_options options = {.name = command->source_name,
                                                 .table = command->options.table,
                                                 .ca_cert = command->options.ca_cert,
                                                 .mountpoint = command->mountpoint};
    int code = mount_source_open(&options, decorate, &command->source);
    if (code == 0)
        code = mount_source_ask(command->source);
    if (code != 0)
        return code;
    if (create_file_system(command) < 0)
        return complain_memory();
    return session_run(&command->fs, command->mountpoint) < 0 ? EXIT_MOUNTING : 0;
}

/* A dead mount of ours is taken away first; a living one is not covered by another. */
static int prepare_mountpoint(struct mount_command *command, const char *directory)
{
    int r = mountpoint_resolve(directory, &command->mountpoint);
    if (r == 0 && strcmp(command->mountpoint, "/") == 0) {
        (void)fprintf(stderr, "tablefuse: a mount over / would hide the system\n");
        return EXIT_MOUNTING;
    }
    if (r == 0 && mountpoint_is_tablefuse(command->mountpoint)) {
        if (!mountpoint_is_dead(command->mountpoint)) {
            (void)fprintf(stderr, "tablefuse: %s is a tablefuse mount already\n", directory);
            return EXIT_MOUNTING;
        }
        r = mountpoint_unmount(command->mountpoint, true);
    }
    struct stat stat_of_directory;
    if (r == 0 && stat(command->mountpoint, &stat_of_directory) < 0)
        r = -errno;
    else if (r == 0 && !S_ISDIR(stat_of_directory.st_mode))
        r = -ENOTDIR;
    if (r < 0)
        (void)fprintf(stderr, "tablefuse: cannot mount at %s: %s\n", directory, strerror(-r));
    return r < 0 ? EXIT_MOUNTING : 0;
}

/* The option, else SSL_CERT_FILE, as an absolute path: the daemon works in /. */
static int find_ca_cert(struct options *options)
{
    const char *file = options->ca_cert ? options->ca_cert : getenv("SSL_CERT_FILE");
    if (!file || file[0] == '\0')
        return 0;
    char *path = realpath(file, NULL);
    if (!path) {
        (void)fprintf(stderr, "tablefuse: certificates in %s: %s\n", file, strerror(errno));
        return EXIT_CONFIGURATION;
    }
    free(options->ca_cert);
    options->ca_cert = path;
    return 0;
}

/* Options and operands of `mount`. */
static int parse_mount(int argc, char **argv, struct mount_command *command, const char **ret_dir)
{
    opterr = 0; /* it would speak in the name of the verb */
    for (int option; (option = getopt(argc, argv, "fo:")) != -1;) {
        if (option == 'f')
            command->is_foreground = true;
        else if (option != 'o')
            return complain_usage("mount: no such option, or no value behind -o");
        else if (fuse_opt_add_arg(&command->args, "-o") < 0 ||
                 fuse_opt_add_arg(&command->args, optarg) < 0)
            return complain_memory();
    }
    int operands = argc - optind;
    if (operands < 1 || operands > 2)
        return complain_usage("mount takes an optional SOURCE and a DIR");
    command->source_name = operands == 2 ? argv[optind] : NULL;
    *ret_dir = argv[argc - 1];
    mode_t mask = umask(0);
    (void)umask(mask);
    if (options_parse(&command->args, getuid(), getgid(), mask, &command->options) < 0)
        return EXIT_USAGE;
    return find_ca_cert(&command->options);
}

static int run_mount(int argc, char **argv, store_decorator *decorate)
{
    struct mount_command command = {.background = {.pipe = -1}, .args = FUSE_ARGS_INIT(0, NULL)};
    const char *directory = NULL;
    int code = fuse_opt_add_arg(&command.args, "tablefuse") < 0
                   ? complain_memory()
                   : parse_mount(argc, argv, &command, &directory);
    if (code == 0)
        code = prepare_mountpoint(&command, directory);
    int is_parent = 0;
    if (code == 0 && !command.is_foreground) {
        is_parent = background_fork(MOUNT_MS, EXIT_MOUNTING, &command.background, &code);
        if (is_parent == 1 && code != 0 && mountpoint_is_tablefuse(command.mountpoint) &&
            mountpoint_is_dead(command.mountpoint)) /* what was killed left its mount */
            (void)mountpoint_unmount(command.mountpoint, true);
        if (is_parent < 0) {
            (void)fprintf(stderr, "tablefuse: cannot fork: %s\n", strerror(-is_parent));
            code = EXIT_MOUNTING;
        }
    }
    if (code == 0 && is_parent == 0) {
        code = mount_and_serve(&command, decorate);
        destroy_all(&command);
    }
    fuse_opt_free_args(&command.args);
    options_finish(&command.options);
    free(command.mountpoint);
    return code;
}

static int open_pidfd(pid_t pid)
{
    return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* Waits for the daemon's end, so that what comes after `unmount` finds nothing of it left. */
static int await_daemon(int pidfd)
{
    struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};
    int n;
    do {
        n = poll(&pollfd, 1, DAEMON_END_MS);
    } while (n < 0 && errno == EINTR);
    (void)close(pidfd);
    if (n > 0)
        return 0;
    (void)fprintf(stderr, "tablefuse: unmounted, but its process has not ended yet\n");
    return EXIT_MOUNTING;
}

static int unmount_directory(const char *directory, bool is_lazy)
{
    _cleanup_(freep) char *path = NULL;
    int r = mountpoint_resolve(directory, &path);
    if (r < 0 || !mountpoint_is_tablefuse(path)) {
        (void)fprintf(stderr, "tablefuse: %s is not a tablefuse mount%s%s\n", directory,
                      r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
        return EXIT_NOT_FOUND;
    }
    /* the daemon of a lazy unmount ends when its last user does; that of a dead mount has */
    int pidfd = is_lazy || mountpoint_is_dead(path) ? -1 : open_pidfd(mountpoint_daemon(path));
    r = mountpoint_unmount(path, is_lazy);
    if (r == 0)
        return pidfd < 0 ? 0 : await_daemon(pidfd);
    if (pidfd >= 0)
        (void)close(pidfd);
    if (r != -EIO) /* then fusermount3 has said why */
        (void)fprintf(stderr, "tablefuse: cannot unmount %s: %s%s\n", directory, strerror(-r),
                      r == -EBUSY ? " (end what uses it, or unmount -z)" : "");
    return EXIT_MOUNTING;
}

static int run_unmount(int argc, char **argv)
{
    bool is_lazy = false;
    opterr = 0;
    for (int option; (option = getopt(argc, argv, "z")) != -1;) {
        if (option != 'z')
            return complain_usage("unmount: no such option");
        is_lazy = true;
    }
    if (argc - optind != 1)
        return complain_usage("unmount takes one DIR");
    return unmount_directory(argv[optind], is_lazy);
}

int command_run(int argc, char **argv, store_decorator *decorate)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
        return fputs(usage, stdout) < 0 ? EXIT_USAGE : 0;
    if ((strcmp(verb, "version") == 0 || strcmp(verb, "--version") == 0) && argc == 2)
        return printf("tablefuse %s\n", TABLEFUSE_VERSION) < 0 ? EXIT_USAGE : 0;
    if (strcmp(verb, "mount") == 0)
        return run_mount(argc - 1, argv + 1, decorate);
    if (strcmp(verb, "unmount") == 0)
        return run_unmount(argc - 1, argv + 1);
    return complain_usage(verb[0] ? "no such command" : "no command given");
}
