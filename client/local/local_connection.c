#include "client/local/local_connection.h"
#include "client/local/local_failure.h"
#include "client/local/local_file.h"

#define APPLICATION_ID 0x74667573 /* "tfus" */
#define FORMAT_VERSION 1
#define TEXT_OF(x)     #x
#define NUMBER(x)      TEXT_OF(x)

/* of a text; the canonical text of an entity of 1 MiB can be longer than that */
#define VALUE_MAX_BYTES (8 << 20)
#define POLL_MAX_MS     10

#define WAL_KEPT_BYTES 67108864 /* it is truncated to this if readers have let it grow larger */

struct local_connection {
    sqlite3 *database;
    const struct clock *clock;
    struct call *call; /* local_connection_serve; may be NULL */
    sqlite3_stmt *statements[LOCAL_STATEMENTS];
};

static const char schema[] =
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) STRICT;"
    "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"
    " text BLOB NOT NULL, PRIMARY KEY (table_id, position)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE account (last_timestamp INTEGER NOT NULL) STRICT;"
    "INSERT INTO account VALUES (0);"
    "PRAGMA application_id = " NUMBER(APPLICATION_ID) ";"
                                                      "PRAGMA user_version = " NUMBER(
                                                          FORMAT_VERSION);

/* A table and its rows in one statement, so that both come from one version of the file. */
#define FROM_TABLE_AND_ROWS                                                                        \
    "SELECT e.position, e.timestamp, e.text FROM tables AS t"                                      \
    " LEFT JOIN entities AS e ON e.table_id = t.id AND "

static const char *const statement_texts[LOCAL_STATEMENTS] = {
    [LOCAL_READ_ROWS] =
        (FROM_TABLE_AND_ROWS
         "e.position >= ?2 AND e.position < ?3 WHERE t.name = ?1 ORDER BY e.position"),
    [LOCAL_READ_ROW] = (FROM_TABLE_AND_ROWS "e.position = ?2 WHERE t.name = ?1"),
    [LOCAL_LIST_TABLES] = "SELECT name FROM tables WHERE name > ?1 ORDER BY name LIMIT ?2",
    [LOCAL_FIND_TABLE] = "SELECT id, name FROM tables WHERE name = ?1",
    [LOCAL_CREATE_TABLE] = "INSERT INTO tables (name) VALUES (?1)",
    [LOCAL_DROP_TABLE] = "UPDATE tables SET name = NULL WHERE name = ?1",
    [LOCAL_FIND_ENTITY] =
        "SELECT timestamp, text FROM entities WHERE table_id = ?1 AND position = ?2",
    [LOCAL_INSERT_ENTITY] = "INSERT INTO entities VALUES (?1, ?2, ?3, ?4)",
    [LOCAL_PUT_ENTITY] = "INSERT OR REPLACE INTO entities VALUES (?1, ?2, ?3, ?4)",
    [LOCAL_DELETE_ENTITY] = "DELETE FROM entities WHERE table_id = ?1 AND position = ?2",
    [LOCAL_READ_LAST_TIMESTAMP] = "SELECT last_timestamp FROM account",
    [LOCAL_WRITE_LAST_TIMESTAMP] = "UPDATE account SET last_timestamp = ?1",
    [LOCAL_FIND_DROPPED] = "SELECT id FROM tables WHERE name IS NULL LIMIT 1",
    [LOCAL_SWEEP] = ("DELETE FROM entities WHERE table_id = ?1 AND position IN"
                     " (SELECT position FROM entities WHERE table_id = ?1 LIMIT ?2)"),
    [LOCAL_FORGET] = "DELETE FROM tables WHERE id = ?1",
    [LOCAL_BEGIN] = "BEGIN IMMEDIATE",
    [LOCAL_COMMIT] = "COMMIT",
    [LOCAL_ROLLBACK] = "ROLLBACK",
    [LOCAL_BEGIN_PART] = "SAVEPOINT part",
    [LOCAL_KEEP_PART] = "RELEASE part",
    [LOCAL_UNDO_PART] = "ROLLBACK TO part",
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

bool local_connection_could_not_write(const struct local_connection *connection)
{
    int code = sqlite3_extended_errcode(connection->database);
    return code == SQLITE_FULL || code == SQLITE_IOERR_WRITE;
}

void local_connection_fold(struct local_connection *connection)
{
    (void)sqlite3_wal_checkpoint_v2(connection->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                    NULL);
}

int local_connection_fail_damaged(struct local_connection *connection)
{
    struct call none = {0}, *call = connection->call ? connection->call : &none;
    return local_fail(call, SQLITE_CORRUPT, 0, "the file has a row that is not an entity");
}

/* The rest of this file opens a connection. */

/* Some statements return SQLITE_BUSY without calling the busy handler. */
static int execute(struct local_connection *connection, const char *sql)
{
    int code, count = 0;
    errno = 0;
    do
        code = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    while ((code & 0xFF) == SQLITE_BUSY && wait_for_lock(connection, count++));
    return code == SQLITE_OK ? 0 : note_failure(connection);
}

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize);

/* Steps a query to its first row; the caller finalizes it. */
static int ask(struct local_connection *connection, const char *sql, sqlite3_stmt **ret)
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

/* 1: an account; 0: an empty file. */
static int check_format(struct local_connection *connection)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    struct call *call = connection->call;
    int r = ask(connection, /* in one statement: another process may be creating the schema */
                "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
                " FROM pragma_application_id, pragma_user_version",
                &statement);
    if (r < 0)
        return r;
    int64_t application = sqlite3_column_int64(statement, 0);
    int version = sqlite3_column_int(statement, 1);
    if (application == 0 && version == 0 && sqlite3_column_int(statement, 2) == 0)
        return 0;
    if (application != APPLICATION_ID)
        return call_fail(call, -EINVAL, "a SQLite database of another program");
    if (version == FORMAT_VERSION)
        return 1;
    (void)call_fail(call, -EPROTONOSUPPORT,
                    "an account in format %d, made by a newer tablefuse; this one knows format %d",
                    version, FORMAT_VERSION);
    call->failure.advice = "update tablefuse, or use another file";
    return -EPROTONOSUPPORT;
}

/* The mode is stored in the file; setting it again costs nothing. */
static int set_wal(struct local_connection *connection)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int r = ask(connection, "PRAGMA journal_mode = WAL", &statement);
    if (r < 0)
        return r;
    const char *mode = (const char *)sqlite3_column_text(statement, 0);
    if (!mode)
        return call_fail(connection->call, -ENOMEM, "out of memory");
    if (strcmp(mode, "wal") == 0)
        return 0;
    return call_fail(connection->call, -EOPNOTSUPP,
                     "its file system cannot share memory, which SQLite needs here");
}

static int make_schema(struct local_connection *connection)
{
    int r = execute(connection, "BEGIN IMMEDIATE");
    if (r < 0)
        return r;
    r = check_format(connection); /* another process may have created it meanwhile */
    if (r == 0)
        r = execute(connection, schema);
    if (r >= 0)
        r = execute(connection, "COMMIT");
    if (r < 0 && local_connection_is_in_transaction(connection))
        (void)sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

static int make_account(struct local_connection *connection)
{
    int r = check_format(connection);
    if (r < 0 || (r == 1 && local_connection_is_read_only(connection)))
        return MIN(r, 0);
    if (local_connection_is_read_only(connection))
        return call_fail(connection->call, -EROFS, "empty, and cannot be written to");
    bool is_empty = r == 0;
    r = set_wal(connection);
    return r == 0 && is_empty ? make_schema(connection) : r;
}

/* The content of the file is untrusted: its triggers, views and functions do not run, and cells
 * are checked before use. Without mmap a truncated file is an error, not a SIGBUS. */
static int configure(struct local_connection *connection)
{
    sqlite3 *database = connection->database;
    (void)sqlite3_limit(database, SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
    (void)sqlite3_busy_handler(database, wait_for_lock, connection);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return execute(connection, "PRAGMA cell_size_check = ON;"
                               "PRAGMA mmap_size = 0;"
                               "PRAGMA synchronous = FULL;"
                               "PRAGMA journal_size_limit = " NUMBER(WAL_KEPT_BYTES));
}

static int prepare_statements(struct local_connection *connection)
{
    for (size_t i = 0; i < LOCAL_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(connection->database, statement_texts[i], -1,
                               SQLITE_PREPARE_PERSISTENT, &connection->statements[i],
                               NULL) != SQLITE_OK)
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

int local_connection_open(const char *path, const struct clock *clock, struct call *call,
                          struct local_connection **ret)
{
    _cleanup_(local_connection_closep) struct local_connection *connection =
        calloc(1, sizeof(*connection));
    if (!connection)
        return call_fail(call, -ENOMEM, "out of memory");
    connection->clock = clock;
    connection->call = call;
    int r = open_database(connection, path);
    if (r == 0)
        r = configure(connection);
    if (r == 0)
        r = make_account(connection);
    if (r == 0)
        r = prepare_statements(connection);
    if (r < 0 && sqlite3_errcode(connection->database) == SQLITE_NOTADB)
        return call_fail(call, -EINVAL, "not a SQLite database");
    if (r < 0)
        return r;
    connection->call = NULL;
    *ret = TAKE_PTR(connection);
    return 0;
}

void local_connection_close(struct local_connection *connection)
{
    if (!connection)
        return;
    for (size_t i = 0; i < LOCAL_STATEMENTS; i++)
        (void)sqlite3_finalize(connection->statements[i]);
    /* closing the last connection copies the WAL into the file */
    (void)sqlite3_close(connection->database);
    free(connection);
}
