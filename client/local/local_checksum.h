/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_CHECKSUM_H
#define CLIENT_LOCAL_LOCAL_CHECKSUM_H
/* The checksum in each row of an account's file: CRC-32 over its other columns. An integer is 8
 * bytes, little-endian; a text or blob is its size, as an integer, and its bytes; NULL is nothing.
 * It detects damage, not forgery. Pure. */
#include "client/base/bytes.h"

#include <sqlite3.h>

int64_t local_checksum_entity(int64_t table_id, struct bytes position, int64_t timestamp,
                              struct bytes text);
int64_t local_checksum_table(int64_t id, struct bytes name);
int64_t local_checksum_account(int64_t last_timestamp);

/* Adds two SQL functions to the connection. checksum(...): the checksum of its arguments, which are
 * the columns in the order of the functions above. checksum_of_entity(table_id, position,
 * timestamp, text): likewise, but -1, which no row has, if they are not an entity. Returns a result
 * code of SQLite. */
int local_checksum_register(sqlite3 *database);

#endif
