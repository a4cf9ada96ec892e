/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_OPENED_ACCOUNT_H
#define FS_SOURCE_OPENED_ACCOUNT_H
/* The account that a command uses without a mount: its options, its source, and the signals that
 * end the command. One thread. Functions that answer an exit code answer 0, or a code of
 * fs/verbs/command.h after one line on standard error. */
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
    const struct secret_variables *variables; /* of two: the caller's; NULL: they are taken */
    enum mount_environment environment;
    struct opened_account *first; /* of two: the other one, which gets the signals; else NULL */
    bool needs_all; /* what it does not show would be deleted elsewhere: mount_source_part */
    bool is_interrupted;
};

/* The caller finishes ret, also if another function has failed. From now on SIGINT, SIGTERM and
 * SIGHUP are blocked: the first one interrupts the calls of opened_account_caller, and a second one
 * ends the process as usual. */
void opened_account_init(struct opened_account *ret, const struct verb *verb);
void opened_account_finish(struct opened_account *opened);
/* The text of one -o. Only the options that the help of this command names are taken. */
int opened_account_add_options(struct opened_account *opened, const char *text);

/* The operands SOURCE/TABLE [DIRECTORY], from argv[optind] on. *ret_path: "" without DIRECTORY,
 * which `path_name` calls so. 0, or a usage error of the verb. */
int opened_account_take_operands(const struct opened_account *opened, int argc, char **argv,
                                 const char *path_name, const char **ret_source,
                                 const char **ret_path);
/* The operand `path_name` is empty, as of a shell variable that is not set: it would mean all. */
int opened_account_refuse_empty(const struct verb *verb, const char *path_name);

/* Opens `name`, a SOURCE; NULL: what the environment names. It must name a table if needs_table.
 * Asks the service once. An exit code. */
int opened_account_open(struct opened_account *opened, const char *name, bool needs_table,
                        store_decorator *decorate);
/* The same for a command that changes the table. creates: a table that is missing is made, and so
 * is a file of an account. */
int opened_account_open_to_change(struct opened_account *opened, const char *name, bool creates,
                                  store_decorator *decorate);
/* For the account's functions. They fail after the option `timeout` without progress, and with
 * -EINTR after a signal. */
struct caller opened_account_caller(struct opened_account *opened);
bool opened_account_is_interrupted(struct opened_account *opened);

/* The directory at `path` below the account's table: "zlib", "zlib/1.+"; "": the table. It may not
 * exist. The account need not be open. The caller finishes ret. An exit code. */
int opened_account_find(struct opened_account *opened, const char *path, struct place *ret);

/* Tells the failure in one line; nothing after a signal. An exit code. */
int opened_account_complain(const struct opened_account *opened, const struct failure *failure);
/* The requests that were sent. */
uint64_t opened_account_requests(const struct opened_account *opened);

#endif
