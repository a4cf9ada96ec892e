/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_TABLE_PAIR_H
#define FS_SOURCE_TABLE_PAIR_H
/* The two tables of a command that compares them, FROM/TABLE TO/TABLE [DIRECTORY], opened without a
 * mount. One thread. Functions that answer an exit code answer 0, or a code of fs/verbs/command.h
 * after one line on standard error.
 *
 * A side may have a credential of its own: the options from.credentials, to.credentials, from.auth
 * and to.auth. One of two accounts may take the credentials of the environment, if the other one
 * has its own, or is local:FILE or the emulator. Of two services without, each takes them, or those
 * of a file that is found by the account's name, if they name its account and its host. */
#include "cache/account.h"
#include "fs/source/opened_account.h"

struct table_pair {
    struct opened_account sides[COMPARE_SIDES];
    bool has_own[COMPARE_SIDES];               /* it has a credential of its own */
    const char *sources[COMPARE_SIDES], *path; /* path "": the tables */
    struct place places[COMPARE_SIDES];        /* of the path */
    struct caller callers[COMPARE_SIDES];
    struct comparison *comparison;
};

/* The caller finishes ret, also if another function has failed. Signals: as opened_account_init. */
void table_pair_init(struct table_pair *ret, const struct verb *verb);
void table_pair_finish(struct table_pair *pair);
int table_pair_add_options(struct table_pair *pair, const char *text);        /* of one -o */
int table_pair_take_operands(struct table_pair *pair, int argc, char **argv); /* from optind on */

struct table_pair_use {
    bool changes;   /* TO */
    bool creates;   /* it, if it is missing; with changes */
    bool needs_all; /* of FROM: a source that may show a part (mount_source_part) is refused */
};
/* Opens both and begins the comparison. One table on both sides is refused, if it is seen that they
 * are one. An exit code. */
int table_pair_open(struct table_pair *pair, const struct table_pair_use *use,
                    store_decorator *decorate);
struct compared_table table_pair_table(struct table_pair *pair, enum compare_side side);
/* After both were read: with a DIRECTORY that neither has, EXIT_NOT_FOUND, because it may be
 * mistyped.
 */
int table_pair_check_found(const struct table_pair *pair);
/* Tells why comparison_next has failed, r. An exit code. */
int table_pair_complain(struct table_pair *pair, int r);
/* Tells the failure of one side. An exit code. */
int table_pair_complain_of(struct table_pair *pair, enum compare_side side,
                           const struct failure *failure);
bool table_pair_is_interrupted(struct table_pair *pair);
uint64_t table_pair_read(const struct table_pair *pair); /* entities of both */
uint64_t table_pair_requests(const struct table_pair *pair);

#define TABLE_PAIR_PATH_MAX_BYTES (2 * NAME_MAX_BYTES + 2)
/* Appends the path of the entity below the table, as the tree spells it: zlib/1.3.1.json. As
 * names_encode. */
int table_pair_append_path(struct bytes position, struct buffer *ret);

#endif
