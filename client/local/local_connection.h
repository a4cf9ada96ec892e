/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_CONNECTION_H
#define CLIENT_LOCAL_LOCAL_CONNECTION_H
/* One connection to an account's file, with its prepared statements. Used by one thread at a time;
 * must not be used across a fork. local_open.h opens one; local_schema.h has the tables of the
 * file.
 *
 * The file is a SQLite database in WAL mode, so a reader sees one version and never waits for a
 * writer. A commit is synced: it survives a kill of the process and a power cut.
 *
 * This process must not close another descriptor of the file: by POSIX's rule for fcntl, this would
 * release SQLite's locks on the file. */
#include "client/base/bytes.h"
#include "client/store/call.h"

#include <sqlite3.h>

/* Statements: arguments -> columns of a result row. */
enum local_statement {
    LOCAL_READ_ROWS,       /* table's id, lo, hi -> position, timestamp, checksum, text */
    LOCAL_READ_ROW,        /* table's id, position -> the same columns */
    LOCAL_READ_VERSIONS,   /* as LOCAL_READ_ROWS, but from the index, without text */
    LOCAL_READ_VERSION,    /* as LOCAL_READ_ROW, likewise */
    LOCAL_LIST_TABLES,     /* name after which to begin, maximum number -> as LOCAL_FIND_TABLE */
    LOCAL_FIND_TABLE,      /* name in any case -> id, name, checksum */
    LOCAL_FIND_LOST_TABLE, /* name -> a row if the table exists; reads all tables */
    LOCAL_SCAN_TABLES,     /* id -> the next greater id, name, checksum; without the index */
    LOCAL_COMPARE_TABLES,  /* -> 1 if the index of names has as many entries as there are tables */
    LOCAL_CREATE_TABLE,
    LOCAL_DROP_TABLE,          /* id */
    LOCAL_INSERT_ENTITY,       /* table's id, position, timestamp, text */
    LOCAL_PUT_ENTITY,          /* the same; replaces an existing row */
    LOCAL_DELETE_ENTITY,       /* table's id, position */
    LOCAL_READ_LAST_TIMESTAMP, /* -> last_timestamp, checksum */
    LOCAL_WRITE_LAST_TIMESTAMP,
    LOCAL_FIND_DROPPED, /* -> id of a dropped table, checked */
    LOCAL_SWEEP,        /* id, maximum number of rows to delete */
    LOCAL_FORGET,       /* id of a dropped table; does nothing while the table has rows */
    LOCAL_BEGIN_READ,   /* until LOCAL_COMMIT all statements read one version */
    LOCAL_BEGIN,        /* for a change: waits until no other process writes */
    LOCAL_COMMIT,
    LOCAL_ROLLBACK,
    LOCAL_BEGIN_PART, /* a savepoint */
    LOCAL_KEEP_PART,
    LOCAL_UNDO_PART,
    LOCAL_STATEMENTS,
};

struct local_connection;

/* Opens the file for local_open.h; `path` is absolute. No statement is prepared yet. is_as_is:
 * nothing in the file is changed, and a WAL is not copied into it. */
int local_connection_create(const char *path, bool is_as_is, const struct clock *clock,
                            struct call *call, struct local_connection **ret);
/* Prepares the statements. has_checksums false: the file is in format 1, and only statements that
 * read can be used. */
int local_connection_prepare(struct local_connection *connection, bool has_checksums);
/* After the failure r: returns r, or the reason why the file is not a database of SQLite. */
int local_connection_explain(const struct local_connection *connection, const char *path,
                             struct call *call, int r);
void local_connection_close(struct local_connection *connection); /* takes NULL */
bool local_connection_is_read_only(const struct local_connection *connection);
bool local_connection_has_checksums(const struct local_connection *connection);

/* From now on the connection records failures in this call, and waits for other processes until the
 * call's deadline or cancellation. NULL: failures are not recorded, and it does not wait. */
void local_connection_serve(struct local_connection *connection, struct call *call);
struct call *local_connection_call(const struct local_connection *connection);

/* The caller binds and steps it, then calls local_statement_finish. */
sqlite3_stmt *local_connection_statement(struct local_connection *connection,
                                         enum local_statement which);
void local_bind_bytes(sqlite3_stmt *statement, int index, struct bytes bytes); /* not copied */
struct bytes local_column_bytes(sqlite3_stmt *statement, int index); /* until the next step */
void local_statement_finish(sqlite3_stmt **statement);

/* 1: a row; 0: done; -errno, the reason in the call. */
int local_connection_step(struct local_connection *connection, sqlite3_stmt *statement);
/* Runs a statement without rows and arguments. */
int local_connection_run(struct local_connection *connection, enum local_statement which);
/* How many rows the last statement changed. */
size_t local_connection_changes(const struct local_connection *connection);
/* SQLite may roll back a transaction by itself after some errors, such as a full disk. */
bool local_connection_is_in_transaction(const struct local_connection *connection);

/* Did the last call fail because the disk is full or a write failed? */
bool local_connection_could_not_write(const struct local_connection *connection);
/* Did the last call fail because a row occurs twice, or breaks a constraint of its SQL table? */
bool local_connection_broke_constraint(const struct local_connection *connection);
/* local_fail_damaged for the connection's call. */
int local_connection_fail_damaged(struct local_connection *connection, const char *table,
                                  struct bytes position, const char *what);
/* Copies the WAL into the file as far as readers allow, so that the file alone has all data. */
void local_connection_fold(struct local_connection *connection);
/* The same without waiting for other processes; the WAL keeps its size. False: it failed. */
bool local_connection_fold_in_place(struct local_connection *connection);

/* For SQL that runs once for a file. execute: SQL without result rows. query: steps to the first
 * row; the caller finalizes *ret. Both wait while the database is busy. */
int local_connection_execute(struct local_connection *connection, const char *sql);
int local_connection_query(struct local_connection *connection, const char *sql,
                           sqlite3_stmt **ret);

DEFINE_CLEANUP(struct local_connection *, local_connection_close);
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize);

#endif
