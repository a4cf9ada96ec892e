/* SPDX-License-Identifier: MIT */
/* `tablefuse join`: writes the results of all parts, one after another. */
#include "fs/base/file_io.h"
#include "fs/base/say.h"
#include "fs/cli/choice_options.h"
#include "fs/cli/part_option.h"
#include "fs/cli/verb.h"
#include "fs/output/line_output.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES    ((size_t)256 << 10)
#define NUMBERS_BYTES ((size_t)1 << 20) /* of a list of lines */

struct join {
    const struct verb *verb;
    const char *file, *directory;
    struct filter *filter;
    struct part_form form;
    bool lists_missing;
    struct buffer missing, incomplete; /* line numbers: 3,9,17 */
    struct buffer path;
    struct part previous; /* of the line before */
};

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Each part begins where the one before ends: else a line is missing, twice there, or of another
 * `split`. 0 or an exit code. */
static int check_order(struct join *join, struct part *part, uint64_t line)
{
    bool follows = !join->previous.table[0] ||
                   (part_is_of(part, join->previous.table) &&
                    bytes_equal(buffer_bytes(&part->lo), buffer_bytes(&join->previous.hi)));
    part_finish(&join->previous);
    join->previous = *part;
    part_init(part);
    if (follows)
        return 0;
    say("tablefuse: join: line %llu of %s does not begin where the line before ends -- take the "
        "lines of one `tablefuse split`, all of them, in their order\n",
        (unsigned long long)line, join->file);
    return EXIT_CONFIGURATION;
}

/* Sets join->path to the result of the token. 0 or an exit code. */
static int set_path(struct join *join, struct bytes token, uint64_t line)
{
    struct part part;
    part_init(&part);
    int r = part_token_read(token, &part);
    int code = r == 0 ? check_order(join, &part, line) : 0;
    part_finish(&part);
    if (code != 0)
        return code;
    if (r == -EINVAL || r == -ENOTSUP) {
        say("tablefuse: join: line %llu of %s is no token of `tablefuse split`, or of a later "
            "version\n",
            (unsigned long long)line, join->file);
        return EXIT_CONFIGURATION;
    }
    buffer_clear(&join->path);
    (void)buffer_append_string(&join->path, join->directory);
    (void)buffer_append_char(&join->path, '/');
    if (r < 0 || part_form_append_name(&join->form, token, &join->path) < 0 ||
        !buffer_string(&join->path))
        return verb_complain_memory();
    return 0;
}

static int add_number(struct buffer *list, uint64_t line)
{
    return buffer_append_format(list, "%s%llu", list->size > 0 ? "," : "",
                                (unsigned long long)line);
}

/* The result at join->path is there, or its line is noted. */
static int check(struct join *join, uint64_t line)
{
    if (is_file(buffer_string(&join->path)))
        return 0;
    int r = add_number(&join->missing, line);
    (void)buffer_append_string(&join->path, PART_INCOMPLETE);
    if (r == 0 && buffer_string(&join->path) && is_file(buffer_string(&join->path)))
        r = add_number(&join->incomplete, line);
    return r < 0 ? verb_complain_memory() : 0;
}

static int copy_file(int fd)
{
    _cleanup_(buffer_finish) struct buffer bytes;
    buffer_init(&bytes, COPY_BYTES + 1);
    char *room = buffer_reserve(&bytes, COPY_BYTES);
    if (!room)
        return -ENOMEM;
    for (;;) {
        ssize_t n = read(fd, room, COPY_BYTES);
        if (n == 0 || (n < 0 && errno != EINTR))
            return n < 0 ? -errno : 0;
        int r = n > 0 ? file_write_all(STDOUT_FILENO, (struct bytes){room, (size_t)n}) : 0;
        if (r < 0)
            return r;
    }
}

static int copy(struct join *join, uint64_t line)
{
    (void)line;
    int fd = open(buffer_string(&join->path), O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : copy_file(fd);
    if (fd >= 0)
        (void)close(fd);
    if (r == -EPIPE)
        line_output_end_by_sigpipe();
    if (r == 0)
        return 0;
    say("tablefuse: join: cannot copy %s: %s\n", buffer_string(&join->path), strerror(-r));
    return EXIT_MOUNTING;
}

/* 0 or an exit code. */
static int for_each_line(struct join *join, int (*step)(struct join *, uint64_t line))
{
    _cleanup_(part_lines_closep) struct part_lines *lines = NULL;
    struct bytes token;
    int r = 0, code = part_lines_open(join->verb, join->file, &lines);
    part_finish(&join->previous);
    part_init(&join->previous);
    for (uint64_t line = 1; code == 0 && (r = part_lines_next(lines, &token)) > 0; line++) {
        if (token.size == 0)
            continue; /* after the last one, perhaps */
        code = set_path(join, token, line);
        if (code == 0)
            code = step(join, line);
    }
    if (code == 0 && r < 0) {
        say("tablefuse: join: cannot read the tokens in %s: %s\n", join->file, strerror(-r));
        code = EXIT_CONFIGURATION;
    } else if (code == 0 && !join->previous.table[0]) {
        say("tablefuse: join: no token is in %s\n", join->file);
        code = EXIT_CONFIGURATION;
    }
    return code;
}

/* 0 or an exit code: a directory that cannot be read is not one without results. */
static int check_directory(const struct join *join)
{
    struct stat status;
    int error = stat(join->directory, &status) < 0         ? errno
                : !S_ISDIR(status.st_mode)                 ? ENOTDIR
                : access(join->directory, R_OK | X_OK) < 0 ? errno
                                                           : 0;
    if (error == 0)
        return 0;
    say("tablefuse: join: %s: %s -- name the directory of the results\n",
        verb_printable_path(join->directory), strerror(error));
    return EXIT_CONFIGURATION;
}

static int complain_output(int error)
{
    if (error == -EPIPE)
        line_output_end_by_sigpipe();
    say("tablefuse: cannot write the output: %s\n", strerror(-error));
    return EXIT_MOUNTING;
}

/* 0 or an exit code: not all results are there. */
static int complain_missing(struct join *join)
{
    if (join->missing.size == 0)
        return 0;
    if (!buffer_string(&join->missing) || !buffer_string(&join->incomplete))
        return verb_complain_memory();
    if (join->lists_missing) {
        int r = buffer_append_char(&join->missing, '\n');
        if (r == 0)
            r = file_write_all(STDOUT_FILENO, buffer_bytes(&join->missing));
        return r == 0 ? EXIT_NOT_FOUND : complain_output(r);
    }
    say("tablefuse: join: missing in %s: lines %s of %s\n", join->directory,
        buffer_string(&join->missing), join->file);
    if (join->incomplete.size > 0)
        say("tablefuse: join: rows were left out of lines %s: see the files *" PART_INCOMPLETE "\n",
            buffer_string(&join->incomplete));
    return EXIT_NOT_FOUND;
}

enum { FILTER = 1, SELECT, KEYS, ETAG, TIMESTAMP, MISSING };

static int take_option(struct join *join, int option)
{
    bool has_timestamp;
    switch (option) {
    case FILTER:
        return choice_options_take_filter(&join->filter, join->verb, optarg);
    case SELECT:
        return choice_options_take_select(&join->form.select, &has_timestamp, join->verb, optarg);
    case KEYS:
        join->form.keys_only = true;
        return 0;
    case ETAG:
        join->form.has_etag = true;
        return 0;
    case TIMESTAMP:
        join->form.has_timestamp = true;
        return 0;
    default:
        join->lists_missing = true;
        return 0;
    }
}

static int parse(struct join *join, int argc, char **argv)
{
    static const struct option long_options[] = {{.name = "filter", .has_arg = 1, .val = FILTER},
                                                 {.name = "select", .has_arg = 1, .val = SELECT},
                                                 {.name = "keys", .val = KEYS},
                                                 {.name = "etag", .val = ETAG},
                                                 {.name = "timestamp", .val = TIMESTAMP},
                                                 {.name = "missing", .val = MISSING},
                                                 {0}};
    for (int option; (option = getopt_long(argc, argv, ":", long_options, NULL)) != -1;) {
        if (option == '?' || option == ':')
            return verb_refuse_option(join->verb, option, argv);
        int code = take_option(join, option);
        if (code != 0)
            return code;
    }
    if (argc != optind + 2 || !argv[optind][0] || !argv[optind + 1][0])
        return verb_refuse(join->verb, "expected FILE, the tokens, and DIRECTORY, the results");
    join->file = argv[optind];
    join->directory = argv[optind + 1];
    join->form.filter = join->filter ? filter_text(join->filter) : NULL;
    return 0;
}

static int run_join(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    (void)decorate;
    struct join join = {.verb = verb};
    buffer_init(&join.missing, NUMBERS_BYTES);
    buffer_init(&join.incomplete, NUMBERS_BYTES);
    buffer_init(&join.path, PATH_MAX);
    part_init(&join.previous);
    int code = parse(&join, argc, argv);
    if (code == 0)
        code = check_directory(&join);
    if (code == 0)
        code = for_each_line(&join, check);
    if (code == 0)
        code = complain_missing(&join);
    if (code == 0 && !join.lists_missing)
        code = for_each_line(&join, copy);
    filter_destroy(join.filter);
    buffer_finish(&join.missing);
    buffer_finish(&join.incomplete);
    buffer_finish(&join.path);
    part_finish(&join.previous);
    return code;
}

const struct verb verb_join = {
    .name = "join",
    .usage = "[OPTION...] FILE DIRECTORY",
    .purpose = "Writes the results of all parts, in the order of their tokens in FILE.",
    .help =
        "The results are what export has made of each token in DIRECTORY, with the same options. "
        "All of them\n"
        "are looked for before the first byte is written.\n"
        "  --filter EXPR, --select A,B, --keys, --etag, --timestamp  as of the exports\n"
        "  --missing          writes the lines of FILE whose result is missing, as 3,9,17, or "
        "nothing\n",
    .has_help_apart = true,
    .run = run_join,
};
