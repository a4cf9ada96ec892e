/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_TABLES_H
#define CLIENT_LOCAL_LOCAL_TABLES_H
/* Lists, creates and deletes the tables of an account. A name has 3 to 63 letters and digits,
 * begins with a letter, and is not `tables`. Names are case-insensitive, but keep their case.
 * https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model
 * One thread. local_tables_list: in a transaction; the call is that of local_connection_serve. */
#include "client/local/local_writer.h"
#include "client/store/table_store.h"

/* As the operations of table_store_ops. */
int local_tables_list(struct local_connection *connection, const char *only,
                      const struct continuation *after, struct table_names *ret,
                      struct continuation **ret_next);
int local_tables_create(struct local_writer *writer, const char *table, struct call *call);
int local_tables_delete(struct local_writer *writer, const char *table, struct call *call);

#endif
