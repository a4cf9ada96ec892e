/* SPDX-License-Identifier: MIT */
#include "client/local/local_schema.h"
#include "client/local/local_failure.h"

#define TEXT_OF(x) #x
#define NUMBER(x)  TEXT_OF(x)

#define TABLES_1                                                                                   \
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE) STRICT"
#define ENTITIES_1                                                                                 \
    "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"          \
    " text BLOB NOT NULL, PRIMARY KEY (table_id, position)) STRICT, WITHOUT ROWID"
#define ACCOUNT_1 "CREATE TABLE account (last_timestamp INTEGER NOT NULL) STRICT"

#define TABLES                                                                                     \
    "CREATE TABLE tables (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE,"                \
    " checksum INTEGER NOT NULL) STRICT"
#define ENTITIES                                                                                   \
    "CREATE TABLE entities (table_id INTEGER, position BLOB, timestamp INTEGER NOT NULL,"          \
    " checksum INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (table_id, position))"            \
    " STRICT, WITHOUT ROWID"
#define VERSIONS "CREATE INDEX versions ON entities (table_id, position, timestamp, checksum)"
#define ACCOUNT                                                                                    \
    "CREATE TABLE account (last_timestamp INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT"

static const char schema[] = TABLES ";" ENTITIES ";" VERSIONS ";" ACCOUNT ";";

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

enum { IN_FORMAT_1 = 1, IN_FORMAT_2 = 2, IS_OPTIONAL = 4 };

struct object { /* a row of SQLite's own table of all tables and indexes */
    unsigned flags;
    const char *name, *sql;
};

static const struct object objects[] = {
    {IN_FORMAT_1, "tables", TABLES_1},
    {IN_FORMAT_1, "entities", ENTITIES_1},
    {IN_FORMAT_1, "account", ACCOUNT_1},
    {IN_FORMAT_2, "tables", TABLES},
    {IN_FORMAT_2, "entities", ENTITIES},
    {IN_FORMAT_2, "versions", VERSIONS},
    {IN_FORMAT_2, "account", ACCOUNT},
    /* SQLite makes it for UNIQUE, and stores no text */
    {IN_FORMAT_1 | IN_FORMAT_2, "sqlite_autoindex_tables_1", ""},
    /* ANALYZE makes them */
    {IN_FORMAT_1 | IN_FORMAT_2 | IS_OPTIONAL, "sqlite_stat1",
     "CREATE TABLE sqlite_stat1(tbl,idx,stat)"},
    {IN_FORMAT_1 | IN_FORMAT_2 | IS_OPTIONAL, "sqlite_stat4",
     "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"},
};

#define SHOWN_BYTES 64 /* of a foreign name */

static int refuse_object(struct local_connection *connection, struct bytes name, const char *what)
{
    struct call *call = local_connection_call(connection);
    (void)call_fail(call, -EIO, "not an account of tablefuse: \"%.*s\" %s",
                    (int)MIN(name.size, SHOWN_BYTES), name.size > 0 ? name.data : "", what);
    call->failure.advice =
        "if it was an account, it is damaged, or another program has changed it: "
        "restore a backup";
    return -EIO;
}

/* Which object of this format has this name and text; ARRAY_SIZE(objects): none. */
static size_t find_object(unsigned format_flag, struct bytes name, struct bytes sql)
{
    size_t i = 0;
    while (i < ARRAY_SIZE(objects) &&
           !((objects[i].flags & format_flag) && bytes_equal(name, bytes_of(objects[i].name)) &&
             bytes_equal(sql, bytes_of(objects[i].sql))))
        i++;
    return i;
}

/* A view, a trigger or a computed column can make a statement that names it grow without limit as
 * soon as it is prepared. So nothing of the file is named before all definitions were compared with
 * the known ones. No object of the file can take the name sqlite_master. */
static int check_objects(struct local_connection *connection, unsigned format_flag)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    bool is_there[ARRAY_SIZE(objects)] = {0};
    int r = local_connection_query(connection, "SELECT name, sql FROM main.sqlite_master", &row);
    for (r = r == 0 ? 1 : r; r == 1; r = local_connection_step(connection, row)) {
        struct bytes name = local_column_bytes(row, 0);
        size_t i = find_object(format_flag, name, local_column_bytes(row, 1));
        if (i == ARRAY_SIZE(objects) || is_there[i])
            return refuse_object(connection, name, "in its schema is not as tablefuse makes it");
        is_there[i] = true;
    }
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(objects); i++) {
        if (!is_there[i] && (objects[i].flags & (format_flag | IS_OPTIONAL)) == format_flag)
            return refuse_object(connection, bytes_of(objects[i].name), "is not in its schema");
    }
    return r;
}

static int query_number(struct local_connection *connection, const char *sql, int64_t *ret)
{
    _cleanup_(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int r = local_connection_query(connection, sql, &statement);
    if (r == 0)
        *ret = sqlite3_column_int64(statement, 0);
    return r;
}

static int find_format(struct local_connection *connection)
{
    struct call *call = local_connection_call(connection);
    int64_t application = 0, format = 0, count = 0;
    int r = query_number(connection, "SELECT count(*) FROM main.sqlite_master", &count);
    if (r == 0)
        r = query_number(connection, "PRAGMA application_id", &application);
    if (r == 0)
        r = query_number(connection, "PRAGMA user_version", &format);
    if (r < 0 || (application == 0 && format == 0 && count == 0))
        return r;
    if (application != LOCAL_SCHEMA_APPLICATION_ID)
        return call_fail(call, -EINVAL, "a SQLite database of another program");
    if (format < 1 || format > LOCAL_SCHEMA_FORMAT)
        return refuse_format(call, (int)format);
    if (count == 0)
        return local_fail_damaged(call, NULL, (struct bytes){0}, "its tables are lost");
    r = check_objects(connection, format == 1 ? IN_FORMAT_1 : IN_FORMAT_2);
    return r < 0 ? r : (int)format;
}

/* The format of an account; 0: an empty file. All is read from one version of the file: another
 * process may be creating the schema. */
static int read_format(struct local_connection *connection)
{
    int r = local_connection_execute(connection, "SAVEPOINT reading");
    if (r < 0)
        return r;
    int format = find_format(connection);
    if (format >= 0)
        r = local_connection_execute(connection, "RELEASE reading");
    return r < 0 ? r : format;
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
        r = local_connection_query(connection, "PRAGMA journal_mode = WAL", &statement);
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
    return call_fail_with(call, -EINVAL, "mount -o create and import --create make it an account",
                          "an empty file, not an account");
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
