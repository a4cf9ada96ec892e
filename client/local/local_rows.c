/* SPDX-License-Identifier: MIT */
#include "client/local/local_rows.h"
#include "client/local/local_checksum.h"
#include "client/local/local_failure.h"
#include "client/text/timestamp_etag.h"

enum column { /* of LOCAL_READ_ROWS and LOCAL_READ_ROW; LOCAL_READ_VERSIONS has no text */
              POSITION,
              TIMESTAMP,
              CHECKSUM,
              TEXT,
};

static int fail(const struct local_rows *rows, struct bytes position, const char *what)
{
    return local_connection_fail_damaged(rows->connection, rows->table.name, position, what);
}

int local_rows_read_table(struct local_connection *connection, sqlite3_stmt *statement,
                          struct local_table *ret)
{
    struct local_table table = {.id = sqlite3_column_int64(statement, 0)};
    struct bytes name = local_column_bytes(statement, 1);
    bool is_checked = local_connection_has_checksums(connection);
    if (!table_name_is_legal(name) ||
        (is_checked && sqlite3_column_int64(statement, 2) != local_checksum_table(table.id, name)))
        return local_connection_fail_damaged(connection, NULL, (struct bytes){0},
                                             "the name of a table does not fit its checksum");
    memcpy(table.name, name.data, name.size);
    *ret = table;
    return 0;
}

/* The index of names does not have it: does the account have it nevertheless? */
static int check_no_table(struct local_connection *connection, const char *table)
{
    if (!local_connection_has_checksums(connection))
        return 0;
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_FIND_LOST_TABLE);
    (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    int r = local_connection_step(connection, statement);
    return r == 1 ? local_connection_fail_damaged(connection, table, (struct bytes){0},
                                                  "the index of names lacks it")
                  : r;
}

int local_rows_find_table(struct local_connection *connection, const char *name,
                          struct local_table *ret)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_FIND_TABLE);
    (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    int r = local_connection_step(connection, statement);
    if (r == 0)
        return check_no_table(connection, name);
    if (r < 0)
        return r;
    r = local_rows_read_table(connection, statement, ret);
    return r < 0 ? r : 1;
}

int local_rows_require_table(struct local_connection *connection, const char *name,
                             struct local_table *ret)
{
    int r = local_rows_find_table(connection, name, ret);
    return r == 0 ? local_refuse(local_connection_call(connection), REFUSED_TABLE_NOT_FOUND)
                  : MIN(r, 0);
}

int local_rows_count_tables(struct local_connection *connection)
{
    if (!local_connection_has_checksums(connection))
        return 0;
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_COMPARE_TABLES);
    int r = local_connection_step(connection, statement);
    if (r < 0 || (r == 1 && sqlite3_column_int(statement, 0) == 1))
        return MIN(r, 0);
    return local_connection_fail_damaged(connection, NULL, (struct bytes){0},
                                         "the index of names lacks tables, or has too many");
}

static sqlite3_stmt *bind(struct local_connection *connection, enum local_statement which,
                          int64_t table_id, struct bytes lo, struct bytes hi)
{
    sqlite3_stmt *statement = local_connection_statement(connection, which);
    (void)sqlite3_bind_int64(statement, 1, table_id);
    local_bind_bytes(statement, 2, lo);
    if (hi.data)
        local_bind_bytes(statement, 3, hi);
    return statement;
}

void local_rows_begin(struct local_connection *connection, const struct local_table *table,
                      struct range range, struct local_rows *ret)
{
    *ret = (struct local_rows){.connection = connection, .table = *table};
    ret->rows = bind(connection, LOCAL_READ_ROWS, table->id, range.lo, range.hi);
    if (local_connection_has_checksums(connection))
        ret->versions = bind(connection, LOCAL_READ_VERSIONS, table->id, range.lo, range.hi);
}

void local_rows_begin_one(struct local_connection *connection, const struct local_table *table,
                          struct bytes position, struct local_rows *ret)
{
    static const struct bytes none = {0};
    *ret = (struct local_rows){.connection = connection, .table = *table};
    ret->rows = bind(connection, LOCAL_READ_ROW, table->id, position, none);
    if (local_connection_has_checksums(connection))
        ret->versions = bind(connection, LOCAL_READ_VERSION, table->id, position, none);
}

void local_rows_finish(struct local_rows *rows)
{
    if (rows->rows)
        local_statement_finish(&rows->rows);
    if (rows->versions)
        local_statement_finish(&rows->versions);
    *rows = (struct local_rows){0};
}

static int step(struct local_rows *rows, sqlite3_stmt *statement)
{
    int r = local_connection_step(rows->connection, statement);
    if (r < 0 && local_connection_call(rows->connection))
        local_failure_name_table(local_connection_call(rows->connection), rows->table.name);
    return r;
}

static struct local_row read_version(sqlite3_stmt *statement)
{
    return (struct local_row){.position = local_column_bytes(statement, POSITION),
                              .timestamp = sqlite3_column_int64(statement, TIMESTAMP),
                              .checksum = sqlite3_column_int64(statement, CHECKSUM)};
}

/* Steps the index, which must then be at the row: `has_row` says whether there was one. */
static int compare_version(struct local_rows *rows, bool has_row, const struct local_row *row)
{
    int r = step(rows, rows->versions);
    if (r < 0 || (r == 0 && !has_row))
        return r;
    struct local_row version = {0};
    if (r == 1)
        version = read_version(rows->versions);
    int order = r == 0 ? 1 : !has_row ? -1 : bytes_compare(version.position, row->position);
    if (order < 0)
        return fail(rows, version.position, "the entity is lost");
    if (order > 0)
        return fail(rows, row->position, "the index of versions lacks it");
    return version.timestamp == row->timestamp && version.checksum == row->checksum
               ? 0
               : fail(rows, row->position, "it is not the version that was written last");
}

int local_rows_next(struct local_rows *rows, struct local_row *ret)
{
    struct local_row row = {0};
    int r = step(rows, rows->rows);
    if (r < 0)
        return r;
    bool has_row = r == 1;
    if (has_row)
        row = read_version(rows->rows);
    r = rows->versions ? compare_version(rows, has_row, &row) : 0;
    if (r < 0 || !has_row)
        return r;
    if (!position_has_row(row.position) || row.position.size > POSITION_ROW_MAX_BYTES ||
        !timestamp_is_valid(row.timestamp))
        return fail(rows, row.position, "not an entity");
    *ret = row;
    return 1;
}

/* In a truncated file lost pages read as zeros, so the end of the text shows whether it is
 * complete, where there is no checksum. */
int local_rows_read_text(struct local_rows *rows, struct local_row *row)
{
    row->text = local_column_bytes(rows->rows, TEXT);
    if (!bytes_end_with(row->text, BYTES_LITERAL("}\n")))
        return fail(rows, row->position, "its text is cut or overwritten");
    if (rows->versions && row->checksum != local_checksum_entity(rows->table.id, row->position,
                                                                 row->timestamp, row->text))
        return fail(rows, row->position, "it does not fit its checksum");
    return 0;
}
