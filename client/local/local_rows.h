/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_ROWS_H
#define CLIENT_LOCAL_LOCAL_ROWS_H
/* Reads tables and entities from an account's file, and answers only what it has checked. Each row
 * must fit its checksum. Of each entity, the index `versions` has the position, Timestamp and
 * checksum once more, on other pages of the file. Both are read side by side and must agree. So a
 * row that is lost, outdated, or there twice is noticed by every query whose range it lies in, and
 * by no other.
 *
 * Damage is -EIO; the reason names the table and, where it is known, the entity. A file of format 1
 * that cannot be written to has no checksums: there only the form of rows is checked.
 *
 * One thread, within one transaction of the connection, whose call has the reasons. */
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
/* 0, or the service's refusal if there is none. */
int local_rows_require_table(struct local_connection *connection, const char *name,
                             struct local_table *ret);
/* The table in the columns id, name, checksum of the statement, from the first on. 0 or -EIO. */
int local_rows_read_table(struct local_connection *connection, sqlite3_stmt *statement,
                          struct local_table *ret);
/* Does the index of names hold as many tables as the account? 0 or -EIO. */
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

/* Reads the rows of a range of a table in order, or one. The caller keeps the range. There may be
 * one struct local_rows for a range and one for a row at a time. */
void local_rows_begin(struct local_connection *connection, const struct local_table *table,
                      struct range range, struct local_rows *ret);
void local_rows_begin_one(struct local_connection *connection, const struct local_table *table,
                          struct bytes position, struct local_rows *ret);
void local_rows_finish(struct local_rows *rows);

/* 1: the next row, without its text; 0: there is none, for sure. */
int local_rows_next(struct local_rows *rows, struct local_row *ret);
/* Adds the text of the last row, after it has computed its checksum. 0 or -EIO. */
int local_rows_read_text(struct local_rows *rows, struct local_row *row);

#endif
