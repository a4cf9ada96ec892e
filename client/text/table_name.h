/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_TABLE_NAME_H
#define CLIENT_TEXT_TABLE_NAME_H
/* The rules of table names. A name that fits one of them needs no escapes in a file name or in a
 * line of text, and has less than TABLE_NAME_SIZE bytes. Pure. */
#include "client/base/bytes.h"

#define TABLE_NAME_SIZE 64 /* with a NUL */

/* The service's rule for the tables of users: a letter, then 2 to 62 letters and digits (ASCII). */
bool table_name_is_legal(struct bytes name);
/* Legal, but `tables`, which the service refuses in any case of its letters. */
bool table_name_is_reserved(struct bytes name);
/* Legal, or a table of the service's own metrics, such as $MetricsHourPrimaryTransactionsTable,
 * which the service answers but does not list. */
bool table_name_is_readable(struct bytes name);
/* What a list of tables may show although the rule forbids it, because a service has it all the
 * same: readable, or 1 to 63 letters and digits. */
bool table_name_is_shown(struct bytes name);

#endif
