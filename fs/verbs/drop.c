/* SPDX-License-Identifier: MIT */
/* `tablefuse drop`: drops a table of a mount with all its entities, after its name was typed. A
 * child process does it (bounded.h), because the mount may hang. */
#include "client/base/base.h"
#include "client/base/clock.h"
#include "fs/base/bounded.h"
#include "fs/base/say.h"
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "fs/mount/mountpoint.h"
#include "fs/tree/place.h"

#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES     4096 /* of .tablefuse/errors; a longer one is cut */
#define CONFIG_BYTES   ((size_t)64 << 10)
#define DROP_DIRECTORY "/" CONTROL_DIRECTORY_NAME "/drop/"
#define TIME_BYTES     sizeof("2026-11-22T10:00:00.000Z") /* with the NUL */

static const char advice_no_terminal[] =
    " -- without a terminal, use --yes, or give the name on standard input";

struct target {
    const char *operand; /* as the user wrote it */
    const char *shown;   /* that, or in its place what verb_printable_path returns */
    char *path;          /* absolute; of what is not there its last name is as it was written */
    bool is_absent;
    char *mount;       /* the mount point */
    const char *table; /* a view into path */
};

static void target_finish(struct target *target)
{
    free(target->path);
    free(target->mount);
}

static int refuse(const struct target *target, int code, const char *reason, const char *advice)
{
    say("tablefuse: cannot drop %s: %s%s%s\n", target->shown, reason, advice ? " -- " : "",
        advice ? advice : "");
    return code;
}

static int refuse_silent(const struct target *target, const char *what, int64_t limit_ms,
                         const char *advice)
{
    say("tablefuse: cannot drop %s: %s has not answered within %g s%s\n", target->shown, what,
        (double)limit_ms / 1000, advice);
    return EXIT_MOUNTING;
}

static int refuse_error(const struct target *target, int error)
{
    return refuse(target, error == -ENOENT || error == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_MOUNTING,
                  strerror(-error),
                  error == -ENOTCONN ? "its process was killed; mount again at the same directory"
                                     : NULL);
}

static int refuse_other(const struct target *target)
{
    say("tablefuse: %s is not a table of a tablefuse mount\n", target->shown);
    return EXIT_NOT_FOUND;
}

/* The path of what is not there: its directory is. 0 or -errno. */
static int resolve_absent(const char *operand, int64_t limit_ms, char **ret)
{
    _cleanup_(freep) char *name = strdup(operand);
    _cleanup_(freep) char *parent = NULL;
    if (!name)
        return -ENOMEM;
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--)
        name[n - 1] = '\0';
    char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    if (last[0] == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return -ENOENT;
    _cleanup_(freep) char *above =
        slash ? strndup(name, (size_t)MAX(slash - name, 1)) : strdup(".");
    int r = above ? mountpoint_resolve(above, limit_ms, &parent) : -ENOMEM;
    if (r < 0)
        return r;
    if (asprintf(ret, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, last) < 0)
        return -ENOMEM;
    return 0;
}

/* Finds the path and the mount. 0 or an exit code. */
static int find_mount(struct target *target, int64_t limit_ms)
{
    int r = mountpoint_resolve(target->operand, limit_ms, &target->path);
    if (r == -ENOENT) {
        target->is_absent = true;
        r = resolve_absent(target->operand, limit_ms, &target->path);
    }
    if (r == -ETIMEDOUT) {
        target->shown = verb_printable(target->operand);
        return refuse_silent(target, "the file system that it lies in", limit_ms, "");
    }
    if (r < 0 || target->is_absent)
        target->shown = verb_printable_path(target->operand);
    if (r < 0)
        return refuse_error(target, r);
    size_t size = mountpoint_size(target->path);
    if (size == 0)
        return target->is_absent ? refuse_error(target, -ENOENT) : refuse_other(target);
    target->mount = strndup(target->path, size);
    if (!target->mount)
        return refuse_error(target, -ENOMEM);
    target->table = target->path + size;
    target->table += target->table[0] == '/';
    return 0;
}

struct mount_facts {
    int error; /* negative: they are not known */
    bool is_of_table, is_read_only;
};

/* From .tablefuse/config. */
static size_t answer_facts(const void *mount, void *ret)
{
    struct mount_facts *facts = ret;
    _cleanup_(freep) char *file = NULL;
    _cleanup_(freep) char *text = calloc(1, CONFIG_BYTES);
    *facts = (struct mount_facts){.error = -ENOMEM};
    if (!text || asprintf(&file, "%s/.tablefuse/config", (const char *)mount) < 0)
        return sizeof(*facts);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, CONFIG_BYTES - 1);
    facts->error = n < 0 ? -errno : 0;
    if (fd >= 0)
        (void)close(fd);
    facts->is_of_table = n > 0 && !strstr(text, "\ntable -\n");
    facts->is_read_only = strstr(text, "\nread_only yes\n");
    return sizeof(*facts);
}

/* The name whose rmdir drops the table. 0 or -ENOMEM. */
static int drop_path(const struct target *target, char **ret)
{
    int size = asprintf(ret, "%s" DROP_DIRECTORY "%s" DROPPED_SUFFIX, target->mount, target->table);
    return size < 0 ? -ENOMEM : 0;
}

/* Makes the mount request the table. 0 or -errno. */
static size_t answer_exists(const void *target, void *ret)
{
    _cleanup_(freep) char *path = NULL;
    struct stat status;
    int r = drop_path(target, &path);
    *(int *)ret = r == 0 && stat(path, &status) < 0 ? -errno : r;
    return sizeof(int);
}

/* The kernel's answer that the name is absent may be older than the table. 0 or an exit code. */
static int check_absent(const struct target *target, int64_t limit_ms)
{
    int error = 0;
    int r = bounded_call(answer_exists, target, limit_ms, &error, sizeof(error));
    if (r == -ETIMEDOUT)
        return refuse_silent(target, "the process of the mount", limit_ms, "");
    if (r == 0)
        r = error;
    if (r == -ENOENT || r == -ENAMETOOLONG)
        return refuse(target, EXIT_NOT_FOUND, "there is no such table", NULL);
    return r < 0 ? refuse_error(target, r) : 0;
}

/* Is it a table that can be dropped? 0 or an exit code. */
static int check_target(const struct target *target, int64_t limit_ms)
{
    struct mount_facts facts = {0};
    int r = bounded_call(answer_facts, target->mount, limit_ms, &facts, sizeof(facts));
    if (r == -ETIMEDOUT)
        return refuse_silent(target, "the process of the mount", limit_ms, "");
    bool is_of_part = r == 0 && facts.error == -ENOENT; /* a bind mount has no .tablefuse */
    if (facts.is_of_table || is_of_part)
        return refuse(target, EXIT_USAGE, "the root of its mount is not an account",
                      "mount the account to drop a table");
    if (r < 0 || facts.error < 0)
        return refuse_error(target, r < 0 ? r : facts.error);
    if (target->table[0] == '\0')
        return refuse(target, EXIT_USAGE, "it is a whole account", "name a table: DIR/TABLE");
    if (target->table[0] == '.')
        return refuse(target, EXIT_USAGE, "it is not a table", "name a table: DIR/TABLE");
    if (strchr(target->table, '/'))
        return refuse(target, EXIT_USAGE, "it is a part of a table", "name a table: DIR/TABLE");
    if (facts.is_read_only)
        return refuse(target, EXIT_MOUNTING, "the mount is read-only", NULL);
    return target->is_absent ? check_absent(target, limit_ms) : 0;
}

/* 0 or an exit code. */
static int confirm(const struct target *target)
{
    char line[256]; /* longer than any table's name */
    bool is_terminal = isatty(STDIN_FILENO);
    if (is_terminal)
        say("Type the table's name to drop it with all its entities: ");
    bool is_given = fgets(line, sizeof(line), stdin);
    if (is_given) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, target->table) == 0)
            return 0;
    } else if (is_terminal) {
        say("\n");
    }
    say("tablefuse: %s: nothing was dropped%s\n",
        is_given ? "this is not the table's name" : "no name was typed",
        is_terminal ? "" : advice_no_terminal);
    return EXIT_USAGE;
}

struct drop_answer {
    int error; /* 0: it was dropped */
    char reason[LINE_BYTES];
};

static void format_time(int64_t at_100ns, char *ret)
{
    time_t sec = (time_t)(at_100ns / TICKS_PER_SEC);
    unsigned ms = (unsigned)(at_100ns % TICKS_PER_SEC / TICKS_PER_MS) % 1000;
    struct tm utc;
    char text[TIME_BYTES] = "";
    if (gmtime_r(&sec, &utc))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret, TIME_BYTES, "%.19s.%03uZ", text, ms);
}

/* Is it a line about this drop, which began then? */
static bool is_reason(const char *line, const char *began, const struct target *target)
{
    if (strlen(line) <= TIME_BYTES || strncmp(line, began, TIME_BYTES - 1) < 0)
        return false;
    const char *path = strchr(line + TIME_BYTES, ' '); /* after the operation */
    size_t size = strlen(target->table);
    return path && strncmp(path + 1, DROP_DIRECTORY, strlen(DROP_DIRECTORY)) == 0 &&
           strncmp(path + 1 + strlen(DROP_DIRECTORY), target->table, size) == 0 &&
           strncmp(path + 1 + strlen(DROP_DIRECTORY) + size, DROPPED_SUFFIX ": ",
                   sizeof(DROPPED_SUFFIX ": ") - 1) == 0;
}

/* The last line of .tablefuse/errors about this drop. */
static void find_reason(const struct target *target, const char *began, char *ret)
{
    _cleanup_(freep) char *file = NULL;
    _cleanup_(freep) char *line = NULL;
    size_t size = 0;
    if (asprintf(&file, "%s/.tablefuse/errors", target->mount) < 0)
        return;
    FILE *errors = fopen(file, "re");
    while (errors && getline(&line, &size, errors) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        if (is_reason(line, began, target))
            (void)snprintf(ret, LINE_BYTES, "%s", line);
    }
    if (errors)
        (void)fclose(errors);
}

static size_t answer_drop(const void *context, void *ret)
{
    const struct target *target = context;
    struct drop_answer *answer = ret;
    _cleanup_(freep) char *path = NULL;
    char began[TIME_BYTES];
    *answer = (struct drop_answer){.error = drop_path(target, &path)};
    format_time(clock_utc_100ns(&clock_system), began);
    if (answer->error == 0 && rmdir(path) < 0)
        answer->error = -errno;
    if (answer->error < 0)
        find_reason(target, began, answer->reason);
    return sizeof(*answer);
}

/* An exit code. */
static int drop(const struct target *target, int64_t limit_ms)
{
    struct drop_answer answer = {0};
    int r = bounded_call(answer_drop, target, limit_ms, &answer, sizeof(answer));
    if (r == -ETIMEDOUT)
        return refuse_silent(target, "the process of the mount", limit_ms,
                             "; it may be dropped all the same");
    if (r == 0)
        r = answer.error;
    if (r == 0)
        return 0;
    /* the account's own reasons have a line in `errors` */
    if (r == -ENOTEMPTY && !answer.reason[0])
        return refuse(target, EXIT_MOUNTING, strerror(ENOTEMPTY),
                      "a file in it is not stored yet, or has a temporary name");
    int code = refuse_error(target, r);
    if (answer.reason[0])
        say("%s\n", answer.reason);
    return code;
}

static int drop_operand(const char *operand, bool is_confirmed, int64_t limit_ms)
{
    struct target target = {.operand = operand, .shown = operand};
    int code = find_mount(&target, limit_ms);
    if (code == 0)
        code = check_target(&target, limit_ms);
    if (code == 0 && !is_confirmed)
        code = confirm(&target);
    if (code == 0)
        code = drop(&target, limit_ms);
    target_finish(&target);
    return code;
}

static int run_drop(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    static const struct option long_options[] = {{.name = "yes", .val = 'y'}, {0}};
    bool is_confirmed = false;
    int64_t limit_ms = OPTIONS_DEFAULT_TIMEOUT_MS;
    (void)decorate;
    for (int option; (option = getopt_long(argc, argv, ":t:", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(verb, option, argv);
        if (option == 't' && !options_parse_timeout(optarg, &limit_ms))
            return verb_refuse(verb, "-t %s: expected seconds from 1 to 3600, for example 30",
                               verb_printable(optarg));
        is_confirmed |= option == 'y';
    }
    if (argc == optind)
        return verb_refuse(verb, "no table to drop");
    if (argc > optind + 1)
        return verb_refuse(verb, "unexpected operand %s after DIR/TABLE",
                           verb_printable(argv[optind + 1]));
    return drop_operand(argv[optind], is_confirmed, limit_ms);
}

const struct verb verb_drop = {
    .name = "drop",
    .usage = "[--yes] [-t SECONDS] DIR/TABLE",
    .purpose =
        "Drops the table of the mount at DIR with all its entities, after its name was typed.",
    .help = "  --yes, -t SECONDS  do not ask for the table's name; how long to wait for the mount "
            "(60)\n",
    .run = run_drop,
};
