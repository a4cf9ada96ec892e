/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_TABLE_NAME_H
#define CLIENT_TEXT_TABLE_NAME_H
/* The rules of table names. A name for which one of these functions is true needs no escapes in a
 * file name or a line of text, and has less than TABLE_NAME_SIZE bytes. Pure. */
#include "client/base/bytes.h"

#define TABLE_NAME_SIZE 64 /* with a NUL */

/* The service's rule for users' tables: a letter, then 2 to 62 letters and digits (ASCII). */
bool table_name_is_legal(struct bytes name);
/* Is it `tables`, in any case? This name is legal, but the service refuses it. */
bool table_name_is_reserved(struct bytes name);
/* Legal, or a table of the service's own metrics, such as $MetricsHourPrimaryTransactionsTable,
 * which can be read but is not in the list of tables. */
bool table_name_is_readable(struct bytes name);
/* May the mount show it? Readable, or 1 to 63 letters and digits: services list some such names
 * although the rule forbids them. */
bool table_name_is_shown(struct bytes name);

#endif
