#ifndef CLIENT_LOCAL_LOCAL_CONNECTION_H
#define CLIENT_LOCAL_LOCAL_CONNECTION_H
/* One connection to an account's file, opened and checked, with its prepared statements. Used by
 * one thread at a time; must not be used across a fork.
 *
 * The file is a SQLite database in WAL mode, so a reader sees one version and never waits for a
 * writer. A commit is synced: it survives a kill of the process and a power cut.
 *
 *     tables    id, name (NULL: dropped; later changes delete its rows)
 *     entities  (table_id, position), timestamp, text
 *     account   last_timestamp: every later change gets a greater one
 *
 * This process must not close another descriptor of the file: by POSIX's rule for fcntl that would
 * release the locks that SQLite holds on it. */
#include "client/bytes.h"
#include "client/call.h"

#include <sqlite3.h>

enum local_statement {
    LOCAL_READ_ROWS,   /* table, lo, hi: position (NULL: no row), timestamp, text */
    LOCAL_READ_ROW,    /* table, position: the same columns */
    LOCAL_LIST_TABLES, /* name after which to begin, how many: name */
    LOCAL_FIND_TABLE,  /* name: id, name as it is spelled */
    LOCAL_CREATE_TABLE,
    LOCAL_DROP_TABLE,
    LOCAL_FIND_ENTITY,   /* table's id, position: timestamp, text */
    LOCAL_INSERT_ENTITY, /* table's id, position, timestamp, text */
    LOCAL_PUT_ENTITY,    /* the same; replaces a row that exists */
    LOCAL_DELETE_ENTITY, /* table's id, position */
    LOCAL_READ_LAST_TIMESTAMP,
    LOCAL_WRITE_LAST_TIMESTAMP,
    LOCAL_FIND_DROPPED, /* id of a dropped table */
    LOCAL_SWEEP,        /* id, how many rows at most */
    LOCAL_FORGET,       /* id of a dropped table without rows */
    LOCAL_BEGIN,        /* for a change: waits until no other process writes */
    LOCAL_COMMIT,
    LOCAL_ROLLBACK,
    LOCAL_BEGIN_PART, /* a savepoint */
    LOCAL_KEEP_PART,
    LOCAL_UNDO_PART,
    LOCAL_STATEMENTS,
};

struct local_connection;

/* `path` is absolute and names a regular file; an empty file becomes an account. -EINVAL: another
 * program's database; -EPROTONOSUPPORT: made by a newer version. */
int local_connection_open(const char *path, const struct clock *clock, struct call *call,
                          struct local_connection **ret);
void local_connection_close(struct local_connection *connection); /* takes NULL */
bool local_connection_is_read_only(const struct local_connection *connection);

/* From now on the connection records failures in this call, and waits for other processes until its
 * deadline or cancel. NULL: no call; failures are not recorded, and it does not wait. */
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
/* Notes in the call that the file holds a row which this program has not written: -EIO. */
int local_connection_fail_damaged(struct local_connection *connection);
/* Copies the WAL into the file as far as readers allow, so that the file alone has the account. */
void local_connection_fold(struct local_connection *connection);

DEFINE_CLEANUP(struct local_connection *, local_connection_close);

#endif
