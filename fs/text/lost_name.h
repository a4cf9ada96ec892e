/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOST_NAME_H
#define FS_TEXT_LOST_NAME_H
/* Names of files in lost+found: the time and, behind it, the tail, which all texts of one entity or
 * scratch file share. Keys, accounts and names of scratch files are hostile input; each name is
 * that of a file, and not hidden. Pure.
 *
 *   20261122T100000.000Z-ACCOUNT-TABLE-PARTITION-ROW.json
 *   20261122T100000.000Z-ACCOUNT-TABLE-PARTITION-SCRATCH-FILE
 *
 * ACCOUNT is the first bytes of its name, with `_` for `-`. A long key is cut as in the tree, but
 * earlier, and keeps its digits; a PartitionKey that has a `-` ends with `#`, which no name of a
 * key does (p-q and r: `p-q#-r`, p and q-r: `p-q-r`). So two entities do not share a tail. */
#include "cache/address.h"

#include <time.h>

#define LOST_NAME_REASON       ".reason" /* behind the name of the text */
#define LOST_NAME_TIME_SIZE    (sizeof("20261122T100000.000Z") - 1)
#define LOST_NAME_ACCOUNT_SIZE 25 /* with the NUL */

void lost_name_set_account(const char *account, char ret[LOST_NAME_ACCOUNT_SIZE]);
/* 0 or the buffer's error. Of a time that has no form nothing is appended. */
int lost_name_append_time(struct buffer *name, struct timespec time);
/* Appends a tail. With table NULL the account's. 0 or the buffer's error; a key that is not CESU-8
 * is left out. */
int lost_name_append_entity(struct buffer *tail, const char *account, struct address address);
int lost_name_append_scratch(struct buffer *tail, const char *account, struct address directory,
                             struct bytes name);
/* Is it a text of the account, and not its reason? */
bool lost_name_is_text(struct bytes name, const char *account);

#endif
