/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_VERB_H
#define FS_CLI_VERB_H
/* The verbs of the command line: `tablefuse VERB ...`. Each has a file of its own in fs/verbs; the
 * table of them is in fs/verbs/command. One thread. */
#include "fs/base/exit_codes.h"

#include <stdbool.h>

struct table_store;

/* For tests: creates a store that calls `inner`. Takes `inner` on success. 0 or -errno. */
typedef int store_decorator(struct table_store *inner, struct table_store **ret);

struct verb { /* static text; the lines of `help` end in a newline, the others have none */
    const char *name;
    const char *usage;   /* options and operands: "[-z] DIR" */
    const char *purpose; /* one sentence */
    const char *help;    /* its options and operands, aligned; "": none needs an explanation */
    bool has_help_apart; /* only `tablefuse help VERB` shows its help, not `tablefuse help` */
    bool has_options;    /* `tablefuse help VERB` adds a line for each -o option */
    int usage_code;      /* the exit code of wrong usage; 0: EXIT_USAGE */
    struct exit_meaning codes[EXIT_OWN_MEANINGS]; /* whose meaning differs for this verb */
    /* argv[0] is the verb. `-h` and `--help` are handled before. Returns an exit code. */
    int (*run)(const struct verb *verb, int argc, char **argv, store_decorator *decorate);
};

extern const struct verb verb_mount, verb_unmount, verb_drop, verb_check, verb_count, verb_diff,
    verb_export, verb_import, verb_join, verb_map, verb_split, verb_sync, verb_tables;

/* `mount` as mount(8) and mount.fuse3 call it: PROGRAM SOURCE DIR [-fnsv] [-t TYPE] [-o OPTIONS].
 * An exit code. */
int verb_run_for_mount8(int argc, char **argv, store_decorator *decorate);

/* The word as a message about the command line may show it. A word that may be a connection string
 * or a token is not shown, whatever operand it is. */
const char *verb_printable(const char *word);
/* As verb_printable, but also shows a word that is certainly a path, because the path exists up to
 * the part with the last `=`. Calls the file system, which must be one that answers. */
const char *verb_printable_path(const char *word);
/* A usage error: writes the cause, and in a second line how to get help. verb NULL: no verb is
 * known. Returns verb_usage_code. */
int verb_refuse(const struct verb *verb, const char *cause, ...)
    __attribute__((format(printf, 2, 3)));
/* A usage error for what getopt_long has returned: ':' (the option lacks its value) or '?' (there
 * is no such option). The verb's option string begins with ':'. */
int verb_refuse_option(const struct verb *verb, int returned, char **argv);
/* Refuses the FILE of an option that is a database, perhaps the account itself: 0, or as
 * verb_refuse. Call it before the account is opened: file_is_database. */
int verb_check_output(const struct verb *verb, const char *option, const char *file);
/* Writes only the second line, because the cause was written already. verb as above. Returns
 * verb_usage_code. */
int verb_point_to_help(const struct verb *verb);

int verb_usage_code(const struct verb *verb); /* NULL: EXIT_USAGE */

/* Writes that there is no memory. Returns EXIT_MOUNTING. */
int verb_complain_memory(void);

#endif
