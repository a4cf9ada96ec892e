/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_TABLE_PAIR_H
#define FS_SOURCE_TABLE_PAIR_H
/* The two tables of a command that compares them, FROM/TABLE TO/TABLE [DIRECTORY], opened without a
 * mount. One thread. Where "an exit code" is returned, it is 0; or a code of fs/base/exit_codes.h,
 * and then one line was written to standard error.
 *
 * Each side may have a credential of its own, by the options from.credentials, to.credentials,
 * from.auth and to.auth. A side without one uses the credentials of the environment, if the other
 * side has its own, or is local:FILE or the emulator. If both sides are services without one, each
 * uses those of the environment, or of a file that is found by the account's name, but only if they
 * name its account and its host. */
#include "cache/account.h"
#include "fs/source/opened_account.h"

struct table_pair {
    struct opened_account sides[COMPARE_SIDES];
    bool has_own[COMPARE_SIDES];               /* it has a credential of its own */
    const char *sources[COMPARE_SIDES], *path; /* path "": the whole tables */
    struct place places[COMPARE_SIDES];        /* the place of the path */
    struct caller callers[COMPARE_SIDES];
    struct comparison *comparison;
};

/* The caller finishes ret, also after a failure of another function. Signals: as
 * opened_account_init. */
void table_pair_init(struct table_pair *ret, const struct verb *verb);
void table_pair_finish(struct table_pair *pair);
int table_pair_add_options(struct table_pair *pair, const char *text);        /* of one -o */
int table_pair_take_operands(struct table_pair *pair, int argc, char **argv); /* from optind on */

struct table_pair_use {
    bool changes;   /* the command changes TO */
    bool creates;   /* with `changes`: it creates TO if it is missing */
    bool needs_all; /* FROM is refused if it may show only a part (mount_source_part) */
};
/* Opens both tables and begins the comparison. Refused if both sides are seen to be one table. An
 * exit code. */
int table_pair_open(struct table_pair *pair, const struct table_pair_use *use,
                    store_decorator *decorate);
struct compared_table table_pair_table(struct table_pair *pair, enum compare_side side);
/* Called after both tables were read: EXIT_NOT_FOUND if neither has DIRECTORY, because it may be
 * mistyped.
 */
int table_pair_check_found(const struct table_pair *pair);
/* Writes why comparison_next has failed with r to standard error. An exit code. */
int table_pair_complain(struct table_pair *pair, int r);
/* Writes the failure of one side to standard error. An exit code. */
int table_pair_complain_of(struct table_pair *pair, enum compare_side side,
                           const struct failure *failure);
bool table_pair_is_interrupted(struct table_pair *pair);
uint64_t table_pair_read(const struct table_pair *pair); /* entities of both */
uint64_t table_pair_requests(const struct table_pair *pair);

#define TABLE_PAIR_PATH_MAX_BYTES (2 * NAME_MAX_BYTES + 2)
/* Appends the path of the entity below the table, as the mount shows it: zlib/1.3.1.json. Errors:
 * as names_encode. */
int table_pair_append_path(struct bytes position, struct buffer *ret);

#endif
