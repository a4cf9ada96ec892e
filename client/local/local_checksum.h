/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_CHECKSUM_H
#define CLIENT_LOCAL_LOCAL_CHECKSUM_H
/* The checksum that each row of an account's file carries: CRC-32 over its other columns, each in a
 * form from which it could be read back: an integer as 8 bytes, the lowest first; a text or blob as
 * its size, an integer, and its bytes; NULL as nothing. It finds damage, not forgery. Pure. */
#include "client/base/bytes.h"

#include <sqlite3.h>

int64_t local_checksum_entity(int64_t table_id, struct bytes position, int64_t timestamp,
                              struct bytes text);
int64_t local_checksum_table(int64_t id, struct bytes name);
int64_t local_checksum_account(int64_t last_timestamp);

/* Gives the connection two functions for SQL. checksum(...) is that of its arguments, which are the
 * columns in the order of the functions above. checksum_of_entity(table_id, position, timestamp,
 * text) is -1, which fits no row, if that is not an entity. A result code of SQLite. */
int local_checksum_register(sqlite3 *database);

#endif
