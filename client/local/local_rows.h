/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_ROWS_H
#define CLIENT_LOCAL_LOCAL_ROWS_H
/* Reads tables and entities from an account's file, and returns only what it has checked. The
 * checksum of each row must match. For each entity, the index `versions` has a second copy of the
 * position, Timestamp and checksum, on other pages of the file. Both are read together and must be
 * equal. So a lost, outdated or doubled row is detected by each query whose range holds it, and
 * by no other query.
 *
 * Damage is -EIO; the reason names the table and, if it is known, the entity. A file of format 1
 * that cannot be written to has no checksums: then only the form of rows is checked.
 *
 * One thread, within one transaction of the connection; reasons are put into its call. */
#include "client/base/position.h"
#include "client/local/local_connection.h"
#include "client/text/table_name.h"

struct local_table {
    int64_t id;
    char name[TABLE_NAME_SIZE]; /* as it is spelled in the account */
};

/* 1: the table of this name, in any case; 0: there is none. */
int local_rows_find_table(struct local_connection *connection, const char *name,
                          struct local_table *ret);
/* The same, but if there is no such table, the service's refusal; else 0. */
int local_rows_require_table(struct local_connection *connection, const char *name,
                             struct local_table *ret);
/* Reads a table from the first columns of the statement: id, name, checksum. 0 or -EIO. */
int local_rows_read_table(struct local_connection *connection, sqlite3_stmt *statement,
                          struct local_table *ret);
/* 0: the index of names has as many entries as there are tables. Else -EIO. */
int local_rows_count_tables(struct local_connection *connection);

struct local_row { /* views until the next row is read */
    struct bytes position, text;
    int64_t timestamp, checksum;
};

struct local_rows { /* private to local_rows.c; empty when zeroed */
    struct local_connection *connection;
    struct local_table table;
    sqlite3_stmt *rows, *versions;
};

/* Begins to read the rows of a range in key order, or one row. The range's memory is the caller's.
 * A connection can have one struct local_rows for a range and one for a row at a time. */
void local_rows_begin(struct local_connection *connection, const struct local_table *table,
                      struct range range, struct local_rows *ret);
void local_rows_begin_one(struct local_connection *connection, const struct local_table *table,
                          struct bytes position, struct local_rows *ret);
void local_rows_finish(struct local_rows *rows);

/* 1: the next row, without its text; 0: no more rows, and none is lost. */
int local_rows_next(struct local_rows *rows, struct local_row *ret);
/* Verifies the checksum of the last row, and sets its text. 0 or -EIO. */
int local_rows_read_text(struct local_rows *rows, struct local_row *row);

#endif
