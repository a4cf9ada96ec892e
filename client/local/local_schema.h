/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_SCHEMA_H
#define CLIENT_LOCAL_LOCAL_SCHEMA_H
/* The tables of SQLite that are in an account's file, in format 2:
 *
 *     tables    id, name (NULL: dropped; later changes delete its rows), checksum
 *     entities  (table_id, position), timestamp, checksum, text
 *     versions  an index of entities: table_id, position, timestamp, checksum
 *     account   last_timestamp: every later change gets a greater one; checksum
 *
 * SQLite keeps the index with the rows. It has of each row what tells versions apart, on other
 * pages of the file, so that damage to either shows (local_rows.h). Format 1 had no checksums and
 * no index. A file has exactly this schema, and what ANALYZE adds. One thread. */
#include "client/local/local_connection.h"

#define LOCAL_SCHEMA_APPLICATION_ID 0x74667573 /* "tfus", in the header of the file */
#define LOCAL_SCHEMA_FORMAT         2          /* likewise, as SQLite's user_version */
/* SQLite's page_size of a new file. Files of any page size are served; with SQLite's usual 4,096
 * bytes 1,000 rows take a sixth longer to read. It is not larger, because the smallest change
 * writes three pages. */
#define LOCAL_SCHEMA_PAGE_BYTES 8192

enum local_access {
    LOCAL_ACCESS_CREATE,   /* if it is missing or empty, it becomes an account */
    LOCAL_ACCESS_EXISTING, /* it must be an account */
    LOCAL_ACCESS_AS_IS,    /* likewise; nothing is changed: not upgraded, and a WAL stays a WAL */
};

/* Makes the file an account in this format, if `access` allows. An empty file gets the schema. A
 * file of format 1 is upgraded in one transaction, which takes as long as it must: deadline and
 * cancel end only the wait for other processes. Afterwards a row that was no entity fits no
 * checksum. If the file cannot be written to, or is opened as it is, it stays in format 1, and
 * ret_has_checksums is false.
 *
 * -EIO: the schema is not an account's, or the file is damaged, so that it cannot be upgraded;
 * -ENOSPC: there is no room for that. The file is as it was. -EINVAL: another program's database,
 * or an empty file that must not become an account; -EPROTONOSUPPORT: a newer format; -EROFS: an
 * empty file that cannot be written to. */
int local_schema_prepare(struct local_connection *connection, enum local_access access,
                         bool *ret_has_checksums);

#endif
