#include "client/local/local_schema.h"
#include "client/local/local_failure.h"

#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)

static const char schema[] =
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE,"
    " checksum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"
    " checksum INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (table_id, position))"
    " STRICT, WITHOUT ROWID;"
    "CREATE INDEX versions ON entities (table_id, position, timestamp, checksum);"
    "CREATE TABLE account (last_timestamp INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;";

static const char first_rows[] = "INSERT INTO account VALUES (0, checksum(0));";

static const char move_from_format_1[] =
    "INSERT INTO tables SELECT id, name, checksum(id, name) FROM tables_1;"
    "INSERT INTO entities SELECT table_id, position, timestamp,"
    " checksum_of_entity(table_id, position, timestamp, text), text"
    " FROM entities_1 ORDER BY table_id, position;"
    "INSERT INTO account SELECT last_timestamp, checksum(last_timestamp) FROM account_1;"
    "DROP TABLE entities_1; DROP TABLE tables_1; DROP TABLE account_1;";

static const char put_aside[] = "ALTER TABLE entities RENAME TO entities_1;"
                                "ALTER TABLE tables RENAME TO tables_1;"
                                "ALTER TABLE account RENAME TO account_1;";

static const char mark[] = "PRAGMA application_id = " NUMBER(
    LOCAL_SCHEMA_APPLICATION_ID) ";"
                                 "PRAGMA user_version = " NUMBER(LOCAL_SCHEMA_FORMAT);

static int refuse_format(struct call *call, int format)
{
    if (format < 1)
        return local_fail_damaged(call, NULL, (struct bytes){0},
                                  "the number of its format is lost");
    (void)call_fail(call, -EPROTONOSUPPORT,
                    "an account in format %d, made by a newer tablefuse; this one knows format %d",
                    format, LOCAL_SCHEMA_FORMAT);
    call->failure.advice = "update tablefuse, or use another file";
    return -EPROTONOSUPPORT;
}

/* The format of an account; 0: an empty file. */
static int read_format(struct local_connection *connection)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    struct call *call = local_connection_call(connection);
    int r = local_connection_ask(
        connection, /* in one statement: another process may be creating the schema */
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version",
        &statement);
    if (r < 0)
        return r;
    int64_t application = sqlite3_column_int64(statement, 0);
    int format = sqlite3_column_int(statement, 1);
    if (application == 0 && format == 0 && sqlite3_column_int(statement, 2) == 0)
        return 0;
    if (application != LOCAL_SCHEMA_APPLICATION_ID)
        return call_fail(call, -EINVAL, "a SQLite database of another program");
    return format >= 1 && format <= LOCAL_SCHEMA_FORMAT ? format : refuse_format(call, format);
}

static const char set_page_size[] = "PRAGMA page_size = " NUMBER(LOCAL_SCHEMA_PAGE_BYTES);

/* Both are stored in the file: the size in an empty one alone, and before the mode. Setting them
 * again costs nothing. */
static int set_size_and_wal(struct local_connection *connection)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    struct call *call = local_connection_call(connection);
    int r = local_connection_execute(connection, set_page_size);
    if (r == 0)
        r = local_connection_ask(connection, "PRAGMA journal_mode = WAL", &statement);
    if (r < 0)
        return r;
    const char *mode = (const char *)sqlite3_column_text(statement, 0);
    if (!mode)
        return call_fail(call, -ENOMEM, "out of memory");
    if (strcmp(mode, "wal") == 0)
        return 0;
    return call_fail(call, -EOPNOTSUPP,
                     "its file system cannot share memory, which SQLite needs here");
}

/* Runs the texts one after the other, up to a NULL. */
static int execute_all(struct local_connection *connection, const char *const *texts)
{
    int r = 0;
    for (; *texts && r == 0; texts++)
        r = local_connection_execute(connection, *texts);
    return r;
}

/* From this format to the current one, in one transaction. */
static int change_format(struct local_connection *connection, int format)
{
    static const char *const create[] = {schema, first_rows, mark, NULL};
    static const char *const upgrade[] = {put_aside, schema, move_from_format_1, mark, NULL};
    int r = local_connection_execute(connection, "BEGIN IMMEDIATE");
    if (r < 0)
        return r;
    r = read_format(connection); /* another process may have changed it meanwhile */
    if (r == format) {
        r = execute_all(connection, format == 0 ? create : upgrade);
        if (r < 0 && local_connection_broke_constraint(connection))
            r = local_connection_fail_damaged(connection, NULL, (struct bytes){0},
                                              "a table or an entity is there twice");
    }
    if (r >= 0)
        r = local_connection_execute(connection, "COMMIT");
    if (r < 0 && local_connection_is_in_transaction(connection))
        (void)local_connection_execute(connection, "ROLLBACK");
    return r;
}

static int refuse_empty(struct call *call)
{
    (void)call_fail(call, -EINVAL, "an empty file, not an account");
    call->failure.advice = "to make it an empty account, mount with -o create";
    return -EINVAL;
}

int local_schema_prepare(struct local_connection *connection, enum local_access access,
                         bool *ret_has_checksums)
{
    struct call *call = local_connection_call(connection);
    bool is_read_only = local_connection_is_read_only(connection);
    int format = read_format(connection);
    if (format == 0 && access != LOCAL_ACCESS_CREATE)
        return refuse_empty(call);
    if (format == 0 && is_read_only)
        return call_fail(call, -EROFS, "empty, and cannot be written to");
    int r = MIN(format, 0);
    if (r == 0 && !is_read_only && access != LOCAL_ACCESS_AS_IS) {
        r = set_size_and_wal(connection);
        if (r == 0 && format != LOCAL_SCHEMA_FORMAT) {
            r = change_format(connection, format);
            format = LOCAL_SCHEMA_FORMAT;
        }
    }
    if (r == 0)
        *ret_has_checksums = format == LOCAL_SCHEMA_FORMAT;
    return r;
}
