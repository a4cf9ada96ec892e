/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_OPENED_ACCOUNT_H
#define FS_SOURCE_OPENED_ACCOUNT_H
/* The account that a command uses without a mount: its options, its source, and the signals that
 * end the command. One thread. Where "an exit code" is returned, it is 0; or a code of
 * fs/base/exit_codes.h, and then one line was written to standard error. */
#include "cache/account.h"
#include "fs/base/log.h"
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "fs/source/mount_source.h"
#include "fs/tree/place.h"

#include <fuse_opt.h>

struct verb;

struct opened_account {
    const struct verb *verb;
    struct log *log;
    struct fuse_args args; /* the texts of -o */
    struct options options;
    struct mount_source *source;
    struct account *account;
    const struct secret_variables *variables; /* set for a table_pair; NULL: they are taken here */
    enum mount_environment environment;
    struct opened_account *first; /* in a table_pair: the side that gets the signals; else NULL */
    bool needs_all; /* the source must show whole tables (mount_source_part): `sync` deletes from
                       the other side what this one does not show */
    bool is_interrupted;
};

/* The caller finishes ret, also after a failure of another function. From now on SIGINT, SIGTERM
 * and SIGHUP are blocked: the first one interrupts calls that use opened_account_caller, and a
 * second one ends the process as usual. */
void opened_account_init(struct opened_account *ret, const struct verb *verb);
void opened_account_finish(struct opened_account *opened);
/* Adds the options in the text of one -o. Only options in the help of this command are accepted. */
int opened_account_add_options(struct opened_account *opened, const char *text);

/* Reads the operands SOURCE/TABLE [DIRECTORY], from argv[optind] on. *ret_path: DIRECTORY, or ""
 * without one. path_name: the word for DIRECTORY in messages. 0, or the exit code of a usage error.
 */
int opened_account_take_operands(const struct opened_account *opened, int argc, char **argv,
                                 const char *path_name, const char **ret_source,
                                 const char **ret_path);
/* The operand `path_name` is empty, perhaps from an unset shell variable: refuses it, because it
 * would mean the whole table. A usage error. */
int opened_account_refuse_empty(const struct verb *verb, const char *path_name);

/* Opens `name`, a SOURCE; NULL: the account that the environment names. It must name a table if
 * needs_table. Sends one request. An exit code. */
int opened_account_open(struct opened_account *opened, const char *name, bool needs_table,
                        store_decorator *decorate);
/* The same for a command that changes the table. creates: a missing table is created, and so is a
 * missing file of a local account. */
int opened_account_open_to_change(struct opened_account *opened, const char *name, bool creates,
                                  store_decorator *decorate);
/* A caller for the account's functions. They fail after the time of the option `timeout` without
 * progress, and with -EINTR after a signal. */
struct caller opened_account_caller(struct opened_account *opened);
bool opened_account_is_interrupted(struct opened_account *opened);

/* The directory at `path` below the account's table: "zlib", "zlib/1.+"; "": the table. It may not
 * exist. The account need not be open. The caller finishes ret. An exit code. */
int opened_account_find(struct opened_account *opened, const char *path, struct place *ret);

/* Writes the failure to standard error, in one line; nothing after a signal. An exit code. */
int opened_account_complain(const struct opened_account *opened, const struct failure *failure);
/* How many requests were sent. */
uint64_t opened_account_requests(const struct opened_account *opened);

#endif
