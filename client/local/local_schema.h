/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_SCHEMA_H
#define CLIENT_LOCAL_LOCAL_SCHEMA_H
/* The SQL tables in an account's file, in format 2:
 *
 *     tables    id, name (NULL: dropped; later changes delete its rows), checksum
 *     entities  (table_id, position), timestamp, checksum, text
 *     versions  an index of entities: table_id, position, timestamp, checksum
 *     account   last_timestamp: every later change gets a greater one; checksum
 *
 * SQLite updates the index `versions` with the rows. It is on other pages of the file than the
 * rows, so that damage to one of them is detected (local_rows.h). Format 1 had no checksums and no
 * such index. A file has exactly this schema, and what ANALYZE adds. One thread. */
#include "client/local/local_connection.h"

#define LOCAL_SCHEMA_APPLICATION_ID 0x74667573 /* "tfus", in the header of the file */
#define LOCAL_SCHEMA_FORMAT         2          /* likewise, as SQLite's user_version */
/* SQLite's page_size of a new file; files with any other page size can be used, too. With SQLite's
 * usual 4,096 bytes, 1,000 rows take a sixth longer to read. It is not larger, because even the
 * smallest change writes three pages. */
#define LOCAL_SCHEMA_PAGE_BYTES 8192

enum local_access {
    LOCAL_ACCESS_CREATE,   /* if it is missing or empty, it becomes an account */
    LOCAL_ACCESS_EXISTING, /* it must be an account */
    LOCAL_ACCESS_AS_IS,    /* likewise; no upgrade, and a WAL is not copied into the file */
};

/* Makes the file an account in this format, if `access` allows it. An empty file gets the schema. A
 * file of format 1 is upgraded in one transaction, which is not interrupted: the deadline or a
 * cancellation ends only the wait for other processes. A row that was not an entity then has a
 * checksum that does not match. If the file cannot be written to, or `access` is AS_IS, it keeps
 * format 1, and ret_has_checksums is false.
 *
 * -EIO: the schema is not an account's, or the file is too damaged for the upgrade; -ENOSPC: no
 * space for the upgrade; after these the file is unchanged. -EINVAL: another program's database, or
 * an empty file that must not become an account; -EPROTONOSUPPORT: a newer format; -EROFS: an empty
 * file that cannot be written to. */
int local_schema_prepare(struct local_connection *connection, enum local_access access,
                         bool *ret_has_checksums);

#endif
