/* SPDX-License-Identifier: MIT */
#include "client/local/local_connection.h"
#include "client/local/local_checksum.h"
#include "client/local/local_failure.h"
#include "client/local/local_file.h"

#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)

/* of a text; the canonical text of an entity of 1 MiB can be longer than that */
#define VALUE_MAX_BYTES (8 << 20)
#define POLL_MAX_MS     10

/* SQLite's instructions for one statement; ours have a few hundred at most */
#define STATEMENT_MAX_STEPS 10000

#define WAL_KEPT_BYTES 67108864 /* it is truncated to this if readers have let it grow larger */

struct local_connection {
    sqlite3 *database;
    const struct clock *clock;
    struct call *call; /* local_connection_serve; may be NULL */
    bool is_as_is;     /* nothing is changed */
    bool has_checksums;
    sqlite3_stmt *statements[LOCAL_STATEMENTS];
};

#define WHERE_IN_RANGE " WHERE table_id = ?1 AND position >= ?2 AND position < ?3 ORDER BY position"
#define WHERE_ONE      " WHERE table_id = ?1 AND position = ?2"

static const struct {
    const char *text;
    const char *unchecked; /* for format 1; NULL: the statement is not used there */
} statement_texts[LOCAL_STATEMENTS] = {
    [LOCAL_READ_ROWS] = {"SELECT position, timestamp, checksum, text FROM entities" WHERE_IN_RANGE,
                         "SELECT position, timestamp, 0, text FROM entities" WHERE_IN_RANGE},
    [LOCAL_READ_ROW] = {"SELECT position, timestamp, checksum, text FROM entities" WHERE_ONE,
                        "SELECT position, timestamp, 0, text FROM entities" WHERE_ONE},
    [LOCAL_READ_VERSIONS] = {.text = ("SELECT position, timestamp, checksum FROM entities"
                                      " INDEXED BY versions" WHERE_IN_RANGE)},
    [LOCAL_READ_VERSION] = {.text = ("SELECT position, timestamp, checksum FROM entities"
                                     " INDEXED BY versions" WHERE_ONE)},
    [LOCAL_LIST_TABLES] =
        {"SELECT id, name, checksum FROM tables WHERE name > ?1 ORDER BY name LIMIT ?2",
         "SELECT id, name, 0 FROM tables WHERE name > ?1 ORDER BY name LIMIT ?2"},
    [LOCAL_FIND_TABLE] = {"SELECT id, name, checksum FROM tables WHERE name = ?1",
                          "SELECT id, name, 0 FROM tables WHERE name = ?1"},
    [LOCAL_FIND_LOST_TABLE] = {.text = "SELECT 1 FROM tables NOT INDEXED WHERE name = ?1"},
    [LOCAL_SCAN_TABLES] = {"SELECT id, name, checksum FROM tables NOT INDEXED"
                           " WHERE id > ?1 AND name IS NOT NULL ORDER BY id LIMIT 1",
                           "SELECT id, name, 0 FROM tables NOT INDEXED"
                           " WHERE id > ?1 AND name IS NOT NULL ORDER BY id LIMIT 1"},
    [LOCAL_COMPARE_TABLES] = {.text = ("SELECT (SELECT count(name) FROM tables NOT INDEXED)"
                                       " = (SELECT count(name) FROM tables"
                                       " INDEXED BY sqlite_autoindex_tables_1)")},
    /* an id that no row has, not even one of a lost table */
    [LOCAL_CREATE_TABLE] =
        {.text = ("INSERT INTO tables SELECT next, ?1, checksum(next, ?1) FROM (SELECT 1 + max("
                  "coalesce((SELECT max(id) FROM tables), 0),"
                  "coalesce((SELECT max(table_id) FROM entities"
                  " INDEXED BY sqlite_autoindex_entities_1), 0),"
                  "coalesce((SELECT max(table_id) FROM entities"
                  " INDEXED BY versions), 0)) AS next)")},
    [LOCAL_DROP_TABLE] = {.text = ("UPDATE tables SET name = NULL, checksum = checksum(id, NULL)"
                                   " WHERE id = ?1")},
    [LOCAL_INSERT_ENTITY] =
        {.text = "INSERT INTO entities VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3, ?4), ?4)"},
    [LOCAL_PUT_ENTITY] =
        {.text =
             "INSERT OR REPLACE INTO entities VALUES (?1, ?2, ?3, checksum(?1, ?2, ?3, ?4), ?4)"},
    [LOCAL_DELETE_ENTITY] = {.text = "DELETE FROM entities" WHERE_ONE},
    [LOCAL_READ_LAST_TIMESTAMP] = {.text = "SELECT last_timestamp, checksum FROM account"},
    [LOCAL_WRITE_LAST_TIMESTAMP] =
        {.text = "UPDATE account SET last_timestamp = ?1, checksum = checksum(?1)"},
    /* the index of names may be wrong: the row itself must say that it was dropped */
    [LOCAL_FIND_DROPPED] = {.text = ("SELECT id FROM tables WHERE name IS NULL"
                                     " AND checksum = checksum(id, NULL) LIMIT 1")},
    [LOCAL_SWEEP] = {.text = ("DELETE FROM entities WHERE table_id = ?1 AND position IN"
                              " (SELECT position FROM entities WHERE table_id = ?1 LIMIT ?2)")},
    /* its id is given to another table, which must not get rows that the index lacks */
    [LOCAL_FORGET] = {.text = ("DELETE FROM tables WHERE id = ?1 AND NOT EXISTS"
                               " (SELECT 1 FROM entities INDEXED BY sqlite_autoindex_entities_1"
                               " WHERE table_id = ?1) AND NOT EXISTS"
                               " (SELECT 1 FROM entities INDEXED BY versions"
                               " WHERE table_id = ?1)")},
    [LOCAL_BEGIN_READ] = {"BEGIN", "BEGIN"},
    [LOCAL_BEGIN] = {.text = "BEGIN IMMEDIATE"},
    [LOCAL_COMMIT] = {"COMMIT", "COMMIT"},
    [LOCAL_ROLLBACK] = {.text = "ROLLBACK"},
    [LOCAL_BEGIN_PART] = {.text = "SAVEPOINT part"},
    [LOCAL_KEEP_PART] = {.text = "RELEASE part"},
    [LOCAL_UNDO_PART] = {.text = "ROLLBACK TO part"},
};

/* SQLite's busy handler: another process has a lock. */
static int wait_for_lock(void *context, int count)
{
    struct local_connection *connection = context;
    struct call *call = connection->call;
    if (!call || call_is_cancelled(call) || call_remaining_ms(call, connection->clock) == 0)
        return 0;
    connection->clock->sleep_ms(connection->clock->context, MIN(count + 1, POLL_MAX_MS));
    return 1;
}

/* Call it right after the failed call, before which errno was set to 0: SQLite does not keep
 * errno for every kind of error. */
static int note_failure(struct local_connection *connection)
{
    int last_error = errno;
    sqlite3 *database = connection->database;
    struct call none = {0}, *call = connection->call ? connection->call : &none;
    int code = sqlite3_extended_errcode(database);
    if ((code & 0xFF) == SQLITE_BUSY && connection->call) {
        int r = local_check_call(call, connection->clock);
        if (r < 0)
            return r;
    }
    int system_error = sqlite3_system_errno(database);
    return local_fail(call, code, system_error != 0 ? system_error : last_error,
                      sqlite3_errmsg(database));
}

void local_connection_serve(struct local_connection *connection, struct call *call)
{
    connection->call = call;
}

struct call *local_connection_call(const struct local_connection *connection)
{
    return connection->call;
}

sqlite3_stmt *local_connection_statement(struct local_connection *connection,
                                         enum local_statement which)
{
    return connection->statements[which];
}

void local_bind_bytes(sqlite3_stmt *statement, int index, struct bytes bytes)
{
    /* nothing is copied, so this needs no memory that could be missing */
    (void)sqlite3_bind_blob64(statement, index, bytes.data ? bytes.data : "", bytes.size,
                              SQLITE_STATIC);
}

struct bytes local_column_bytes(sqlite3_stmt *statement, int index)
{
    /* before sqlite3_column_bytes: it may convert the value */
    const char *data = sqlite3_column_blob(statement, index);
    return (struct bytes){data, (size_t)sqlite3_column_bytes(statement, index)};
}

void local_statement_finish(sqlite3_stmt **statement)
{
    (void)sqlite3_reset(*statement); /* returns the error of the last step again */
    (void)sqlite3_clear_bindings(*statement);
}

int local_connection_step(struct local_connection *connection, sqlite3_stmt *statement)
{
    errno = 0;
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return note_failure(connection);
    }
}

int local_connection_run(struct local_connection *connection, enum local_statement which)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement = connection->statements[which];
    return local_connection_step(connection, statement);
}

size_t local_connection_changes(const struct local_connection *connection)
{
    return (size_t)sqlite3_changes(connection->database);
}

bool local_connection_is_in_transaction(const struct local_connection *connection)
{
    return sqlite3_get_autocommit(connection->database) == 0;
}

bool local_connection_is_read_only(const struct local_connection *connection)
{
    return sqlite3_db_readonly(connection->database, "main") != 0;
}

bool local_connection_has_checksums(const struct local_connection *connection)
{
    return connection->has_checksums;
}

bool local_connection_could_not_write(const struct local_connection *connection)
{
    int code = sqlite3_extended_errcode(connection->database);
    return code == SQLITE_FULL || code == SQLITE_IOERR_WRITE;
}

bool local_connection_broke_constraint(const struct local_connection *connection)
{
    return (sqlite3_extended_errcode(connection->database) & 0xFF) == SQLITE_CONSTRAINT;
}

void local_connection_fold(struct local_connection *connection)
{
    (void)sqlite3_wal_checkpoint_v2(connection->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                    NULL);
}

bool local_connection_fold_in_place(struct local_connection *connection)
{
    return sqlite3_wal_checkpoint_v2(connection->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                     NULL) == SQLITE_OK;
}

int local_connection_fail_damaged(struct local_connection *connection, const char *table,
                                  struct bytes position, const char *what)
{
    struct call none = {0}, *call = connection->call ? connection->call : &none;
    return local_fail_damaged(call, table, position, what);
}

/* The rest of this file opens a connection. */

/* Some statements return SQLITE_BUSY without calling the busy handler. */
int local_connection_execute(struct local_connection *connection, const char *sql)
{
    int code, count = 0;
    errno = 0;
    do
        code = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    while ((code & 0xFF) == SQLITE_BUSY && wait_for_lock(connection, count++));
    return code == SQLITE_OK ? 0 : note_failure(connection);
}

int local_connection_query(struct local_connection *connection, const char *sql, sqlite3_stmt **ret)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int code, count = 0;
    errno = 0;
    do {
        code = sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        if (code != SQLITE_ROW)
            (void)sqlite3_finalize(TAKE_PTR(statement));
    } while ((code & 0xFF) == SQLITE_BUSY && wait_for_lock(connection, count++));
    if (code != SQLITE_ROW)
        return note_failure(connection);
    *ret = TAKE_PTR(statement);
    return 0;
}

/* SQLite reads the schema, and the statistics that ANALYZE left, with a statement of its own before
 * local_schema.c can see them. If that is made to grow, the limit ends it as if memory had. */
static int explain_no_memory(struct local_connection *connection, int r)
{
    return r == -ENOMEM && sqlite3_errcode(connection->database) == SQLITE_NOMEM
               ? call_fail(connection->call, r, "out of memory, or not an account of tablefuse")
               : r;
}

/* The content of the file is untrusted: its triggers, views and functions do not run, statements
 * have a limit, and cells are checked before use. Without mmap a truncated file is an error, not a
 * SIGBUS. */
static int configure(struct local_connection *connection)
{
    sqlite3 *database = connection->database;
    (void)sqlite3_limit(database, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
    (void)sqlite3_limit(database, SQLITE_LIMIT_VDBE_OP, STATEMENT_MAX_STEPS);
    (void)sqlite3_busy_handler(database, wait_for_lock, connection);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    if (local_checksum_register(database) != SQLITE_OK)
        return call_fail(connection->call, -ENOMEM, "out of memory");
    int r =
        local_connection_execute(connection, "PRAGMA cell_size_check = ON;"
                                             "PRAGMA mmap_size = 0;"
                                             "PRAGMA synchronous = FULL;"
                                             "PRAGMA journal_size_limit = " NUMBER(WAL_KEPT_BYTES));
    return explain_no_memory(connection, r);
}

int local_connection_prepare(struct local_connection *connection, bool has_checksums)
{
    connection->has_checksums = has_checksums;
    for (size_t i = 0; i < LOCAL_STATEMENTS; i++) {
        const char *text = has_checksums ? statement_texts[i].text : statement_texts[i].unchecked;
        if (text && sqlite3_prepare_v3(connection->database, text, -1, SQLITE_PREPARE_PERSISTENT,
                                       &connection->statements[i], NULL) != SQLITE_OK)
            return note_failure(connection);
    }
    return 0;
}

static int open_database(struct local_connection *connection, const char *path)
{
    _cleanup_(freep) char *uri = local_file_uri(path);
    if (!uri)
        return call_fail(connection->call, -ENOMEM, "out of memory");
    errno = 0;
    int code = sqlite3_open_v2(uri, &connection->database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_EXRESCODE,
                               NULL);
    if (code == SQLITE_OK)
        return 0;
    return connection->database ? note_failure(connection)
                                : call_fail(connection->call, -ENOMEM, "out of memory");
}

/* What is no SQLite database may be an account whose beginning was lost: it begins with zeros, or
 * has a WAL. Reads through SQLite, because closing another descriptor would release its locks. */
static int refuse_database(const struct local_connection *connection, const char *path,
                           struct call *call)
{
    static const char zeros[16];
    char begin[sizeof(zeros)];
    sqlite3_file *file = NULL;
    bool is_read = sqlite3_file_control(connection->database, "main", SQLITE_FCNTL_FILE_POINTER,
                                        &file) == SQLITE_OK &&
                   file && file->pMethods &&
                   file->pMethods->xRead(file, begin, sizeof(begin), 0) == SQLITE_OK;
    if ((is_read && memcmp(begin, zeros, sizeof(zeros)) == 0) || local_file_has_wal(path))
        return local_fail_damaged(call, NULL, (struct bytes){0}, "the file's beginning is lost");
    return call_fail_with(call, -EINVAL,
                          "name another FILE; mount -o create makes one that is missing",
                          "not a SQLite database");
}

int local_connection_explain(const struct local_connection *connection, const char *path,
                             struct call *call, int r)
{
    bool is_none = sqlite3_errcode(connection->database) == SQLITE_NOTADB;
    return is_none ? refuse_database(connection, path, call) : r;
}

int local_connection_create(const char *path, bool is_as_is, const struct clock *clock,
                            struct call *call, struct local_connection **ret)
{
    _cleanup_(local_connection_closep) struct local_connection *connection =
        calloc(1, sizeof(*connection));
    if (!connection)
        return call_fail(call, -ENOMEM, "out of memory");
    connection->clock = clock;
    connection->call = call;
    connection->is_as_is = is_as_is;
    int r = open_database(connection, path);
    if (r == 0)
        r = configure(connection);
    if (r < 0)
        return local_connection_explain(connection, path, call, r);
    *ret = TAKE_PTR(connection);
    return 0;
}

static bool has_wal(sqlite3 *database)
{
    const char *path = sqlite3_db_filename(database, "main");
    return path && local_file_has_wal(path);
}

void local_connection_close(struct local_connection *connection)
{
    if (!connection)
        return;
    for (size_t i = 0; i < LOCAL_STATEMENTS; i++)
        (void)sqlite3_finalize(connection->statements[i]);
    /* Closing the last connection copies the WAL into the file and deletes it. If the file must
     * stay as it is, a WAL stays, too; an empty one is one that this connection has made. */
    if (connection->database && connection->is_as_is && has_wal(connection->database))
        (void)sqlite3_db_config(connection->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    (void)sqlite3_close(connection->database);
    free(connection);
}
