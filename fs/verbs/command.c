/* SPDX-License-Identifier: MIT */
#include "fs/verbs/command.h"
#include "client/base/base.h"
#include "fs/cli/mount_hint.h"
#include "fs/cli/near_name.h"
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "fs/source/mount_source.h"

#include <fcntl.h>
#include <unistd.h>

#define COLUMNS 100 /* of a line of the help */

static const struct verb verb_help, verb_version;

static const struct verb *const verbs[] = {&verb_mount,  &verb_unmount, &verb_drop, &verb_export,
                                           &verb_import, &verb_count,   &verb_map,  &verb_diff,
                                           &verb_sync,   &verb_split,   &verb_join, &verb_tables,
                                           &verb_check,  &verb_version, &verb_help};

/* `umount` is accepted, because the system's own command has this name. */
static const struct verb *find_verb(const char *name)
{
    if (strcmp(name, "umount") == 0)
        return &verb_unmount;
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    }
    return NULL;
}

static struct near_name nearest_verb(const char *word)
{
    struct near_name near = near_name_of(bytes_of(word));
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        near_name_try(&near, bytes_of(verbs[i]->name));
    return near;
}

/* Of the verb `help`, or NULL: of the program. */
static int refuse_unknown(const struct verb *verb, const char *word)
{
    if (word[0] == '-')
        return verb_refuse(verb, "unknown option %s", verb_printable(word));
    struct near_name near = nearest_verb(word);
    return verb_refuse(verb, "unknown command %s" NEAR_NAME_FORMAT, verb_printable(word),
                       NEAR_NAME_ARGUMENTS(near));
}

/* Refuses a word in the place of a command. If it is not near to one, it may be a SOURCE. */
static int refuse_command(int argc, char **argv)
{
    const char *word = argv[1];
    if (word[0] == '-')
        return mount_hint_refuse_command(word);
    bool may_be_source = argc > 2 || local_source_is_named(word) || strstr(word, "://");
    if (!may_be_source || nearest_verb(word).nearest.size > 0)
        return refuse_unknown(NULL, word);
    return verb_refuse(NULL, "unknown command %s -- do you mean `tablefuse mount SOURCE DIR`?",
                       verb_printable(word));
}

static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    (void)fprintf(stderr, "tablefuse: cannot write the output: %s\n", strerror(errno));
    return EXIT_MOUNTING;
}

/* A line for each option; a default stands in parentheses. */
static void print_options(void)
{
    struct option_help help;
    (void)fputs("The options of -o, which stand with commas between:\n", stdout);
    for (size_t i = 0; options_help(i, &help); i++)
        (void)printf("  %s%s%-*s%s%s%s%s\n", help.name, help.value ? "=" : " ",
                     (int)(20 - strlen(help.name)), help.value ? help.value : "", help.means,
                     help.initial ? " (" : "", help.initial ? help.initial : "",
                     help.initial ? ")" : "");
}

/* All codes as a sentence. own: where this verb's meanings differ. */
static void print_exit_codes(const struct exit_meaning own[EXIT_OWN_MEANINGS])
{
    char text[COLUMNS];
    struct exit_meaning meaning;
    int column = printf("Exit codes:");
    for (size_t i = 0; exit_codes_get(i, own, &meaning); i++) {
        int size = snprintf(text, sizeof(text), "%s%d %s", i > 0 ? ", " : " ", meaning.code,
                            meaning.means);
        bool fits = column + size < COLUMNS; /* and a comma */
        (void)printf("%s%s", fits ? "" : ",\n", fits ? text : text + strlen(", "));
        column = fits ? column + size : size;
    }
    (void)fputs(".\n", stdout);
}

/* Of one verb, or of all. */
static int print_help(const struct verb *only)
{
    const char *before = "usage:";
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (only && verbs[i] != only)
            continue;
        (void)printf("%-6s tablefuse %s%s%s\n", before, verbs[i]->name,
                     verbs[i]->usage[0] ? " " : "", verbs[i]->usage);
        before = "";
    }
    (void)printf("\n%s\n\n", only ? only->purpose : verb_mount.purpose);
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        bool is_left_out = only ? verbs[i] != only : verbs[i]->has_help_apart;
        if (is_left_out || !verbs[i]->help[0])
            continue;
        if (verbs[i] != &verb_mount && !only) /* its lines stand first */
            (void)printf("%s:\n", verbs[i]->name);
        (void)fputs(verbs[i]->help, stdout);
        if (only && only->has_options)
            print_options();
    }
    if (!only)
        (void)fputs(
            "`tablefuse help mount` has its options; `help export` and so on explain the others.\n",
            stdout);
    if (only && only->help[0])
        (void)fputc('\n', stdout);
    print_exit_codes(only ? only->codes : verb_help.codes);
    return finish_output();
}

static int run_help(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    (void)decorate;
    if (argc > 2)
        return verb_refuse(verb, "unexpected operand %s", verb_printable(argv[2]));
    const struct verb *only = argc == 2 ? find_verb(argv[1]) : NULL;
    if (argc == 2 && !only)
        return refuse_unknown(verb, argv[1]);
    return print_help(only);
}

static int run_version(const struct verb *verb, int argc, char **argv, store_decorator *decorate)
{
    (void)decorate;
    if (argc > 1)
        return verb_refuse(verb, "unexpected operand %s", verb_printable(argv[1]));
    (void)printf("tablefuse %s\n", TABLEFUSE_VERSION);
    return finish_output();
}

static const struct verb verb_help = {.name = "help",
                                      .usage = "[COMMAND]",
                                      .purpose = "Explains one command, or all of them.",
                                      .help = "",
                                      .run = run_help};
static const struct verb verb_version = {.name = "version",
                                         .usage = "",
                                         .purpose = "Prints the version of the program.",
                                         .help = "",
                                         .run = run_version};

/* Is an argument `-h` or `--help`? After `--` there are only operands. */
static bool has_help_option(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return true;
    }
    return false;
}

/* The options that stand in a verb's place: the verb that they mean. */
static const char *verb_of(const char *word)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return verb_help.name;
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
        return verb_version.name;
    return word;
}

/* mount.fuse3 always gives `dev` or `nodev`. Users have no use for them. */
static bool are_options_of_mount_fuse(const char *options)
{
    while (*options) {
        size_t size = strcspn(options, ",");
        struct bytes option = {options, size};
        if (bytes_equal(option, BYTES_LITERAL("dev")) ||
            bytes_equal(option, BYTES_LITERAL("nodev")))
            return true;
        options += size + (options[size] == ',');
    }
    return false;
}

/* Was the program called to mount for mount(8)? Either under a name of its own (mount.tablefuse,
 * mount.fuse.tablefuse), or by mount.fuse3 as `tablefuse SOURCE DIR -o OPTIONS`. A user that
 * mistypes a verb may write the same: `tablefuse moutn DIR -o ro`. */
static bool is_call_of_mount8(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strncmp(slash ? slash + 1 : argv[0], "mount.", strlen("mount.")) == 0)
        return true;
    if (argc < 5 || strcmp(argv[3], "-o") != 0 || argv[1][0] == '-' || find_verb(argv[1]))
        return false;
    return nearest_verb(argv[1]).nearest.size == 0 || are_options_of_mount_fuse(argv[4]);
}

/* Refuses a SAS, whatever operand or option it stands for. 0 or an exit code. */
static int check_arguments(const struct verb *verb, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (mount_source_holds_sas(argv[i]))
            return verb_refuse(verb, "a SAS as an argument can be read in `ps`: put it into "
                                     "AZURE_STORAGE_SAS_URL or AZURE_STORAGE_SAS_TOKEN");
    }
    return 0;
}

/* A standard descriptor that is closed would become that of the next file, pipe or connection, and
 * messages would be written there. Each function that opens one relies on this. */
static bool open_standard_descriptors(void)
{
    /* what is written to a standard output that is closed fails: an empty export is none */
    static const int flags[] = {O_RDWR, O_RDONLY, O_RDWR};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) != fd)
            return false;
    return true;
}

int command_run(int argc, char **argv, store_decorator *decorate)
{
    if (!open_standard_descriptors())
        return EXIT_MOUNTING;
    if (argc > 1 && is_call_of_mount8(argc, argv)) {
        if (has_help_option(argc, argv))
            return print_help(&verb_mount);
        int code = check_arguments(&verb_mount, argc, argv);
        return code != 0 ? code : verb_run_for_mount8(argc, argv, decorate);
    }
    if (argc < 2)
        return verb_refuse(NULL, "no command given");
    const struct verb *verb = find_verb(verb_of(argv[1]));
    if (!verb)
        return refuse_command(argc, argv);
    if (has_help_option(argc - 1, argv + 1))
        return print_help(verb == &verb_help ? NULL : verb);
    int code = check_arguments(verb, argc - 1, argv + 1);
    return code != 0 ? code : verb->run(verb, argc - 1, argv + 1, decorate);
}
