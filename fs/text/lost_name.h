/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOST_NAME_H
#define FS_TEXT_LOST_NAME_H
/* Names of files in lost+found: the time and, after it, the tail, which is the same for all texts
 * of one entity or scratch file. Keys, accounts and names of scratch files are hostile input; the
 * result is always a valid name of a file that is not hidden. Pure.
 *
 *   20261122T100000.000Z-ACCOUNT-TABLE-PARTITION-ROW.json
 *   20261122T100000.000Z-ACCOUNT-TABLE-PARTITION-SCRATCH-FILE
 *
 * ACCOUNT is the first bytes of the account's name, with `_` for `-`. A long key is cut as in the
 * tree, but shorter, and has the digits of its digest. A PartitionKey with a `-` in it is followed
 * by `#`, which the file name of a key never ends with. So two entities do not share a tail.
 * Example: p-q and r give `p-q#-r`, p and q-r give `p-q-r`. */
#include "cache/address.h"

#include <time.h>

#define LOST_NAME_REASON       ".reason" /* is appended to the name of the text */
#define LOST_NAME_TIME_SIZE    (sizeof("20261122T100000.000Z") - 1)
#define LOST_NAME_ACCOUNT_SIZE 25 /* with the NUL */

void lost_name_set_account(const char *account, char ret[LOST_NAME_ACCOUNT_SIZE]);
/* 0 or the buffer's error. A time that cannot be formatted appends nothing. */
int lost_name_append_time(struct buffer *name, struct timespec time);
/* Appends the tail of an entity; with table NULL that of the account. 0 or the buffer's error; a
 * key that is not CESU-8 is left out. */
int lost_name_append_entity(struct buffer *tail, const char *account, struct address address);
int lost_name_append_scratch(struct buffer *tail, const char *account, struct address directory,
                             struct bytes name);
/* Is it the name of a text of the account, and not of a reason? */
bool lost_name_is_text(struct bytes name, const char *account);

#endif
